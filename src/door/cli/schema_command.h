// `sallyport schema validate`
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "input/schema.h"

namespace sallyport {

struct SchemaRequest {
  std::string schema, instance;                              // paths
  std::vector<std::pair<std::string, std::string>> resolve;  // URI and path
  bool json = false;
  bool help = false;
};

// Reads the words behind "schema".
[[nodiscard]] Result<SchemaRequest> parse_schema_request(std::span<const char* const> words);

// What `sallyport schema --help` prints.
[[nodiscard]] std::string schema_help_text();

// The documents that `--resolve` serves: a file at its URI, and each .json file of a directory at
// the URI and its path below the directory.
[[nodiscard]] Result<std::vector<SchemaDocument>> read_schema_documents(
    std::span<const std::pair<std::string, std::string>> resolve);

// What is wrong with the instance, for people: a line for each; and for programs.
[[nodiscard]] std::string violations_text(std::span<const Violation> violations);
[[nodiscard]] std::string violations_json(std::span<const Violation> violations);

// Returns the exit code of the program: 0 valid, 1 not, 2 a bad schema or request.
int schema_command(std::span<const char* const> words);

}  // namespace sallyport
