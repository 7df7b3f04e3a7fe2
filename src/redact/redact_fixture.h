// Random texts in the formats that services document. They are made when the tests run: nothing
// that looks like a secret stands in the sources.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "redact/redact.h"
#include "redact/rule.h"

namespace sallyport {

class Formats {
 public:
  explicit Formats(unsigned seed) : random_(seed) {}

  // `text` with every {X} or {Xn} replaced by n random characters of the kind X: a letters and
  // digits, A and digits of upper case, l and digits of lower case, h hexadecimal, H of upper case,
  // d digits, b base64, w base64url, c letters of lower case, u a UUID; | is nothing, and cuts
  // words that a scanner for secrets would look for.
  std::string make(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '|') continue;
      const std::size_t close = text.find('}', i);
      if (text[i] != '{' || close == std::string_view::npos || i + 1 >= text.size() ||
          !std::string_view("aAlhHdbwcu").contains(text[i + 1])) {
        out.push_back(text[i]);
        continue;
      }
      const char kind = text[i + 1];
      const std::string count(text.substr(i + 2, close - i - 2));
      out.append(kind == 'u' ? make("{h8}-{h4}-{h4}-{h4}-{h12}")
                             : some(kind, count.empty() ? 1 : std::stoul(count)));
      i = close;
    }
    return out;
  }

  std::string some(char kind, std::size_t count) {
    constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", kDigits = "0123456789";
    constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
    std::string letters;
    switch (kind) {
      case 'a':
        letters.append(kUpper).append(kLower).append(kDigits);
        break;
      case 'A':
        letters.append(kUpper).append(kDigits);
        break;
      case 'l':
        letters.append(kLower).append(kDigits);
        break;
      case 'h':
        letters.append("abcdef").append(kDigits);
        break;
      case 'H':
        letters.append("ABCDEF").append(kDigits);
        break;
      case 'd':
        letters.append(kDigits);
        break;
      case 'b':
        letters.append(kUpper).append(kLower).append(kDigits).append("+/");
        break;
      case 'w':
        letters.append(kUpper).append(kLower).append(kDigits).append("_-");
        break;
      default:
        letters.append(kLower);
    }
    std::string out;
    for (std::size_t i = 0; i < count; ++i)
      out.push_back(letters[below(letters.size())]);
    // A long run without a digit or a letter is possible, and would make a test fail by chance.
    if (count >= 4 && letters.contains('7') && letters.contains('a')) {
      out[1] = 'a';
      out[count - 2] = '7';
    } else if (count >= 4 && letters.contains('7') && letters.contains('A')) {
      out[1] = 'A';
      out[count - 2] = '7';
    }
    // Nor does one end in a sign that could be left outside.
    if (!out.empty() && (kind == 'w' || kind == 'b')) out.back() = out.front() = '4';
    return out;
  }

  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }

 private:
  std::mt19937 random_;
};

inline std::shared_ptr<const Redactions> redactions_of(RedactionChoice choice) {
  auto made = Redactions::make(choice);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return made ? *made : nullptr;
}

inline std::shared_ptr<const Redactions> all_redactions() {
  static const auto kAll =
      redactions_of({.groups = {std::begin(kRedactionGroups), std::end(kRedactionGroups)}});
  return kAll;
}

inline std::string redacted(std::string_view text) {
  RedactionCounts counts;
  return redact_all(all_redactions(), text, counts);
}

}  // namespace sallyport
