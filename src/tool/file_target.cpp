#include "tool/file_target.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/protected_names.h"
#include "base/text.h"
#include "tool/glob_reach.h"

namespace sallyport {
namespace {

// Stands for any name at all.
constexpr std::string_view kAnyName = "any name";

bool is_below(std::string_view path, std::string_view place) {
  return path == place || (path.starts_with(place) && path[place.size()] == '/');
}

std::string absolute(FileAction action, const FileOrder& order) {
  std::string path = order.path;
  const bool of_directory = action == FileAction::list || action == FileAction::search;
  if (of_directory && path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (path.starts_with('/')) return path;
  const std::string& first = order.places.front().inside;
  return path.empty() || path == "." ? first : join_path(first, path);
}

}  // namespace

// What lies in a denied directory is denied with it, and a directory in which every name is denied
// is denied itself.
bool FileTarget::denies(std::string_view path) const {
  if (denied.empty()) return false;
  std::string whole = path == "." || file_place ? host : join_path(host, path);
  whole.erase(0, 1);
  whole.append("/");
  const std::size_t size = whole.size();
  whole.append(kAnyName);
  return std::ranges::any_of(denied, [&](const Names& rule) {
    if (rule.glob.matches(whole)) return true;
    for (std::size_t end = whole.find('/'); end < size; end = whole.find('/', end + 1))
      if (rule.glob.matches(std::string_view(whole).substr(0, end))) return true;
    return false;
  });
}

bool FileTarget::allows(std::string_view path) const {
  if (denies(path)) return false;
  return everything || std::ranges::any_of(names, [path](const Names& allowed) {
           return allowed.glob.matches(path);
         });
}

bool FileTarget::may_allow_below(std::string_view path) const {
  if (denies(path)) return false;
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

  FileTarget target{.directory = found->inside,
                    .host = found->host.empty() ? found->inside : found->host,
                    .relative = ".",
                    .names = {},
                    .denied = {}};
  for (const std::string& rule : order.denied) {
    auto glob = Glob::parse(std::string_view(rule).substr(rule.starts_with('/') ? 1 : 0));
    if (!glob) return std::unexpected(std::move(glob.error()));
    target.denied.push_back({.text = rule, .glob = std::move(*glob)});
  }
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

namespace {

// Names above the place, and the place itself, are what the policy says in so many words.
Result<void> check_protected(const FileTarget& target, FileAction action) {
  if (action != FileAction::write && action != FileAction::edit) return {};
  if (target.file_place) return {};
  const auto chosen = static_cast<std::size_t>(std::ranges::count(target.host, '/'));
  const std::string path = join_path(target.host, target.relative);
  const ProtectedName* rule = find_protected({.path = path, .chosen = chosen, .file_tool = true});
  if (rule == nullptr) return {};
  return fail(Reason::argument,
              quoted(target.shown()) + " is read-only: the name " + std::string(rule->pattern) +
                  " is protected, because " + std::string(rule->why),
              "it may be read; any name that is not protected may be written");
}

}  // namespace

Result<FileTarget> find_file(FileAction action, const FileOrder& order) {
  if (order.path.empty()) return fail(Reason::argument, "there is no path", "name a file");
  auto target = find_target(action, order);
  if (!target) return target;
  if (!target->file_place && target->relative == ".")
    return fail(Reason::argument, quoted(order.path) + " is a directory", "name a file in it");
  if (target->file_place ? target->denies(target->relative) : !target->allows(target->relative))
    return fail(Reason::argument,
                quoted(target->shown()) + " is not one of the files that this tool may " +
                    std::string(name_of(action)),
                "it may " + std::string(name_of(action)) + " " + list_places(order));
  if (auto checked = check_protected(*target, action); !checked)
    return std::unexpected(std::move(checked.error()));
  return target;
}

}  // namespace sallyport
