#include "door/cli/schema_command.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "door/cli/option_table.h"
#include "door/cli/process.h"

namespace sallyport {
namespace {

namespace fs = std::filesystem;

constexpr int kValid = 0, kInvalid = 1, kBadSchema = 2;
constexpr std::size_t kMostDocuments = 10'000;

template <auto Field>
Result<void> turn_on(SchemaRequest& request, std::string_view) {
  request.*Field = true;
  return {};
}

template <auto Field>
Result<void> keep(SchemaRequest& request, std::string_view value) {
  request.*Field = value;
  return {};
}

Result<void> add_resolve(SchemaRequest& request, std::string_view value) {
  const std::size_t equals = value.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == value.size())
    return fail(Reason::argument, sallyport::quoted(value) + " is not a URI and a path",
                "write --resolve https://example.com/schemas=DIRECTORY");
  if (value.substr(0, equals).contains('#'))
    return fail(Reason::argument, sallyport::quoted(value) + " has a fragment",
                "give the URI of the whole document");
  request.resolve.emplace_back(value.substr(0, equals), value.substr(equals + 1));
  return {};
}

constexpr Option<SchemaRequest> kSchemaOptions[] = {
    {"schema", "FILE", "Options", "The JSON Schema (2020-12).", keep<&SchemaRequest::schema>},
    {"instance", "FILE", "Options", "The JSON text to check.", keep<&SchemaRequest::instance>},
    {"resolve", "URI=PATH", "Options",
     "Where a $ref to URI leads: a file, or a directory whose .json files are below URI. Nothing "
     "is "
     "ever fetched.",
     add_resolve, nullptr, Times::many},
    {"json", "", "Options", "Print the verdict as JSON.", turn_on<&SchemaRequest::json>},
    {"help", "", "Options", "Print this text.", turn_on<&SchemaRequest::help>},
};

Result<json::value> read_json(const std::string& path) {
  const auto text = read_file(path.c_str());
  if (!text)
    return fail(Reason::argument, "the file " + sallyport::quoted(path) + " cannot be read",
                "give the path of a JSON file");
  auto value = parse_json(*text);
  if (!value) value.error().message.insert(0, sallyport::quoted(path) + ": ");
  return value;
}

Result<void> add_directory(std::vector<SchemaDocument>& documents, std::string uri,
                           const std::string& path) {
  if (!uri.ends_with('/')) uri.push_back('/');
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_regular_file(error) && at->path().extension() == ".json")
      files.push_back(at->path());
    if (files.size() > kMostDocuments)
      return fail(
          Reason::argument,
          sallyport::quoted(path) + " has more than " + std::to_string(kMostDocuments) + " files",
          "name a directory of schemas only");
  }
  if (error)
    return fail(Reason::argument, sallyport::quoted(path) + " cannot be read: " + error.message(),
                "name a directory that you may read");
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    auto value = read_json(file.string());
    if (!value) return std::unexpected(std::move(value.error()));
    documents.push_back({uri + file.lexically_relative(path).generic_string(), std::move(*value)});
  }
  return {};
}

}  // namespace

Result<SchemaRequest> parse_schema_request(std::span<const char* const> words) {
  SchemaRequest request;
  const std::string_view verb = words.empty() ? "" : words[0];
  if (verb == "--help" || verb == "-h") {
    request.help = true;
    return request;
  }
  if (verb != "validate")
    return fail(Reason::argument,
                verb.empty() ? "schema needs to know what to do"
                             : "schema has no command " + sallyport::quoted(verb),
                "write sallyport schema validate --schema FILE --instance FILE");
  auto parsed = parse_options<SchemaRequest>(kSchemaOptions, words.subspan(1), request);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  if (request.help) return request;
  if (!parsed->rest.empty())
    return fail(Reason::argument, sallyport::quoted(parsed->rest[0]) + " stands behind the options",
                "name files with --schema and --instance");
  if (request.schema.empty() || request.instance.empty())
    return fail(Reason::argument,
                std::string("there is no --") + (request.schema.empty() ? "schema" : "instance"),
                "write sallyport schema validate --schema FILE --instance FILE");
  return request;
}

std::string schema_help_text() {
  return R"(Usage: sallyport schema validate --schema FILE --instance FILE [--resolve URI=PATH]... [--json]

Checks a JSON text against a JSON Schema (2020-12), as the arguments of a tool are checked: with the
same reader, which refuses keys that are given twice, and the same bounds.

)" + options_help<SchemaRequest>(kSchemaOptions, SchemaRequest{}) +
         R"(
Exit codes
  0     The instance is valid.
  1     It is not; each line names the place, what is wrong there, and the rule.
  2     The schema is refused, a file cannot be read, or the request was wrong.
)";
}

Result<std::vector<SchemaDocument>> read_schema_documents(
    std::span<const std::pair<std::string, std::string>> resolve) {
  std::vector<SchemaDocument> documents;
  for (const auto& [uri, path] : resolve) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      if (auto added = add_directory(documents, uri, path); !added)
        return std::unexpected(std::move(added.error()));
      continue;
    }
    auto value = read_json(path);
    if (!value) return std::unexpected(std::move(value.error()));
    documents.push_back({uri, std::move(*value)});
  }
  return documents;
}

std::string violations_text(std::span<const Violation> violations) {
  std::string text;
  for (const Violation& violation : violations) {
    std::string line = violation.instance_place.empty() ? "(root)" : violation.instance_place;
    line.append(": ").append(violation.message);
    if (!violation.schema_place.empty())
      line.append(" (").append(violation.schema_place).append(")");
    text.append(escape_for_terminal(line)).append("\n");
  }
  return text;
}

std::string violations_json(std::span<const Violation> violations) {
  json::array listed;
  for (const Violation& violation : violations)
    listed.push_back(json::object{{"instance_place", to_utf8(violation.instance_place)},
                                  {"schema_place", to_utf8(violation.schema_place)},
                                  {"message", to_utf8(violation.message)}});
  return json::serialize(
      json::object{{"valid", violations.empty()}, {"violations", std::move(listed)}});
}

int schema_command(std::span<const char* const> words) {
  const auto refuse = [](const Error& error) {
    print_error(error);
    return kBadSchema;
  };
  const auto request = parse_schema_request(words);
  if (!request) return refuse(request.error());
  if (request->help) {
    std::fputs(schema_help_text().c_str(), stdout);
    return kValid;
  }
  SchemaOptions options;
  auto documents = read_schema_documents(request->resolve);
  if (!documents) return refuse(documents.error());
  options.documents = std::move(*documents);
  const auto text = read_json(request->schema);
  if (!text) return refuse(text.error());
  const auto schema = Schema::compile(*text, options);
  if (!schema) return refuse(schema.error());

  const auto instance_text = read_file(request->instance.c_str());
  if (!instance_text)
    return refuse({Reason::argument,
                   "the file " + sallyport::quoted(request->instance) + " cannot be read",
                   "give the path of a JSON file"});
  const auto instance = parse_json(*instance_text);
  const std::vector<Violation> violations =
      instance ? schema->check(*instance)
               : std::vector<Violation>{{.message = instance.error().message}};
  if (request->json)
    std::fputs((violations_json(violations) + "\n").c_str(), stdout);
  else
    std::fputs(violations.empty() ? "valid\n" : violations_text(violations).c_str(), stdout);
  return violations.empty() ? kValid : kInvalid;
}

}  // namespace sallyport
