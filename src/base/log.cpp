#include "base/log.h"

#include <unistd.h>

#include "base/text.h"
#include "base/time_text.h"

namespace sallyport {

void log_line(std::string_view event, const json::object& fields) {
  json::object line{{"time", time_text()}, {"event", event}};
  for (const auto& [key, value] : fields)
    line.emplace(key, value);
  const std::string text = to_utf8(json::serialize(line)) + "\n";
  // One write, so that lines of several processes do not mix.
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace sallyport
