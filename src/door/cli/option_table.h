// The options of a command as one table, from which both the parser and --help are made.
//
// `--name value` and `--name=value` are the same. Options end at `--` or at the first word that
// does not begin with
// '-'. A value that begins with "--" has to be written as --name=value, so that a forgotten value
// does not swallow the next option.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sallyport {

enum class Times { once, many };

// One row of the table. A Request is what the command asks for, with a member `help`.
template <class Request>
struct Option {
  std::string_view name;      // without the dashes
  std::string_view argument;  // what --help calls the value; empty: a switch, which takes none
  std::string_view group;     // heading in --help; rows of a group stand together
  std::string_view help;      // a sentence or two
  Result<void> (*apply)(Request&, std::string_view value) = nullptr;
  std::string (*preset)(const Request&) = nullptr;  // the default, as --help shows it
  Times times = Times::once;
};

struct ParsedOptions {
  std::vector<std::string_view> given;  // names of the options, in the order they were given
  std::span<const char* const> rest;    // the words behind the options

  [[nodiscard]] bool has(std::string_view name) const {
    return std::ranges::find(given, name) != given.end();
  }
};

// The errors of the parser, each a sentence with a hint.
[[nodiscard]] std::unexpected<Error> unknown_option(std::string_view word,
                                                    std::span<const std::string_view> names);
[[nodiscard]] std::unexpected<Error> repeated_option(std::string_view name);
[[nodiscard]] std::unexpected<Error> unwanted_value(std::string_view name);
[[nodiscard]] std::unexpected<Error> missing_value(std::string_view name,
                                                   std::string_view argument);
[[nodiscard]] std::unexpected<Error> refused_value(std::string_view name, Error error);

// One row of --help: the option on the left, the sentence wrapped on the right.
[[nodiscard]] std::string help_row(std::string_view left, std::string_view right);

// `text` broken at spaces into lines of at most `width` columns behind `indent` spaces, each ending
// in '\n'.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t indent,
                                  std::size_t width = 98);

// Applies the options at the beginning of `words` to `request`, in order. Ends early at --help.
template <class Request>
[[nodiscard]] Result<ParsedOptions> parse_options(std::span<const Option<Request>> table,
                                                  std::span<const char* const> words,
                                                  Request& request) {
  ParsedOptions parsed{.given = {}, .rest = words};
  std::span<const char* const>& rest = parsed.rest;
  while (!rest.empty() && !request.help) {
    std::string_view word = rest[0];
    if (!word.starts_with('-')) break;
    rest = rest.subspan(1);
    if (word == "--") break;
    if (word == "-h") word = "--help";

    const std::size_t equals = word.find('=');
    const std::string_view dashed = word.substr(0, equals);
    const auto option = std::ranges::find_if(table, [dashed](const Option<Request>& row) {
      return dashed.starts_with("--") && dashed.substr(2) == row.name;
    });
    if (option == table.end()) {
      std::vector<std::string_view> names;
      for (const Option<Request>& row : table)
        names.push_back(row.name);
      return unknown_option(dashed, names);
    }
    if (option->times == Times::once && parsed.has(option->name))
      return repeated_option(option->name);
    parsed.given.push_back(option->name);

    std::string_view value;
    if (option->argument.empty()) {
      if (equals != std::string_view::npos) return unwanted_value(option->name);
    } else {
      if (equals != std::string_view::npos) {
        value = word.substr(equals + 1);
      } else if (!rest.empty() && !std::string_view(rest[0]).starts_with("--")) {
        value = rest[0];
        rest = rest.subspan(1);
      }
      if (value.empty()) return missing_value(option->name, option->argument);
    }
    if (auto applied = option->apply(request, value); !applied)
      return refused_value(option->name, std::move(applied.error()));
  }
  return parsed;
}

// All rows of the table under the headings of their groups, with the defaults of `defaults` in
// brackets.
template <class Request>
[[nodiscard]] std::string options_help(std::span<const Option<Request>> table,
                                       const Request& defaults) {
  std::string text;
  std::string_view group;
  for (const Option<Request>& row : table) {
    if (row.group != group) text.append(group.empty() ? "" : "\n").append(row.group).append("\n");
    group = row.group;
    std::string left = std::string("--").append(row.name);
    if (!row.argument.empty()) left.append(" ").append(row.argument);
    std::string right(row.help);
    if (row.times == Times::many) right.append(" Repeatable.");
    if (row.preset) right.append(" [").append(row.preset(defaults)).append("]");
    text.append(help_row(left, right));
  }
  return text;
}

}  // namespace sallyport
