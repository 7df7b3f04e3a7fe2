// The argv of a command tool: templates filled with the values of a call.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "policy/rules.h"

namespace sallyport {

// The longest element that the kernel takes, without its NUL.
inline constexpr std::size_t kLongestElement = 131'071;

// One element for each template of tool.run. A placeholder becomes the text of its value: a string
// as it is, anything else as canonical JSON; nothing in a value is expanded again, and no value
// makes two elements. {arguments} is all of them as one JSON object. An optional argument that is
// missing leaves out the element that is its placeholder, and nothing else.
//
// Refused (Reason::argument): a value that begins with '-' where it would be read as an option,
// unless its rule has `dash`; a NUL; an element that is too long; a missing argument within a
// longer element.
[[nodiscard]] Result<std::vector<std::string>> fill_templates(const Tool& tool,
                                                              const json::object& arguments);

}  // namespace sallyport
