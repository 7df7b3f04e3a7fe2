// Whatever a client says first is read in one way, however it was split on its way: a name that is
// one and nothing else, or a sentence why there is none.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "check.h"
#include "egress/tls_hello.h"

using namespace sallyport;
using State = TlsHelloParser::State;

namespace {

void check_equal(const TlsHelloParser& a, State state_a, const TlsHelloParser& b, State state_b) {
  FUZZ_CHECK(state_a == state_b && a.fault() == b.fault());
  FUZZ_CHECK(a.protocols() == b.protocols());
  if (state_a == State::complete) FUZZ_CHECK(a.name() == b.name());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  TlsHelloParser whole;
  const State state = whole.parse(bytes);
  FUZZ_CHECK((state == State::refused) == !whole.fault().empty());
  FUZZ_CHECK(state == State::complete || whole.protocols().empty());
  FUZZ_CHECK(state != State::incomplete || bytes.size() < TlsHelloParser::kMostBytes);
  if (state == State::complete) {
    const std::string& name = whole.name().to_text();
    FUZZ_CHECK(!name.empty() && name.size() <= 253 && !name.ends_with('.'));
    FUZZ_CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") ==
               std::string::npos);
    FUZZ_CHECK(whole.protocols().size() <= TlsHelloParser::kMostProtocols);
  }

  // In steps as long as the first byte says, until it is decided.
  const std::size_t step = data[0] + std::size_t{1};
  TlsHelloParser pieces;
  State last = State::incomplete;
  for (std::size_t length = 0; length < bytes.size() && last == State::incomplete;) {
    length = std::min(length + step, bytes.size());
    last = pieces.parse(bytes.substr(0, length));
  }
  check_equal(whole, state, pieces, last);
  // Decided is decided.
  FUZZ_CHECK(pieces.parse(bytes) == last);
  check_equal(whole, state, pieces, last);
  return 0;
}
