#include "door/cli/top_command.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "access/act_as_owner.h"
#include "access/keys.h"
#include "access/state_directory.h"
#include "base/file.h"
#include "base/text.h"
#include "door/cli/option_table.h"
#include "door/cli/process.h"
#include "http/client.h"

namespace sallyport {
namespace {

constexpr Duration kShortest = std::chrono::milliseconds{100};
constexpr std::chrono::hours kKeyLife{12};
constexpr std::string_view kUnix = "unix:";

template <std::string TopRequest::* Field>
Result<void> set(TopRequest& request, std::string_view value) {
  request.*Field = value;
  return {};
}

template <bool TopRequest::* Field>
Result<void> turn_on(TopRequest& request, std::string_view) {
  request.*Field = true;
  return {};
}

Result<void> set_url(TopRequest& request, std::string_view value) {
  request.url = value;
  if (auto target = parse_top_url(request.url); !target) return std::unexpected(target.error());
  return {};
}

Result<void> set_interval(TopRequest& request, std::string_view value) {
  auto parsed = parse_duration(value);
  if (!parsed) return std::unexpected(parsed.error());
  if (*parsed < kShortest) return fail(Reason::argument, "it is too short", "100ms is the least");
  request.interval = *parsed;
  return {};
}

constexpr Option<TopRequest> kTopOptions[] = {
    {"url", "URL", "Which service",
     "http://ADDRESS:PORT or unix:/PATH. Without it, http://127.0.0.1:8640.", set_url},
    {"key-file", "FILE", "Which service",
     "A file with the key of a caller that has the permission read:metrics. Without it, the "
     "variable SALLYPORT_KEY. Never an argument: those can be seen by everybody on the machine.",
     set<&TopRequest::key_file>},
    {"state", "DIR", "Which service",
     "For who can write the service's state directory: makes a key for the caller of --as that is "
     "good for read:metrics only, and revokes it at the end.",
     set<&TopRequest::state>},
    {"as", "CALLER", "Which service", "The caller whose key that is.", set<&TopRequest::caller>},
    {"interval", "TIME", "How", "Between two looks. [2s]", set_interval},
    {"once", "", "How", "Print one frame, about the time since the service started, and end.",
     turn_on<&TopRequest::once>},
    {"json", "", "How", "Print each frame as a line of JSON.", turn_on<&TopRequest::json>},
    {"help", "", "How", "Print this text.", turn_on<&TopRequest::help>},
};

std::string help_text() {
  return R"(Usage: sallyport top [--url URL] [--key-file FILE] [--once] [--json]
       sallyport top --state DIR --as CALLER

Shows what a service does: calls per second, by tool; how long they take, by tool and by stage;
what is refused, and why; what is running (of the key's caller, or for admin of the tenant). Ends
with q or ^C. To anything but a terminal it prints one frame.

)" + options_help<TopRequest>(kTopOptions, TopRequest{}) +
         R"(
Exit codes
  0     Done.
  2     The request was wrong.
  125   The service does not answer, or refuses to.
)";
}

Moment wall_clock() {
  return std::chrono::duration_cast<Moment>(std::chrono::system_clock::now().time_since_epoch());
}

// A key that is good for looking, for as long as this lives.
class OwnKey {
 public:
  static Result<OwnKey> make(const std::string& state, const std::string& caller) {
    auto directory = open_state_as_owner(state);
    if (!directory) return std::unexpected(directory.error());
    Key key{.id = {},
            .caller = caller,
            .created = wall_clock(),
            .expires = wall_clock() + kKeyLife,
            .scopes = std::vector<std::string>{"read:metrics"},
            .hash = {}};
    auto text = add_key(directory->get(), std::move(key));
    if (!text) return std::unexpected(text.error());
    return OwnKey(std::move(*directory), std::move(*text));
  }
  OwnKey(OwnKey&&) = default;
  OwnKey& operator=(OwnKey&&) = delete;
  ~OwnKey() {
    if (!directory_) return;
    // "sp_ID_SECRET". Should it stay, it ends by itself.
    const std::string id = text_.substr(3, text_.find('_', 3) - 3);
    [[maybe_unused]] const auto revoked = revoke_key(directory_.get(), id);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  OwnKey(Fd directory, std::string text)
      : directory_(std::move(directory)), text_(std::move(text)) {}
  Fd directory_;
  std::string text_;
};

Result<std::string> given_key(const TopRequest& request) {
  if (request.key_file.empty()) {
    const char* value = std::getenv("SALLYPORT_KEY");
    return std::string(value != nullptr ? value : "");
  }
  auto text = read_file(request.key_file.c_str());
  if (!text)
    return fail(Reason::argument, "the file " + quoted(request.key_file) + " cannot be read");
  return text->substr(0, text->find_first_of("\r\n"));
}

// What a service says about a request that it refuses.
Error refusal_of(const HttpReply& reply) {
  Error error{Reason::unavailable, "the service answers " + std::to_string(reply.status), {}};
  const auto body = parse_json(reply.body);
  if (!body || !body->is_object()) return error;
  const auto text = [&](const char* key) {
    const json::value* value = body->get_object().if_contains(key);
    return value != nullptr && value->is_string() ? std::string(value->get_string())
                                                  : std::string();
  };
  if (const std::string message = text("message"); !message.empty())
    error.message += ": " + message;
  error.hint = text("hint");
  if (reply.status == 401) error.hint = "set SALLYPORT_KEY, or give --key-file FILE";
  if (reply.status == 403) error.hint = "the key's caller needs a role with read:metrics";
  return error;
}

std::vector<RunningCall> running_calls(const HttpReply& reply) {
  std::vector<RunningCall> calls;
  const auto body = parse_json(reply.body);
  const json::object* object = body ? body->if_object() : nullptr;
  const json::value* list = object != nullptr ? object->if_contains("calls") : nullptr;
  if (list == nullptr || !list->is_array()) return calls;
  for (const json::value& entry : list->get_array()) {
    const auto text = [&](const char* key) {
      const json::value* value = entry.is_object() ? entry.get_object().if_contains(key) : nullptr;
      return value != nullptr && value->is_string() ? std::string(value->get_string())
                                                    : std::string();
    };
    calls.push_back({text("call_id"), text("tool"), text("caller")});
  }
  return calls;
}

bool print_frame(const TopFigures& figures, bool as_json) {
  const std::string text =
      as_json ? json::serialize(top_json(figures)) + "\n" : top_text(figures, 1000, 1000);
  return write_all(STDOUT_FILENO, text);
}

// The terminal while the view has it: no echo, keys at once, the other screen.
class Terminal {
 public:
  Terminal() {
    if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
      termios quiet = before_;
      quiet.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      changed_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &quiet) == 0;
    }
    (void)write_all(STDOUT_FILENO, "\x1b[?1049h\x1b[?25l");
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    (void)write_all(STDOUT_FILENO, "\x1b[?25h\x1b[?1049l");
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

  // False: nobody can see it any more.
  bool show(const TopFigures& figures, const std::string& trouble) const {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
      size = {.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    const std::size_t lines = size.ws_row > 2 ? size.ws_row - 2U : 1U;
    std::string frame = "\x1b[H";
    for (const char c : top_text(figures, size.ws_col, lines)) {
      if (c == '\n') frame += "\x1b[K";
      frame.append(1, c);
    }
    if (!trouble.empty())
      frame.append("\x1b[K").append(escape_for_terminal(trouble).substr(0, size.ws_col));
    return write_all(STDOUT_FILENO, frame + "\x1b[J");
  }

 private:
  termios before_{};
  bool changed_ = false;
};

// Waits for the next look; false: it is to end.
bool wait_for_next(int signals, Duration interval, bool keys) {
  pollfd waiting[] = {{signals, POLLIN, 0}, {keys ? STDIN_FILENO : -1, POLLIN, 0}};
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(interval).count();
  if (::poll(waiting, 2, static_cast<int>(std::min<std::int64_t>(ms, 1 << 30))) < 0)
    return errno == EINTR;
  if (waiting[0].revents != 0) return false;
  if (waiting[1].revents == 0) return true;
  char key = 'q';
  return ::read(STDIN_FILENO, &key, 1) == 1 && key != 'q' && key != 'Q';
}

int watch(const TopTarget& target, const TopRequest& request, TopSample before) {
  const Fd signals = catch_signals();
  std::optional<Terminal> terminal;
  if (!request.json) terminal.emplace();
  TopFigures figures = top_figures(before, nullptr);
  std::string trouble;
  do {
    const bool shown = terminal ? terminal->show(figures, trouble)
                                : !trouble.empty() || print_frame(figures, true);
    if (!shown) return 0;
    if (!wait_for_next(signals.get(), request.interval, terminal.has_value())) return 0;
    auto now = look_at(target);
    trouble = now ? "" : now.error().message;
    if (!now) continue;
    figures = top_figures(*now, &before);
    before = std::move(*now);
  } while (true);
}

int show(const TopTarget& target, const TopRequest& request) {
  auto first = look_at(target);
  if (!first) return report(first.error());
  const bool live = !request.once && (request.json || ::isatty(STDOUT_FILENO) == 1);
  if (live) return watch(target, request, std::move(*first));
  return print_frame(top_figures(*first, nullptr), request.json) ? 0 : kCouldNotStart;
}

}  // namespace

Result<TopRequest> parse_top(std::span<const char* const> words) {
  TopRequest request;
  const auto parsed = parse_options<TopRequest>(kTopOptions, words, request);
  if (!parsed) return std::unexpected(parsed.error());
  if (request.help) return request;
  if (!parsed->rest.empty())
    return fail(Reason::argument, "top takes no word " + quoted(parsed->rest[0]),
                "`sallyport top --help` lists its options");
  if (request.state.empty() != request.caller.empty())
    return fail(Reason::argument, "--state and --as belong together",
                "write --state DIR --as CALLER");
  if (!request.state.empty() && !request.key_file.empty())
    return fail(Reason::argument, "there are two keys",
                "leave out --key-file, or --state and --as");
  return request;
}

Result<TopTarget> parse_top_url(const std::string& url) {
  if (url.starts_with(kUnix)) {
    std::string path = url.substr(kUnix.size());
    if (!path.starts_with('/'))
      return fail(Reason::argument, quoted(url) + " names no socket", "write unix:/PATH");
    return TopTarget{.url = "http://localhost", .socket = std::move(path), .key = {}};
  }
  if (auto checked = check_fetch_url(url); !checked) return std::unexpected(checked.error());
  TopTarget target{.url = url, .socket = {}, .key = {}};
  while (target.url.ends_with('/'))
    target.url.pop_back();
  return target;
}

Result<TopSample> look_at(const TopTarget& target) {
  HttpFetch request{.url = target.url + "/metrics", .socket = target.socket};
  if (!target.key.empty()) request.headers = {{"Authorization", "Bearer " + target.key}};
  auto metrics = fetch(request);
  if (!metrics) return std::unexpected(metrics.error());
  if (metrics->status != 200) return std::unexpected(refusal_of(*metrics));
  auto page = parse_metrics(metrics->body);
  if (!page) return std::unexpected(page.error());
  TopSample sample{.metrics = std::move(*page), .running = {}, .time = 0};
  sample.time =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  request.url = target.url + "/v1/calls";
  if (const auto calls = fetch(request); calls && calls->status == 200)
    sample.running = running_calls(*calls);
  return sample;
}

int top_command(std::span<const char* const> words) {
  const auto request = parse_top(words);
  if (!request) return report(request.error());
  if (request->help) {
    std::fputs(help_text().c_str(), stdout);
    return 0;
  }
  auto target = parse_top_url(request->url);
  if (!target) return report(target.error());
  if (request->state.empty()) {
    auto key = given_key(*request);
    if (!key) return report(key.error());
    target->key = std::move(*key);
    return show(*target, *request);
  }
  const auto key = OwnKey::make(request->state, request->caller);
  if (!key) return report(key.error());
  target->key = key->text();
  return show(*target, *request);
}

}  // namespace sallyport
