// What a cell asks its name server, and the answer. One kind of datagram is read, strictly:
// everything in it was written by the tool.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sallyport {

struct NameQuestion {
  std::string name;  // lower case, without the last dot
  std::uint16_t type = 0;
  std::string_view text;  // the question as it was asked, a part of the datagram
};

// The one question of a standard query; nullopt for everything else. A name is made of letters,
// digits, '-' and '_'.
[[nodiscard]] std::optional<NameQuestion> parse_name_question(std::string_view datagram);

struct NameAnswer {
  std::optional<std::uint32_t> address = {};  // to a question for one; all others get none
  bool refused = false;                       // the name is not to be had here
};

// The answer to a datagram that parse_name_question took.
[[nodiscard]] std::string answer_to(std::string_view datagram, const NameQuestion& question,
                                    const NameAnswer& found);

// To one that it did not take, the same with its refusal, so that nobody waits for an answer; empty
// when it is not even a question.
[[nodiscard]] std::string refusal_of(std::string_view datagram);

}  // namespace sallyport
