// Options and other words in any order: `explain TOOL --policy FILE --json`. After `--`, every word
// is a word.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "door/cli/option_table.h"

namespace sallyport {

// The words that are not options, in order; `names`, if there is one, gets those of the options.
// Ends early at --help.
template <class Request>
[[nodiscard]] Result<std::vector<std::string_view>> parse_mixed(
    std::span<const Option<Request>> table, std::span<const char* const> words, Request& request,
    std::vector<std::string_view>* names = nullptr) {
  std::vector<std::string_view> others, given;
  bool ended = false;
  while (!words.empty()) {
    if (ended || !std::string_view(words[0]).starts_with('-')) {
      others.emplace_back(words[0]);
      words = words.subspan(1);
      continue;
    }
    auto parsed = parse_options<Request>(table, words, request);
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    for (const std::string_view name : parsed->given) {
      const auto row = std::ranges::find(table, name, &Option<Request>::name);
      if (row->times == Times::once && std::ranges::find(given, name) != given.end())
        return repeated_option(name);
      given.push_back(name);
    }
    if (request.help) break;
    ended = std::string_view(*(parsed->rest.data() - 1)) == "--";
    words = parsed->rest;
  }
  if (names != nullptr) *names = std::move(given);
  return others;
}

}  // namespace sallyport
