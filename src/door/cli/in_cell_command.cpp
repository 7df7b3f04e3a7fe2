#include "door/cli/in_cell_command.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>

#include "base/text.h"
#include "cell/spec.h"
#include "fetch/work.h"
#include "postgres/work.h"
#include "sql/work.h"
#include "tool/file_work.h"

namespace sallyport {
namespace {

std::string read_input() {
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t size = ::read(STDIN_FILENO, buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(size));
  }
}

// The model reads these lines as they are.
int refuse(const Error& error) {
  std::fprintf(stderr, "%s\n", escape_for_terminal(error.message).c_str());
  if (!error.hint.empty())
    std::fprintf(stderr, "hint: %s\n", escape_for_terminal(error.hint).c_str());
  return 1;
}

int answer(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return written && std::fflush(stdout) == 0 ? 0 : 1;
}

int answer(const Result<json::object>& result) {
  if (!result) return refuse(result.error());
  return answer(canonical_json(*result));
}

int fetch_in_cell() {
  const auto order = parse_fetch_order(read_input());
  if (!order) return refuse(order.error());
  std::signal(SIGPIPE, SIG_IGN);  // a server that hangs up is an error, not our end
  const auto text = do_fetch_work(*order);
  return text ? answer(*text) : refuse(text.error());
}

}  // namespace

int in_cell_command(std::span<const char* const> words) {
  if (words.size() == 1 && std::string_view(words[0]) == "sql") {
    const auto order = parse_sql_order(read_input());
    if (!order) return refuse(order.error());
    std::signal(SIGPIPE, SIG_IGN);  // a server that hangs up is an error, not our end
    return answer(order->server ? do_postgres_work(*order, Fd(kConnection)) : do_sql_work(*order));
  }
  if (words.size() == 1 && std::string_view(words[0]) == "fetch") return fetch_in_cell();
  const auto action = words.size() == 1 ? file_action(words[0]) : std::nullopt;
  if (!action)
    return refuse({Reason::argument,
                   "in-cell takes one of: read, write, edit, list, search, sql, fetch",
                   "it is what the built-in tools run; call them with `sallyport call`"});
  // Past the limit of a file's size, write() is to say so.
  std::signal(SIGXFSZ, SIG_IGN);
  auto order = parse_file_order(read_input());
  if (!order) return refuse(order.error());
  return answer(do_file_work(*action, *order));
}

}  // namespace sallyport
