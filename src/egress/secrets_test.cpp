#include "egress/secrets.h"

#include <gmock/gmock.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

namespace sallyport {
namespace {

class ResetLink final : public Link {
 public:
  Task<std::size_t> read(std::span<char>) override { co_return 0; }
  Task<bool> write(std::string_view) override { co_return false; }
  Task<void> finish() override { co_return; }
  void close() override {}
  void reset() override { was_reset = true; }
  [[nodiscard]] bool failed() const override { return was_reset; }
  bool was_reset = false;
};

class HeldSecrets : public testing::Test {
 protected:
  void tell(const char* name, const char* value, const char* why = "") {
    secrets_.take({.name = name, .value = value, .why = why});
  }
  boost::asio::io_context io_;
  Secrets secrets_;
};

TEST_F(HeldSecrets, AreWhatTheLastNewsSay) {
  EXPECT_EQ(secrets_.value_of("a"), "");
  EXPECT_EQ(secrets_.why_not("a"), "nothing is known about it yet");
  tell("a", "one");
  EXPECT_EQ(secrets_.value_of("a"), "one");
  tell("a", "two");
  EXPECT_EQ(secrets_.value_of("a"), "two");
  tell("a", "", "it was revoked");
  EXPECT_EQ(secrets_.value_of("a"), "");
  EXPECT_EQ(secrets_.why_not("a"), "it was revoked");
}

TEST_F(HeldSecrets, WhatGoesOnWithOneThatIsTakenBackIsReset) {
  tell("a", "1");
  tell("b", "2");
  ResetLink with_a, with_both, with_neither;
  const Secrets::Watch first(secrets_, "a", with_a), second(secrets_, "a, b", with_both),
      third(secrets_, "", with_neither);
  {
    const Secrets::Watch gone(secrets_, "b", with_neither);
  }
  tell("a", "rotated");
  EXPECT_FALSE(with_a.was_reset || with_both.was_reset);
  tell("b", "", "it was revoked");
  EXPECT_TRUE(with_both.was_reset);
  EXPECT_FALSE(with_a.was_reset || with_neither.was_reset);
}

TEST_F(HeldSecrets, AreWaitedForByACellThatIsEarly) {
  bool came = false;
  const std::vector<std::string> names = {"a", "b"};
  boost::asio::co_spawn(
      io_,
      [&]() -> Task<void> {
        co_await secrets_.wait_for(names);
        came = secrets_.value_of("a") == "1" && secrets_.why_not("b") == "it is not there";
      },
      boost::asio::detached);
  boost::asio::post(io_, [&] {
    tell("a", "1");
    tell("b", "", "it is not there");
  });
  io_.run();
  EXPECT_TRUE(came);
}

}  // namespace
}  // namespace sallyport
