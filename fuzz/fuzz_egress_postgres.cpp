// Whatever a client or a server says first is read in one way, however it was split on its way, and
// what is passed on is read back as the same.
#include <cstdint>
#include <string>
#include <string_view>

#include "check.h"
#include "egress/postgres_message.h"

using namespace sallyport;

namespace {

void check_start(std::string_view bytes) {
  using Kind = PgStart::Kind;
  const PgStart start = read_pg_start(bytes);
  FUZZ_CHECK((start.kind == Kind::refused) == !start.fault.empty());
  FUZZ_CHECK((start.kind == Kind::cancel) == (start.cancel_key.size() == 8));
  FUZZ_CHECK(start.size <= kLongestPgStart);
  // Not waited for longer than it can be.
  FUZZ_CHECK(start.kind != Kind::incomplete || bytes.size() < kLongestPgStart);
  if (start.kind == Kind::incomplete || start.kind == Kind::refused) {
    FUZZ_CHECK(start.size == 0 && start.parameters.empty());
    return;
  }
  FUZZ_CHECK(start.size <= bytes.size());
  // What follows changes nothing, and what is missing is missed.
  const PgStart alone = read_pg_start(bytes.substr(0, start.size));
  FUZZ_CHECK(alone.kind == start.kind && alone.parameters == start.parameters);
  FUZZ_CHECK(read_pg_start(bytes.substr(0, start.size - 1)).kind == Kind::incomplete);
  if (start.kind == Kind::start)
    FUZZ_CHECK(pg_start(start.parameters) == bytes.substr(0, start.size));
  if (start.kind == Kind::cancel)
    FUZZ_CHECK(pg_cancel_request(start.cancel_key) == bytes.substr(0, start.size));
}

void check_message(std::string_view bytes) {
  constexpr std::size_t kMost = 1000;
  const PgMessage message = read_pg_message(bytes, kMost);
  if (message.state != PgMessage::State::complete) {
    FUZZ_CHECK(message.size == 0 && message.body.empty());
    FUZZ_CHECK(message.state == PgMessage::State::refused || bytes.size() < kMost + 5);
    return;
  }
  FUZZ_CHECK(message.body.size() <= kMost);
  FUZZ_CHECK(pg_message(message.kind, message.body) == bytes.substr(0, message.size));
  FUZZ_CHECK(pg_error_state(message.body).size() == 5);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_start(bytes);
  check_message(bytes);
  // Any text is one message.
  const std::string error = pg_error("28P01", bytes.substr(0, 500), bytes.substr(size / 2));
  FUZZ_CHECK(read_pg_message(error, error.size()).size == error.size());
  return 0;
}
