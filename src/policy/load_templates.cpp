// Placeholders in the argv of a command and in the request of an http tool: {name}, and {{ and }}
// for the braces themselves.
#include <algorithm>

#include "base/text.h"
#include "policy/load.h"

namespace sallyport {
namespace {

constexpr std::string_view kAllArguments = "arguments";

Result<void> check_argument(std::string_view name, std::string_view text, const Tool& tool) {
  if (tool.find_argument(name) || name == kAllArguments) return {};
  std::vector<std::string_view> names;
  names.reserve(tool.args.size());
  for (const Argument& argument : tool.args)
    names.push_back(argument.name);
  const std::string what =
      "the placeholder {" + escape_for_terminal(name.substr(0, 64)) + "} in " + quoted(text);
  if (const auto meant = nearest(name, names))
    return fail(Reason::argument, what + " has no argument of that name",
                "did you mean {" + std::string(*meant) + "}?");
  return fail(Reason::argument, what + " has no argument of that name",
              "declare it under args, or write {{ and }} for braces themselves");
}

}  // namespace

Result<Template> parse_template(std::string_view text, const Tool& tool) {
  Template result;
  std::string literal;
  const auto flush = [&] {
    if (!literal.empty()) result.pieces.push_back({.text = std::move(literal), .argument = {}});
    literal.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool doubled = i + 1 < text.size() && text[i + 1] == c;
    if (c != '{' && c != '}') {
      literal.push_back(c);
    } else if (doubled) {
      literal.push_back(c);
      ++i;
    } else if (c == '}') {
      return fail(Reason::argument, "there is a '}' without its '{' in " + quoted(text),
                  "write }} for a brace itself");
    } else {
      const std::size_t end = text.find_first_of("{}", i + 1);
      if (end == std::string_view::npos || text[end] != '}')
        return fail(Reason::argument, "there is a '{' without its '}' in " + quoted(text),
                    "write {{ for a brace itself");
      const std::string_view name = text.substr(i + 1, end - i - 1);
      if (auto checked = check_argument(name, text, tool); !checked)
        return std::unexpected(std::move(checked.error()));
      flush();
      result.pieces.push_back({.text = {}, .argument = std::string(name)});
      i = end;
    }
  }
  flush();
  if (result.pieces.empty()) result.pieces.emplace_back();
  return result;
}

Result<void> check_placeholders(const json::value& value, const Tool& tool,
                                std::vector<std::string>& mentioned) {
  if (const json::string* text = value.if_string()) {
    auto parsed = parse_template({text->data(), text->size()}, tool);
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    for (Template::Piece& piece : parsed->pieces)
      if (!piece.argument.empty()) mentioned.push_back(std::move(piece.argument));
  } else if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array)
      if (auto checked = check_placeholders(item, tool, mentioned); !checked) return checked;
  } else if (const json::object* object = value.if_object()) {
    for (const json::key_value_pair& member : *object)
      if (auto checked = check_placeholders(member.value(), tool, mentioned); !checked)
        return checked;
  }
  return {};
}

}  // namespace sallyport
