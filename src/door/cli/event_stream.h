// The events of a service's stream (text/event-stream), as they come in pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sallyport {

struct StreamEvent {
  std::string name, data;
};

// Takes what our own service writes: lines end with a line feed, each event has one line of data
// and ends with an empty line. Other lines are passed over.
class EventReader {
 public:
  // The events that have come to their end with these bytes, in order.
  [[nodiscard]] std::vector<StreamEvent> feed(std::string_view bytes);

 private:
  std::string line_;  // as far as it has come
  StreamEvent event_;
};

}  // namespace sallyport
