#include "base/layer.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text.h"

namespace sallyport {
namespace {

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

}  // namespace sallyport
