#include "door/cli/redact_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/fd.h"
#include "base/text.h"
#include "door/cli/option_table.h"
#include "door/cli/process.h"
#include "redact/clean_text.h"
#include "redact/redact.h"
#include "redact/rule.h"

namespace sallyport {
namespace {

constexpr int kDone = 0, kFailed = 1;
constexpr std::size_t kPiece = 65'536;

template <auto Field>
Result<void> turn_on(RedactRequest& request, std::string_view) {
  request.*Field = true;
  return {};
}

Result<void> add_rules(RedactRequest& request, std::string_view value) {
  while (true) {
    const std::size_t comma = value.find(',');
    request.rules.emplace_back(value.substr(0, comma));
    if (comma == std::string_view::npos) return {};
    value.remove_prefix(comma + 1);
  }
}

Result<void> add_pattern(RedactRequest& request, std::string_view value) {
  request.patterns.emplace_back(value);
  return {};
}

constexpr Option<RedactRequest> kRedactOptions[] = {
    {"rules", "LIST", "Options",
     "Groups of rules, with commas: secrets, home_dirs, ip_addresses, temp_dirs, emails, cards. "
     "All of them if this is not given.",
     add_rules},
    {"pattern", "RE", "Options", "A regular expression (RE2) of your own, of bounded length.",
     add_pattern, nullptr, Times::many},
    {"count", "", "Options", "Print what was taken out to standard error: count and rule.",
     turn_on<&RedactRequest::count>},
    {"list", "", "Options", "Print the rules.", turn_on<&RedactRequest::list>},
    {"help", "", "Options", "Print this text.", turn_on<&RedactRequest::help>},
};

int refuse(const Error& error, int code) {
  print_error(error);
  return code;
}

int filter(int from, const RedactRequest& request, std::shared_ptr<const Redactions> redactions) {
  CleanText cleaner;
  Redactor redactor(std::move(redactions));
  const auto buffer = std::make_unique_for_overwrite<char[]>(kPiece);
  std::string clean, out;
  bool ended = false;
  while (!ended) {
    const ssize_t count = ::read(from, buffer.get(), kPiece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return refuse({Reason::argument,
                     sallyport::quoted(request.file.empty() ? "standard input" : request.file) +
                         " cannot be read",
                     "name a text file, or give the text on standard input"},
                    kFailed);
    ended = count == 0;
    clean.clear();
    out.clear();
    cleaner.feed({buffer.get(), static_cast<std::size_t>(count)}, clean);
    if (ended) cleaner.finish(clean);
    redactor.feed(clean, out);
    if (ended) redactor.finish(out);
    if (!write_all(STDOUT_FILENO, out)) return kFailed;
  }
  if (request.count) {
    for (const auto& [id, found] : redactor.counts())
      say(std::to_string(found) + " " + id);
    if (const std::uint64_t removed = cleaner.counts().total(); removed > 0)
      say(std::to_string(removed) + " control or invisible characters");
  }
  if (redactor.failed())
    return refuse({Reason::internal, "the scanner failed", "the rest of the text was withheld"},
                  kFailed);
  return kDone;
}

}  // namespace

Result<RedactRequest> parse_redact_request(std::span<const char* const> words) {
  RedactRequest request;
  auto parsed = parse_options<RedactRequest>(kRedactOptions, words, request);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  if (request.help) return request;
  if (parsed->rest.size() > 1)
    return fail(Reason::argument, sallyport::quoted(parsed->rest[1]) + " is one file too many",
                "redact takes one file, or standard input");
  if (!parsed->rest.empty() && std::string_view(parsed->rest[0]) != "-")
    request.file = parsed->rest[0];
  return request;
}

std::string redact_help_text() {
  return R"(Usage: sallyport redact [--rules LIST] [--pattern RE]... [--count] [FILE]

Copies text from FILE or standard input to standard output, without secrets, home directories,
addresses, temporary directories, e-mail addresses and card numbers: each is replaced by a marker
such as [REDACTED_SECRET:github-token] or [HOME_DIR]. Escapes of terminals and invisible characters
are removed first. The text streams; some kilobytes are held back.

)" + options_help<RedactRequest>(kRedactOptions, RedactRequest{}) +
         R"(
Exit codes
  0     All of the text was copied.
  1     It could not be read or written, or the scanner failed.
  2     The request was wrong, or this machine cannot run the scanner: nothing was copied.
)";
}

std::string redact_list_text() {
  std::string text;
  for (const RedactionRuleText& rule : redaction_rules()) {
    std::string line(rule.id);
    line.append(line.size() < 30 ? 30 - line.size() : 1, ' ').append(rule.group);
    line.append(line.size() < 44 ? 44 - line.size() : 1, ' ').append(rule.what);
    text.append(line).append("\n");
  }
  return text;
}

int redact_command(std::span<const char* const> words) {
  const auto request = parse_redact_request(words);
  if (!request) return refuse(request.error(), kWrongUsage);
  if (request->help || request->list) {
    std::fputs((request->help ? redact_help_text() : redact_list_text()).c_str(), stdout);
    return kDone;
  }
  RedactionChoice choice{.groups = request->rules, .patterns = request->patterns};
  if (choice.groups.empty())
    choice.groups = {std::begin(kRedactionGroups), std::end(kRedactionGroups)};
  auto redactions = Redactions::make(choice);
  if (!redactions) return refuse(redactions.error(), kWrongUsage);
  Fd file;
  if (!request->file.empty()) {
    file = Fd(::open(request->file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file)
      return refuse(
          {Reason::argument, "the file " + sallyport::quoted(request->file) + " cannot be read",
           "name a text file, or give the text on standard input"},
          kFailed);
  }
  return filter(file ? file.get() : STDIN_FILENO, *request, std::move(*redactions));
}

}  // namespace sallyport
