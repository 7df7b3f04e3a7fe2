#include "tool/file_target.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "tool/glob_reach.h"

namespace sallyport {
namespace {

bool is_below(std::string_view path, std::string_view place) {
  return path == place || (path.starts_with(place) && path[place.size()] == '/');
}

std::string absolute(FileAction action, const FileOrder& order) {
  std::string path = order.path;
  if (action == FileAction::list && path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (path.starts_with('/')) return path;
  const std::string& first = order.places.front().inside;
  return path.empty() || path == "." ? first : join_path(first, path);
}

}  // namespace

bool FileTarget::allows(std::string_view path) const {
  return everything || std::ranges::any_of(names, [path](const Names& allowed) {
           return allowed.glob.matches(path);
         });
}

bool FileTarget::may_allow_below(std::string_view path) const {
  return everything || std::ranges::any_of(names, [path](const Names& allowed) {
           return may_match_below(allowed.text, path == "." ? "" : path);
         });
}

std::string FileTarget::shown() const {
  return relative == "." ? directory : join_path(directory, relative);
}

std::string join_path(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.ends_with('/')) path.push_back('/');
  return path.append(name);
}

std::string list_places(const FileOrder& order) {
  std::string text;
  for (const FilePlace& place : order.places) {
    text.append(text.empty() ? "" : ", ")
        .append(place.names.empty() ? place.inside : join_path(place.inside, place.names));
  }
  return text;
}

std::optional<std::string> missing_directory(const FileTarget& target) {
  for (std::size_t slash = target.relative.find('/'); slash != std::string::npos;
       slash = target.relative.find('/', slash + 1)) {
    std::string path = join_path(target.directory, target.relative.substr(0, slash));
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0)
      return errno == ENOENT ? std::optional(std::move(path)) : std::nullopt;
    if (!S_ISDIR(status.st_mode)) return std::nullopt;  // not through a link
  }
  return std::nullopt;
}

Error explain(const FileTarget& target, Error error) {
  if (error.message.contains("does not exist"))
    error.hint = "no such file below " + target.directory + "; list_files shows what there is";
  return error;
}

Result<FileTarget> find_target(FileAction action, const FileOrder& order) {
  const std::string verb(name_of(action));
  if (order.places.empty())
    return fail(Reason::argument, "there is nothing that this tool may " + verb,
                "the policy gives it no directory to " + verb);
  const std::string path = absolute(action, order);
  const FilePlace* found = nullptr;
  for (const FilePlace& place : order.places)
    if (is_below(path, place.inside) &&
        (found == nullptr || place.inside.size() > found->inside.size()))
      found = &place;
  if (found == nullptr)
    return fail(Reason::argument,
                quoted(order.path) + " is not in a place that this tool may " + verb,
                "it may " + verb + " " + list_places(order));

  FileTarget target{.directory = found->inside, .relative = ".", .names = {}};
  for (const FilePlace& place : order.places) {
    if (place.inside != found->inside) continue;
    if (place.names.empty()) {
      target.everything = true;
      continue;
    }
    auto glob = Glob::parse(place.names);
    if (!glob) return std::unexpected(std::move(glob.error()));
    target.names.push_back({.text = place.names, .glob = std::move(*glob)});
  }
  struct stat status{};
  if (::lstat(found->inside.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    if (path != found->inside)
      return fail(Reason::argument, quoted(order.path) + " does not exist",
                  found->inside + " is a file");
    const std::size_t slash = found->inside.rfind('/');
    target.directory = slash == 0 ? "/" : found->inside.substr(0, slash);
    target.file_place = true;
  }
  auto relative = parse_relative_path(path, target.rules(true));
  if (!relative) return std::unexpected(std::move(relative.error()));
  target.relative = std::move(*relative);
  return target;
}

Result<FileTarget> find_file(FileAction action, const FileOrder& order) {
  if (order.path.empty()) return fail(Reason::argument, "there is no path", "name a file");
  auto target = find_target(action, order);
  if (!target || target->file_place) return target;
  if (target->relative == ".")
    return fail(Reason::argument, quoted(order.path) + " is a directory", "name a file in it");
  if (!target->allows(target->relative))
    return fail(Reason::argument,
                quoted(target->shown()) + " is not one of the files that this tool may " +
                    std::string(name_of(action)),
                "it may " + std::string(name_of(action)) + " " + list_places(order));
  return target;
}

}  // namespace sallyport
