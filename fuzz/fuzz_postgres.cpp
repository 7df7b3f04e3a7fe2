// Any text as a query for PostgreSQL: the screen ends, and lets no table through that it was not
// told of, nor anything that is no query. And any bytes as a server that answers: the client ends.
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "check.h"
#include "postgres/connection.h"
#include "postgres/query_screen.h"

using namespace sallyport;

static void answer_with(std::string_view bytes) {
  int ends[2];
  FUZZ_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const Fd server(ends[1]);
  FUZZ_CHECK(::send(server.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
             static_cast<ssize_t>(bytes.size()));
  FUZZ_CHECK(::shutdown(server.get(), SHUT_WR) == 0);
  auto connection =
      PgConnection::open(Fd(ends[0]), {.user = "r", .database = "d", .password = "p"});
  if (!connection) {
    FUZZ_CHECK(!connection.error().message.empty());
    return;
  }
  const auto rows = connection->query("SELECT 1");
  if (!rows) FUZZ_CHECK(!rows.error().message.empty() || !rows.error().state.empty());
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (size > 4000) return 0;
  bool asked_for_hidden = false;
  const auto screened = screen_query(text, [&](std::string_view, std::string_view name) {
    asked_for_hidden = asked_for_hidden || name == "hidden";
    return name != "hidden";
  });
  FUZZ_CHECK(!screened || !asked_for_hidden);
  if (!screened) FUZZ_CHECK(screened.error().reason == Reason::argument);
  // As it is, and behind the words that let us in.
  answer_with(text);
  static const std::string kLetIn("R\0\0\0\x08\0\0\0\0Z\0\0\0\5I", 15);
  answer_with(kLetIn + std::string(text));
  return 0;
}
