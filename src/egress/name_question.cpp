#include "egress/name_question.h"

namespace sallyport {
namespace {

constexpr std::size_t kHeader = 12, kLongestDatagram = 512, kLongestLabel = 63, kLongestName = 253;
constexpr std::uint16_t kTypeA = 1, kClassInternet = 1, kRefused = 5;

std::uint16_t number_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[at]) << 8 |
                                    static_cast<unsigned char>(bytes[at + 1]));
}

void append_number(std::string& bytes, std::uint32_t value, int size) {
  for (int shift = (size - 1) * 8; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<char>(value >> shift & 0xff));
}

std::optional<char> name_character(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_') return c;
  return std::nullopt;
}

}  // namespace

std::optional<NameQuestion> parse_name_question(std::string_view datagram) {
  if (datagram.size() < kHeader || datagram.size() > kLongestDatagram) return std::nullopt;
  // A query (QR 0), of the standard kind (OPCODE 0), not cut off (TC 0); one question, nothing
  // else but at most one additional record (EDNS).
  constexpr std::uint16_t kMustBeZero = 0xfa00;
  if ((number_at(datagram, 2) & kMustBeZero) != 0 || number_at(datagram, 4) != 1 ||
      number_at(datagram, 6) != 0 || number_at(datagram, 8) != 0 || number_at(datagram, 10) > 1)
    return std::nullopt;

  NameQuestion question;
  std::size_t at = kHeader;
  for (;;) {
    if (at >= datagram.size()) return std::nullopt;
    const auto length = static_cast<unsigned char>(datagram[at++]);
    if (length == 0) break;
    // Longer ones are pointers, which a question has no use for.
    if (length > kLongestLabel || at + length > datagram.size()) return std::nullopt;
    if (!question.name.empty()) question.name.push_back('.');
    for (const char c : datagram.substr(at, length)) {
      const auto character = name_character(c);
      if (!character) return std::nullopt;
      question.name.push_back(*character);
    }
    at += length;
    if (question.name.size() > kLongestName) return std::nullopt;
  }
  if (question.name.empty() || at + 4 > datagram.size()) return std::nullopt;
  question.type = number_at(datagram, at);
  if (number_at(datagram, at + 2) != kClassInternet) return std::nullopt;
  at += 4;
  if (number_at(datagram, 10) == 0 && at != datagram.size()) return std::nullopt;
  question.text = datagram.substr(kHeader, at - kHeader);
  return question;
}

std::string answer_to(std::string_view datagram, const NameQuestion& question,
                      const NameAnswer& found) {
  const bool has_address = found.address && question.type == kTypeA;
  std::string answer(datagram.substr(0, 2));
  // An answer, recursion available; whether it was desired is repeated.
  append_number(answer,
                0x8080U | (number_at(datagram, 2) & 0x0100U) | (found.refused ? kRefused : 0U), 2);
  append_number(answer, 1, 2);
  append_number(answer, has_address ? 1 : 0, 2);
  append_number(answer, 0, 4);
  answer.append(question.text);
  if (!has_address) return answer;
  append_number(answer, 0xc00c, 2);  // the name of the question
  append_number(answer, kTypeA, 2);
  append_number(answer, kClassInternet, 2);
  append_number(answer, 60, 4);
  append_number(answer, 4, 2);
  append_number(answer, *found.address, 4);
  return answer;
}

std::string refusal_of(std::string_view datagram) {
  constexpr std::uint16_t kIsAnswer = 0x8000, kCode = 0x000f;
  if (datagram.size() < kHeader || datagram.size() > kLongestDatagram) return {};
  const std::uint16_t flags = number_at(datagram, 2);
  if ((flags & kIsAnswer) != 0) return {};
  std::string answer(datagram.substr(0, 2));
  append_number(answer, kIsAnswer | (flags & ~kCode & 0xffffU) | kRefused, 2);
  return answer.append(datagram.substr(4));
}

}  // namespace sallyport
