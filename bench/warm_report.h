// From what was measured to what is read: the table of measures with bar and goal, all figures as
// Markdown and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace sallyport::warm {

// Reads WORK/*.json and prints the report; with a directory, also writes warm.md, warm.json and
// warm.svg into it. The exit code.
[[nodiscard]] int report(const std::string& work, const std::string& directory);

// "0.87 ms", "23 ms", "412 µs": as many digits as mean something.
[[nodiscard]] std::string time_text(double microseconds);
[[nodiscard]] std::string fixed(double value, int digits);

// What stands at a path such as "latency.python.bare"; nullptr, and 0: it was not measured.
[[nodiscard]] const json::value* find(const json::object& all, std::string_view path);
[[nodiscard]] double number_at(const json::object& all, std::string_view path);

}  // namespace sallyport::warm
