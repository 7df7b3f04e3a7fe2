#include "tool/argv_template.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "policy/inside_path.h"

namespace sallyport {
namespace {

constexpr std::string_view kAllArguments = "arguments";

std::string text_of(const json::value& value) {
  return value.is_string() ? std::string(value.get_string()) : canonical_json(value);
}

class Filling {
 public:
  Filling(const Tool& tool, const json::object& arguments) : tool_(tool), arguments_(arguments) {}

  // Nothing: the element is left out.
  Result<std::optional<std::string>> element(const Template& pattern) const {
    if (const std::string* name = pattern.whole(); name != nullptr && is_missing(*name)) {
      const Argument* argument = tool_.find_argument(*name);
      if (argument != nullptr && argument->optional) return std::nullopt;
    }
    std::string element;
    std::string_view literal;  // of the policy, right before what comes next
    for (const Template::Piece& piece : pattern.pieces) {
      if (piece.argument.empty()) {
        element.append(piece.text);
        literal = piece.text;
        continue;
      }
      if (is_missing(piece.argument))
        return fail(Reason::argument, "the argument " + quoted(piece.argument) + " is missing",
                    "this tool cannot be called without it");
      const std::string value = value_of(piece.argument);
      if (auto checked = check(piece.argument, value, element); !checked)
        return std::unexpected(std::move(checked.error()));
      element.resize(element.size() - place_before(piece.argument, value, literal));
      element.append(value);
      literal = {};
    }
    if (element.size() > kLongestElement)
      return fail(Reason::argument,
                  "the arguments make a word of " + std::to_string(element.size()) +
                      " bytes for the command line",
                  "the most is " + std::to_string(kLongestElement) +
                      "; larger values can be given as files");
    return element;
  }

 private:
  [[nodiscard]] bool is_missing(std::string_view name) const {
    return name != kAllArguments && !arguments_.contains(name);
  }

  [[nodiscard]] std::string value_of(std::string_view name) const {
    return name == kAllArguments ? canonical_json(arguments_) : text_of(arguments_.at(name));
  }

  // How much of the text before a path is the place that the path itself begins with: it is whole,
  // so "/data/{file}" and "{file}" come to the same.
  [[nodiscard]] std::size_t place_before(const std::string& name, std::string_view value,
                                         std::string_view literal) const {
    const Argument* argument = tool_.find_argument(name);
    if (argument == nullptr || argument->type != ArgumentType::path || !value.starts_with('/'))
      return 0;
    const auto inside = inside_path(tool_.files, argument->below);
    return inside && literal.ends_with(*inside + "/") ? inside->size() + 1 : 0;
  }

  [[nodiscard]] Result<void> check(const std::string& name, std::string_view value,
                                   std::string_view before) const {
    if (value.contains('\0'))
      return fail(Reason::argument, "the argument " + quoted(name) + " contains a NUL",
                  "the command would see only what is before it");
    // Behind a dash of the policy's too: "-{level}" must not become "--output".
    const Argument* argument = tool_.find_argument(name);
    if (value.starts_with('-') && before.find_first_not_of('-') == std::string_view::npos &&
        (argument == nullptr || !argument->dash))
      return fail(Reason::argument, "the argument " + quoted(name) + " begins with '-'",
                  "the command would take it for an option; give a value that begins otherwise");
    return {};
  }

  const Tool& tool_;
  const json::object& arguments_;
};

}  // namespace

Result<std::vector<std::string>> fill_templates(const Tool& tool, const json::object& arguments) {
  if (tool.run.empty()) return fail(Reason::internal, "the tool has no command");
  // What is executed is the policy's choice and never the caller's.
  if (std::ranges::any_of(tool.run.front().pieces,
                          [](const Template::Piece& piece) { return !piece.argument.empty(); }))
    return fail(Reason::internal, "the program of a command tool cannot be an argument");
  constexpr std::size_t kLongestArgv = 1'000'000;
  const Filling filling(tool, arguments);
  std::vector<std::string> argv;
  std::size_t size = 0;
  for (const Template& pattern : tool.run) {
    auto element = filling.element(pattern);
    if (!element) return std::unexpected(std::move(element.error()));
    if (!*element) continue;
    size += (*element)->size() + 1;
    argv.push_back(std::move(**element));
  }
  if (size > kLongestArgv)
    return fail(Reason::argument, "the command line would have " + std::to_string(size) + " bytes",
                "the most is " + std::to_string(kLongestArgv));
  return argv;
}

}  // namespace sallyport
