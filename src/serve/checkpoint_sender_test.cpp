#include "serve/checkpoint_sender.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "http/loopback_fixture.h"

namespace sallyport {
namespace {

TEST(CheckpointSender, RefusesWhatItCannotDial) {
  EXPECT_FALSE(CheckpointSender::open("https://example.com/"));
  EXPECT_FALSE(CheckpointSender::open("nonsense"));
}

TEST(CheckpointSender, NeverWaitsForACollectorThatIsAway) {
  const auto sender = CheckpointSender::open("http://127.0.0.1:9/");
  ASSERT_TRUE(sender);
  for (int i = 0; i < 5000; ++i)
    (*sender)->send("acme", std::to_string(i));
}

}  // namespace
}  // namespace sallyport
