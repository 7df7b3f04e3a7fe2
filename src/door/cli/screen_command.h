// `sallyport screen`
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "screen/screen.h"

namespace sallyport {

struct ScreenRequest {
  std::optional<Language> language;
  bool json = false, sarif = false, help = false;
  std::vector<std::string> files;  // "-" is the standard input
};

// What was found in one file. A syntax error and code that is refused as a whole are findings too,
// with the categories "syntax_error" and "refused".
struct ScreenedFile {
  std::string path;
  std::vector<ScreenFinding> findings;
  bool more = false;  // there were more of them
};

// Reads the words behind "screen".
[[nodiscard]] Result<ScreenRequest> parse_screen_request(std::span<const char* const> words);

// What `sallyport screen --help` prints.
[[nodiscard]] std::string screen_help_text();

[[nodiscard]] ScreenedFile screen_file(std::string path, std::string_view code, Language language);

// The files of the request in their order, by so many threads, each of which has one file in
// memory. An error, of the first file that has one, if a file cannot be read or its language is not
// known.
[[nodiscard]] Result<std::vector<ScreenedFile>> screen_files(const ScreenRequest& request,
                                                             std::size_t threads);

// For people; for programs, a list that is empty when all is clean; and for code hosts,
// SARIF 2.1.0.
[[nodiscard]] std::string screen_text(std::span<const ScreenedFile> files);
[[nodiscard]] json::array screen_json(std::span<const ScreenedFile> files);
[[nodiscard]] json::object screen_sarif(std::span<const ScreenedFile> files);

// Returns the exit code of the program: 0 clean, 1 findings, 2 a wrong request or an unreadable
// file.
int screen_command(std::span<const char* const> words);

}  // namespace sallyport
