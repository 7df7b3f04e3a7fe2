#include "door/cli/event_stream.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

constexpr std::string_view kStream =
    "event: call\ndata: {\"call_id\":\"a\"}\n\n"
    ": a comment\n\n"
    "id: 1\nevent: stdout\ndata: {\"text\":\"event: result\\n\\n\"}\n\n"
    "id: 2\nevent: result\ndata: {}\n\n"
    "event: cut off\ndata: {";

std::string told(const std::vector<StreamEvent>& events) {
  std::string text;
  for (const StreamEvent& event : events)
    text.append(event.name).append("=").append(event.data).append(";");
  return text;
}

constexpr std::string_view kTold =
    "call={\"call_id\":\"a\"};stdout={\"text\":\"event: result\\n\\n\"};result={};";

TEST(EventReader, GivesWholeEvents) {
  EXPECT_EQ(told(EventReader().feed(kStream)), kTold);
}

TEST(EventReader, WhereThePiecesEndDoesNotMatter) {
  for (std::size_t first = 0; first <= kStream.size(); ++first)
    for (std::size_t second = first; second <= kStream.size(); ++second) {
      EventReader reader;
      std::string text = told(reader.feed(kStream.substr(0, first)));
      text += told(reader.feed(kStream.substr(first, second - first)));
      text += told(reader.feed(kStream.substr(second)));
      ASSERT_EQ(text, kTold) << first << " " << second;
    }
}

}  // namespace
}  // namespace sallyport
