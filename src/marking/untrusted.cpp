#include "marking/untrusted.h"

namespace sallyport {

std::string mark_untrusted(std::string_view text, std::string_view nonce) {
  std::string marked = "[UNTRUSTED_OUTPUT " + std::string(nonce) + "]\n";
  marked.append(text);
  if (!text.empty() && !text.ends_with('\n')) marked.push_back('\n');
  marked.append("[END_UNTRUSTED_OUTPUT ").append(nonce).append("]\n");
  return marked;
}

}  // namespace sallyport
