#include "tool/file_edit.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tool/file_target.h"
#include "tool/file_text.h"
#include "tool/file_write.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostShown = 5;
constexpr std::size_t kLongestNear = 500;  // bytes of a line that may come near

// Calls `visit` with every position where `word` begins in `text`, overlaps included (Knuth, Morris
// and Pratt): "aa" is twice in "aaa", so which one is meant is not clear. Linear in both, whatever
// they hold.
template <typename Visit>
void for_each_place(std::string_view text, std::string_view word, Visit visit) {
  std::vector<std::size_t> border(word.size(), 0);
  for (std::size_t i = 1, length = 0; i < word.size(); ++i) {
    while (length > 0 && word[i] != word[length])
      length = border[length - 1];
    if (word[i] == word[length]) ++length;
    border[i] = length;
  }
  for (std::size_t i = 0, length = 0; i < text.size(); ++i) {
    while (length > 0 && text[i] != word[length])
      length = border[length - 1];
    if (text[i] == word[length]) ++length;
    if (length != word.size()) continue;
    visit(i + 1 - length);
    length = border[length - 1];
  }
}

bool holds(std::string_view text, std::string_view word) {
  bool found = false;
  if (!word.empty()) for_each_place(text, word, [&](std::size_t) { found = true; });
  return found;
}

// How often a text is there, and where the first few begin: there may be millions.
struct Places {
  std::size_t count = 0;  // overlaps included
  std::size_t apart = 0;  // without
  std::vector<std::size_t> first;
};

Places find_places(std::string_view text, std::string_view word) {
  Places places;
  std::size_t free_from = 0;
  for_each_place(text, word, [&](std::size_t position) {
    if (places.count++ < kMostShown) places.first.push_back(position);
    if (position < free_from) return;
    ++places.apart;
    free_from = position + word.size();
  });
  return places;
}

std::size_t line_at(std::string_view text, std::size_t position) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, position), '\n'));
}

std::string without(std::string_view text, std::string_view characters) {
  std::string rest;
  std::ranges::copy_if(text, std::back_inserter(rest),
                       [&](char c) { return !characters.contains(c); });
  return rest;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// The lines that hold the first words of what was looked for: what a model most likely meant.
std::string near_lines(std::string_view text, std::string_view wanted) {
  std::string_view first = trim(wanted);
  first = trim(first.substr(0, first.find('\n')));
  // std::string_view::contains takes the product of both lengths, and a longer line helps nobody.
  if (first.empty() || first.size() > kLongestNear) return {};
  const std::string squeezed = without(first, " \t\r");
  std::string shown;
  std::size_t count = 0, number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    ++number;
    if (line.size() > kLongestNear) continue;
    const bool near =
        without(line, " \t\r") == squeezed || (first.size() >= 4 && line.contains(first));
    if (!near) continue;
    if (++count > kMostShown) break;
    shown.append(shown.empty() ? "" : "; ")
        .append("line " + std::to_string(number) + " is " + quoted(line));
  }
  return shown;
}

std::unexpected<Error> not_found(const std::string& shown, std::string_view text,
                                 std::string_view wanted) {
  std::string hint = "it must match exactly, with every space and line end";
  if (holds(without(text, "\r"), without(wanted, "\r")))
    hint = "it is there with other line ends: lines of the file end in \\r\\n";
  else if (holds(without(text, " \t\r"), without(wanted, " \t\r")))
    hint = "it is there with other spaces, tabs or line ends";
  if (const std::string near = near_lines(text, wanted); !near.empty()) hint += "; " + near;
  return fail(Reason::argument, "the text to replace was found 0 times in " + quoted(shown),
              std::move(hint));
}

std::unexpected<Error> found_often(const std::string& shown, std::string_view text,
                                   const Places& places) {
  std::string lines;
  for (const std::size_t position : places.first)
    lines.append(lines.empty() ? "" : ", ").append(std::to_string(line_at(text, position)));
  if (places.count > places.first.size()) lines.append(", …");
  return fail(Reason::argument,
              "the text to replace was found " + std::to_string(places.count) + " times in " +
                  quoted(shown) + ", beginning in line " + lines,
              "add lines around it until it is there once only, or set all to true");
}

std::unexpected<Error> too_large(const std::string& what, std::uint64_t size) {
  return fail(Reason::argument, what + " " + std::to_string(size) + " bytes, too many to edit",
              "files of " + std::to_string(kLargestEdit) + " bytes at most can be edited");
}

struct Edited {
  std::string text;
  std::size_t replaced = 0;
  std::size_t line = 0;  // of the first
};

Result<Edited> replace_text(const std::string& shown, std::string_view text,
                            const FileOrder& order) {
  const std::string_view old_text = order.old_text;
  const Places places = find_places(text, old_text);
  if (places.count == 0) return not_found(shown, text, old_text);
  if (places.count > 1 && !order.all) return found_often(shown, text, places);
  const std::uint64_t size =
      text.size() - places.apart * old_text.size() + places.apart * order.new_text.size();
  if (size > kLargestEdit) return too_large(quoted(shown) + " would then have", size);
  Edited edited{.text = {}, .replaced = places.apart, .line = line_at(text, places.first.front())};
  edited.text.reserve(size);
  std::size_t done = 0;
  for_each_place(text, old_text, [&](std::size_t position) {
    if (position < done) return;
    edited.text.append(text.substr(done, position - done)).append(order.new_text);
    done = position + old_text.size();
  });
  edited.text.append(text.substr(done));
  return edited;
}

}  // namespace

Result<json::object> edit_a_file(const FileOrder& order) {
  if (order.old_text.empty())
    return fail(Reason::argument, "there is no text to replace",
                "give the text as it stands in the file; write_file makes a new file");
  if (order.old_text == order.new_text)
    return fail(Reason::argument, "the new text is the old text", "give another one");
  auto target = find_file(FileAction::edit, order);
  if (!target) return std::unexpected(std::move(target.error()));
  const std::string shown = target->shown();
  if (target->file_place)
    return fail(Reason::argument, quoted(shown) + " cannot be replaced",
                "a place to edit files in must be a directory");
  // For writing first: whoever may not write it is told so, and in an overlay that makes the copy
  // that is read then.
  auto path = open_confined(target->rules(true), target->relative, PathAccess::write);
  if (!path) return std::unexpected(explain(*target, std::move(path.error())));
  struct stat before{};
  if (::fstat(path->fd.get(), &before) != 0)
    return fail(Reason::unavailable, SysError{"fstat", "", errno});
  if (static_cast<std::uint64_t>(before.st_size) > kLargestEdit)
    return too_large(quoted(shown) + " has", static_cast<std::uint64_t>(before.st_size));
  auto source =
      open_confined(path->parent.get(), target->rules(true), path->name, PathAccess::read);
  if (!source) return std::unexpected(explain(*target, std::move(source.error())));
  struct stat same{};
  if (::fstat(source->fd.get(), &same) != 0)
    return fail(Reason::unavailable, SysError{"fstat", "", errno});
  if (same.st_dev != before.st_dev || same.st_ino != before.st_ino)
    return fail(Reason::argument, quoted(shown) + " was replaced meanwhile", "try again");
  auto text = read_range(source->fd.get(), 0, static_cast<std::size_t>(before.st_size));
  if (!text) return std::unexpected(std::move(text.error()));
  if (!as_text(*text, true))
    return fail(Reason::argument, quoted(shown) + " is not UTF-8 text",
                "only text can be edited; write_file replaces a file as a whole");

  auto edited = replace_text(shown, *text, order);
  if (!edited) return std::unexpected(std::move(edited.error()));
  if (auto written = replace_file(*path, &before, Change::based_on_it, edited->text, shown);
      !written)
    return std::unexpected(std::move(written.error()));
  return json::object{{"path", shown},
                      {"size", static_cast<std::int64_t>(edited->text.size())},
                      {"replaced", static_cast<std::int64_t>(edited->replaced)},
                      {"line", static_cast<std::int64_t>(edited->line)}};
}

}  // namespace sallyport
