#include "base/time_text.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace sallyport {

std::string time_text(std::chrono::microseconds since_epoch) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
  const std::time_t whole = seconds.count();
  tm utc{};
  ::gmtime_r(&whole, &utc);
  std::array<char, 64> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text.data() + length, text.size() - length, ".%06ldZ",
                static_cast<long>((since_epoch - seconds).count()));
  return text.data();
}

std::string time_text() {
  return time_text(std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch()));
}

}  // namespace sallyport
