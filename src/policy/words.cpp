#include "policy/words.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostNames = 12;

}  // namespace

std::string list_names(const std::vector<std::string>& names, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0 && i + 1 == names.size())
      text.append(" ").append(last).append(" ");
    else if (i > 0)
      text.append(", ");
    text.append(names[i]);
  }
  return text;
}

std::string list_some_names(const std::vector<std::string>& names) {
  if (names.size() <= kMostNames) return list_names(names);
  std::vector<std::string> some(names.begin(), names.begin() + kMostNames - 1);
  some.push_back(std::to_string(names.size() - some.size()) + " more");
  return list_names(some);
}

std::vector<std::string> host_texts(const std::vector<HostPattern>& hosts) {
  return each_text(hosts, [](const HostPattern& host) { return host.to_text(); });
}

std::vector<std::string> host_texts(const std::vector<HostRule>& hosts) {
  return each_text(hosts, [](const HostRule& rule) {
    std::string text = rule.host.to_text();
    if (rule.scheme != "https" || rule.port != 443)
      text.append(":").append(std::to_string(rule.port));
    if (rule.scheme != "https") text.append(" by ").append(rule.scheme);
    if (!rule.address.empty()) text.append(" at ").append(rule.address);
    if (rule.internal) text.append(", also at an internal address");
    return text;
  });
}

}  // namespace sallyport
