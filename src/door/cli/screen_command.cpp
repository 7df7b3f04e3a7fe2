#include "door/cli/screen_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/fd.h"
#include "base/text.h"
#include "door/cli/mixed_words.h"
#include "door/cli/problem.h"
#include "door/cli/process.h"

namespace sallyport {
namespace {

constexpr int kClean = 0, kFound = 1;
constexpr std::string_view kSyntaxError = "syntax_error", kRefused = "refused";
constexpr char kStandardInput[] = "/dev/stdin";  // as parse_options must not take "-" for an option

template <auto Field>
Result<void> turn_on(ScreenRequest& request, std::string_view) {
  request.*Field = true;
  return {};
}

Result<void> set_language(ScreenRequest& request, std::string_view value) {
  request.language = language_named(value);
  if (!request.language)
    return fail(Reason::argument, quoted(value) + " is not a language that is screened",
                "it is one of python, javascript, shell");
  return {};
}

constexpr Option<ScreenRequest> kOptions[] = {
    {"language", "NAME", "Options",
     "python, javascript or shell. Without it, the name of the file or its #! line says so.",
     set_language},
    {"json", "", "Options",
     "Print the findings as one JSON list, which is empty when all is clean.",
     turn_on<&ScreenRequest::json>},
    {"sarif", "", "Options", "Print them as SARIF 2.1.0.", turn_on<&ScreenRequest::sarif>},
    {"help", "", "Options", "Print this text.", turn_on<&ScreenRequest::help>},
};

// No more than one byte past what is screened: the rest does not change the answer.
Result<std::string> read_code_file(const std::string& path) {
  const bool standard_input = path == "-";
  Fd file;
  if (!standard_input) {
    file = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file)
      return fail(Reason::argument,
                  "the file " + quoted(path) + " cannot be read: " + std::strerror(errno),
                  "give the path of a file, or - for the standard input");
  }
  std::string code(kLargestScreenedCode + 1, '\0');
  std::size_t size = 0;
  while (size < code.size()) {
    const ssize_t got =
        ::read(standard_input ? STDIN_FILENO : file.get(), code.data() + size, code.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return fail(Reason::argument,
                  "the file " + quoted(path) + " cannot be read: " + std::strerror(errno),
                  "give the path of a file, or - for the standard input");
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  code.resize(size);
  return code;
}

std::string shown(const std::string& path) {
  return path == "-" ? "<standard input>" : path;
}

std::string uri_of(std::string_view path) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string uri;
  for (const char c : path) {
    if (kPlain.contains(c)) {
      uri.push_back(c);
      continue;
    }
    char escaped[4];
    std::snprintf(escaped, sizeof escaped, "%%%02X",
                  static_cast<unsigned>(static_cast<unsigned char>(c)));
    uri.append(escaped);
  }
  return path.starts_with('/') ? "file://" + uri : uri;
}

json::object sarif_rule(std::string_view id, std::string_view what, std::string_view allowed) {
  return {{"id", id},
          {"shortDescription", json::object{{"text", std::string("Code that ").append(what)}}},
          {"help", json::object{{"text", std::string("Instead: ").append(allowed)}}}};
}

}  // namespace

Result<ScreenRequest> parse_screen_request(std::span<const char* const> words) {
  ScreenRequest request;
  std::vector<const char*> plain(words.begin(), words.end());
  for (const char*& word : plain)
    if (std::string_view(word) == "-") word = kStandardInput;
  auto files = parse_mixed<ScreenRequest>(kOptions, plain, request);
  if (!files) return std::unexpected(std::move(files.error()));
  if (request.help) return request;
  for (const std::string_view file : *files)
    request.files.emplace_back(file == kStandardInput ? "-" : file);
  if (request.files.empty())
    return fail(Reason::argument, "there is no file to screen",
                "write sallyport screen FILE..., or - for the standard input");
  if (request.json && request.sarif)
    return fail(Reason::argument, "--json and --sarif exclude each other", "choose one");
  return request;
}

std::string screen_help_text() {
  return R"(Usage: sallyport screen [--language NAME] [--json|--sarif] FILE...

Says what code would do, read from its syntax tree without running it: processes, files, network,
code in strings. It is the first door, never the wall: code that hides well enough is not found.

)" + options_help<ScreenRequest>(kOptions, ScreenRequest{}) +
         R"(
Exit codes
  0     Nothing was found.
  1     Something was found, or the code is not readable as its language.
  2     A file cannot be read, its language is not known, or the request was wrong.
)";
}

ScreenedFile screen_file(std::string path, std::string_view code, Language language) {
  ScreenedFile file{.path = std::move(path), .findings = {}};
  auto screening = screen(code, language);
  if (!screening) {
    file.findings.push_back({.category = std::string(kRefused),
                             .line = 1,
                             .column = 1,
                             .excerpt = "",
                             .why = screening.error().message,
                             .allowed = screening.error().hint});
    return file;
  }
  file.findings = std::move(screening->findings);
  file.more = screening->more;
  if (const auto& error = screening->syntax_error)
    file.findings.push_back({.category = std::string(kSyntaxError),
                             .line = error->line,
                             .column = error->column,
                             .excerpt = "",
                             .why = error->message,
                             .allowed = "correct the code"});
  return file;
}

Result<std::vector<ScreenedFile>> screen_files(const ScreenRequest& request, std::size_t threads) {
  std::vector<ScreenedFile> files(request.files.size());
  std::mutex mutex;  // of what follows and of reading, as files are read one after the other
  std::size_t next = 0;
  std::optional<Error> error;  // of the first file that has one, as they are read in their order
  const auto work = [&] {
    while (true) {
      std::unique_lock lock(mutex);
      if (error || next == files.size()) return;
      const std::size_t number = next++;
      const std::string& path = request.files[number];
      const auto code = read_code_file(path);
      if (!code) {
        error = code.error();
        return;
      }
      const auto language = request.language ? request.language : language_of(path, *code);
      if (!language) {
        error = {Reason::argument, "the language of " + quoted(shown(path)) + " is not known",
                 "write --language python, javascript or shell"};
        return;
      }
      lock.unlock();
      files[number] = screen_file(path, *code, *language);
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(threads, files.size()); ++i)
      others.emplace_back(work);
    work();
  }
  if (error) return std::unexpected(std::move(*error));
  return files;
}

std::string screen_text(std::span<const ScreenedFile> files) {
  std::string text;
  for (const ScreenedFile& file : files) {
    for (const ScreenFinding& finding : file.findings) {
      std::string line = shown(file.path) + ":" + std::to_string(finding.line) + ":" +
                         std::to_string(finding.column) + ": " + finding.category + ": " +
                         finding.why;
      text.append(escape_for_terminal(line)).append("\n");
      if (!finding.excerpt.empty())
        text.append("    ").append(escape_for_terminal(finding.excerpt)).append("\n");
      if (!finding.allowed.empty())
        text.append("    allowed: ").append(escape_for_terminal(finding.allowed)).append("\n");
    }
    if (file.more) text.append(escape_for_terminal(shown(file.path))).append(": and more\n");
  }
  return text.empty() ? "clean\n" : text;
}

json::array screen_json(std::span<const ScreenedFile> files) {
  json::array list;
  for (const ScreenedFile& file : files)
    for (const ScreenFinding& finding : file.findings)
      list.push_back(json::object{{"file", to_utf8(file.path)},
                                  {"line", finding.line},
                                  {"column", finding.column},
                                  {"category", finding.category},
                                  {"excerpt", to_utf8(finding.excerpt)},
                                  {"why", to_utf8(finding.why)},
                                  {"allowed", to_utf8(finding.allowed)}});
  return list;
}

json::object screen_sarif(std::span<const ScreenedFile> files) {
  json::array rules, results;
  for (const ScreenCategory& row : kScreenCategories)
    rules.push_back(sarif_rule(row.name, row.what, row.allowed));
  rules.push_back(sarif_rule(kSyntaxError, "is not of its language", "correct the code"));
  rules.push_back(sarif_rule(kRefused, "is too large or too deep to be read", "split the program"));
  for (const ScreenedFile& file : files)
    for (const ScreenFinding& finding : file.findings) {
      const json::object region{{"startLine", finding.line}, {"startColumn", finding.column}};
      const json::object location{
          {"physicalLocation",
           json::object{{"artifactLocation",
                         json::object{{"uri", file.path == "-" ? "stdin" : uri_of(file.path)}}},
                        {"region", region}}}};
      results.push_back(json::object{
          {"ruleId", finding.category},
          {"level", finding.category == "dynamic" ? "warning" : "error"},
          {"message", json::object{{"text", to_utf8(finding.why) +
                                                ". Instead: " + to_utf8(finding.allowed) + "."}}},
          {"locations", json::array{location}}});
    }
  const json::object driver{{"name", "sallyport screen"}, {"rules", std::move(rules)}};
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", json::array{json::object{{"tool", json::object{{"driver", driver}}},
                                            {"columnKind", "unicodeCodePoints"},
                                            {"results", std::move(results)}}}}};
}

int screen_command(std::span<const char* const> words) {
  const auto request = parse_screen_request(words);
  if (!request) {
    print_error(request.error());
    return kWrongUsage;
  }
  if (request->help) {
    std::fputs(screen_help_text().c_str(), stdout);
    return kClean;
  }
  const auto files = screen_files(*request, std::thread::hardware_concurrency());
  if (!files) {
    print_error(files.error());
    return kWrongUsage;
  }
  const std::string text = request->json    ? json::serialize(screen_json(*files)) + "\n"
                           : request->sarif ? json::serialize(screen_sarif(*files)) + "\n"
                                            : screen_text(*files);
  if (!write_all(STDOUT_FILENO, text)) return kWrongUsage;
  const bool found =
      std::ranges::any_of(*files, [](const ScreenedFile& file) { return !file.findings.empty(); });
  return found ? kFound : kClean;
}

}  // namespace sallyport
