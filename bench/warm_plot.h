// The figures as a picture, for light and dark pages.
#pragma once

#include <string>

#include "base/json.h"

namespace sallyport::warm {

[[nodiscard]] std::string plot(const json::object& all);

}  // namespace sallyport::warm
