// DNS messages by hand, for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/parse.h"

namespace sallyport {

inline std::string dns_number(std::size_t value, int size) {
  std::string bytes;
  for (int shift = (size - 1) * 8; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<char>(value >> shift & 0xff));
  return bytes;
}

inline std::string dns_name(std::string_view text) {
  std::string wire;
  while (!text.empty()) {
    const std::string_view label = take(text, '.');
    wire += static_cast<char>(label.size());
    wire += label;
  }
  return wire + '\0';
}

// The name at `offset` of the message; that of the question is at 12.
inline std::string dns_pointer(std::size_t offset) {
  return dns_number(0xc000 | offset, 2);
}

inline constexpr std::size_t kA = 1, kCname = 5, kTxt = 16, kAaaa = 28;

// `owner` is in its wire form, so that it can be broken.
inline std::string dns_record(const std::string& owner, std::size_t type, const std::string& data,
                              std::size_t ttl = 300, std::size_t group = 1) {
  return owner + dns_number(type, 2) + dns_number(group, 2) + dns_number(ttl, 4) +
         dns_number(data.size(), 2) + data;
}

// The question of a query, with its type and class.
inline std::string dns_question(const std::string& query) {
  return query.substr(12, query.find('\0', 12) + 5 - 12);
}

struct DnsReply {
  std::size_t flags = 0x8180;
  std::vector<std::string> answers, authorities, additional;

  std::string to(const std::string& query) const {
    std::string bytes = query.substr(0, 2) + dns_number(flags, 2) + dns_number(1, 2) +
                        dns_number(answers.size(), 2) + dns_number(authorities.size(), 2) +
                        dns_number(additional.size(), 2) + dns_question(query);
    for (const auto* section : {&answers, &authorities, &additional})
      for (const std::string& record : *section)
        bytes += record;
    return bytes;
  }
};

}  // namespace sallyport
