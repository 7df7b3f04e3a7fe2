#include "base/call_id.h"

#include <sys/random.h>

#include <cstdlib>

namespace sallyport {

std::string make_call_id() {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) std::abort();
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id;
  for (unsigned char byte : bytes)
    id.append({kDigits[byte >> 4], kDigits[byte & 15]});
  return id;
}

}  // namespace sallyport
