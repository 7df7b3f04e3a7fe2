#include "door/cli/option_table.h"

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::string_view kSeeHelp = "--help lists all options";
constexpr std::size_t kHelpColumn = 28;

std::string dashed(std::string_view name) {
  return std::string("--").append(name);
}

}  // namespace

std::unexpected<Error> unknown_option(std::string_view word,
                                      std::span<const std::string_view> names) {
  const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
  std::string hint(kSeeHelp);
  if (const auto meant = nearest(word.substr(dashes), names))
    hint = std::string("did you mean ").append(dashed(*meant)).append("? ").append(hint);
  return fail(Reason::argument, std::string("unknown option ").append(quoted(word)),
              std::move(hint));
}

std::unexpected<Error> repeated_option(std::string_view name) {
  return fail(Reason::argument, dashed(name).append(" is given more than once"), "give it once");
}

std::unexpected<Error> unwanted_value(std::string_view name) {
  return fail(Reason::argument, dashed(name).append(" takes no value"),
              std::string("write ").append(dashed(name)).append(" alone"));
}

std::unexpected<Error> missing_value(std::string_view name, std::string_view argument) {
  return fail(Reason::argument, dashed(name).append(" needs a value"),
              std::string("write ").append(dashed(name)).append(" ").append(argument));
}

std::unexpected<Error> refused_value(std::string_view name, Error error) {
  error.message = dashed(name).append(": ").append(error.message);
  return std::unexpected(std::move(error));
}

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result;
  std::string line;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) {
      result.append(indent, ' ').append(line).append("\n");
      line.clear();
    }
    if (!line.empty()) line.append(" ");
    line.append(word);
  }
  return result.append(indent, ' ').append(line).append("\n");
}

std::string help_row(std::string_view left, std::string_view right) {
  std::string row = wrapped(right, kHelpColumn);
  const std::string shown = std::string("  ").append(left);
  if (shown.size() + 2 > kHelpColumn) return shown + "\n" + row;
  return row.replace(0, shown.size(), shown);
}

}  // namespace sallyport
