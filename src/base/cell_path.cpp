#include "base/cell_path.h"

#include <algorithm>

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestPath = 4095;  // PATH_MAX, less its NUL

// The cell's own mounts: a host directory here, or anywhere below, would show the tool devices or
// processes of another world.
constexpr std::string_view kOwnTrees[] = {"/proc", "/dev", "/sys"};

// What every program needs to start; below them there is room for more.
constexpr std::string_view kSystemPlaces[] = {"/usr", "/etc",   "/bin",   "/sbin",
                                              "/lib", "/lib32", "/lib64", "/libx32"};

bool is_at_or_below(std::string_view path, std::string_view tree) {
  return path == tree ||
         (path.starts_with(tree) && (tree.ends_with('/') || path[tree.size()] == '/'));
}

}  // namespace

Result<std::string> parse_inside_path(std::string_view text) {
  const auto refuse = [text](std::string_view what, std::string hint) {
    return fail(Reason::argument, quoted(text).append(" ").append(what), std::move(hint));
  };
  if (!text.starts_with('/'))
    return refuse("is not an absolute path", "a path inside the cell begins with '/'");
  if (text == "/") return std::string(text);
  std::string_view path = text;
  if (path.ends_with('/')) path.remove_suffix(1);
  if (const auto odd = irregular_component(path)) {
    if (odd->empty()) return refuse("contains '//'", "write one '/' between names");
    return refuse(std::string("contains ").append(quoted(*odd)),
                  "write the path inside the cell in full");
  }
  if (path.size() > kLongestPath)
    return refuse("is longer than a path can be", "the most is 4095 bytes");
  return std::string(path);
}

Result<void> check_grant_place(std::string_view inside) {
  const auto refuse = [inside](std::string_view why) {
    return fail(
        Reason::argument,
        std::string("nothing can be placed at ").append(quoted(inside)).append(": ").append(why),
        "give another place inside, such as PATH:/data");
  };
  if (inside == "/") return refuse("it is the cell's own root (to replace it, use --root)");
  for (const std::string_view tree : kOwnTrees)
    if (is_at_or_below(inside, tree))
      return refuse(std::string("the cell has its own ").append(tree));
  if (std::ranges::find(kSystemPlaces, inside) != std::end(kSystemPlaces))
    return refuse("it would hide what programs need to start");
  return {};
}

Result<void> check_client_place(std::string_view inside, std::span<const std::string> taken) {
  if (auto place = check_grant_place(inside); !place) return place;
  const auto refuse = [inside](std::string_view why) {
    return fail(
        Reason::argument,
        std::string("nothing can be shown at ").append(quoted(inside)).append(": ").append(why),
        "give another place inside, such as PATH:/data");
  };
  for (const std::string_view tree : kSystemPlaces)
    if (is_at_or_below(inside, tree)) return refuse("it belongs to the cell's system");
  if (is_at_or_below(inside, "/.scratch")) return refuse("the cell has its own");
  for (const std::string& place : taken)
    if (is_at_or_below(inside, place) || is_at_or_below(place, inside))
      return refuse("the tool has its own files there");
  return {};
}

}  // namespace sallyport
