// Times of the wall clock as text: RFC 3339 in UTC, to the microsecond.
#pragma once

#include <chrono>
#include <string>

namespace sallyport {

[[nodiscard]] std::string time_text(std::chrono::microseconds since_epoch);
[[nodiscard]] std::string time_text();  // now

}  // namespace sallyport
