#include "cell/spec.h"

#include <algorithm>
#include <charconv>

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

std::string layer_names() {
  std::string names;
  for (const LayerText& layer : kLayers) {
    if (!names.empty()) names.append(", ");
    names.append(layer.name);
  }
  return names;
}

}  // namespace

Result<Requirement> parse_requirement(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto layer = std::ranges::find(kLayers, name, &LayerText::name);
  if (layer == std::end(kLayers)) {
    std::vector<std::string_view> names;
    for (const LayerText& known : kLayers)
      names.push_back(known.name);
    std::string hint = "the layers are " + layer_names();
    if (const auto meant = nearest(name, names))
      hint = std::string("did you mean ").append(*meant).append("? ").append(hint);
    return fail(Reason::argument, quoted(name).append(" is not a layer"), std::move(hint));
  }
  Requirement requirement{.layer = std::string(name), .level = {}};
  if (colon == std::string_view::npos) return requirement;

  if (!layer->has_levels) {
    return fail(Reason::argument, std::string("the layer ").append(name).append(" has no levels"),
                std::string("write ").append(name));
  }
  const std::string_view digits = text.substr(colon + 1);
  unsigned level = 0;
  const auto [end, status] = std::from_chars(digits.begin(), digits.end(), level);
  if (status != std::errc{} || end != digits.end() || level == 0) {
    return fail(Reason::argument, quoted(digits).append(" is not a level"),
                std::string("write a whole number from 1, such as ").append(name).append(":2"));
  }
  requirement.level = level;
  return requirement;
}

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
    if (inside == tree || (inside.starts_with(tree) && inside[tree.size()] == '/'))
      return refuse(std::string("the cell has its own ").append(tree));
  if (std::ranges::find(kSystemPlaces, inside) != std::end(kSystemPlaces))
    return refuse("it would hide what programs need to start");
  return {};
}

}  // namespace sallyport
