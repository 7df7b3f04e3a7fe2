// Any datagram that a tool sends to the name server of an observed cell is read or ignored; what is
// read is a name and nothing else, and its answer is little longer than the question.
#include <cstdint>
#include <string>
#include <string_view>

#include "cell/observe_names.h"
#include "check.h"

using namespace sallyport;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view datagram(reinterpret_cast<const char*>(data), size);
  const auto question = parse_name_question(datagram);
  if (!question) {
    const std::string refusal = refusal_of(datagram);
    FUZZ_CHECK(refusal.empty() || refusal.size() == size);
    FUZZ_CHECK(refusal_of(refusal).empty() && !parse_name_question(refusal));
    return 0;
  }
  FUZZ_CHECK(!question->name.empty() && question->name.size() <= 253);
  FUZZ_CHECK(question->name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.") ==
             std::string::npos);
  FUZZ_CHECK(question->name.find("..") == std::string::npos);
  const std::string answer = answer_to(datagram, *question, {.address = kFirstNamedAddress});
  FUZZ_CHECK(answer.size() <= size + 16);
  FUZZ_CHECK(!parse_name_question(answer));
  return 0;
}
