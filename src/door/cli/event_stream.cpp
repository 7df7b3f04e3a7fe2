#include "door/cli/event_stream.h"

#include <utility>

namespace sallyport {

std::vector<StreamEvent> EventReader::feed(std::string_view bytes) {
  std::vector<StreamEvent> events;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    line_.append(bytes.substr(0, end));
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    const std::string_view line = line_;
    if (line.starts_with("event: ")) {
      event_.name = line.substr(7);
    } else if (line.starts_with("data: ")) {
      event_.data = line.substr(6);
    } else if (line.empty() && !event_.name.empty()) {
      events.push_back(std::exchange(event_, {}));
    }
    line_.clear();
  }
  return events;
}

}  // namespace sallyport
