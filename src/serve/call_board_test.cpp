#include "serve/call_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "base/json.h"

namespace sallyport {
namespace {

using std::chrono::steady_clock;
using testing::HasSubstr;

// A reader that keeps what it gets, up to a number of pieces.
class Reader final : public HttpStream {
 public:
  explicit Reader(std::size_t most = 1000) : most_(most) {}
  bool write(std::string_view piece) override {
    if (pieces.size() >= most_) return false;
    pieces.emplace_back(piece);
    return true;
  }
  void close() override { closed = true; }
  std::vector<std::string> pieces;
  bool closed = false;

 private:
  std::size_t most_;
};

CallResult result_of(std::string output) {
  CallResult result;
  result.output = std::move(output);
  return result;
}

bool is_readable(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 1;
}

TEST(ServedCall, TellsItsReadersWhatComesAndThenTheResult) {
  ServedCall call("id", "acme", "vera", "python");
  const auto reader = std::make_shared<Reader>();
  (void)call.follow(reader, 0);
  call.add_output("stdout", "hello\n");
  call.add_output("stderr", "oh");
  EXPECT_FALSE(reader->closed);
  call.end(result_of("hello\n"));
  ASSERT_EQ(reader->pieces.size(), 3U);
  EXPECT_EQ(reader->pieces[0], "id: 1\nevent: stdout\ndata: {\"text\":\"hello\\n\"}\n\n");
  EXPECT_THAT(reader->pieces[1], HasSubstr("event: stderr"));
  EXPECT_THAT(reader->pieces[2], HasSubstr("id: 3\nevent: result\ndata: {"));
  EXPECT_TRUE(reader->closed);
}

TEST(ServedCall, CanBeFollowedAgainFromAnyEvent) {
  ServedCall call("id", "acme", "vera", "python");
  for (const char* text : {"a", "b", "c"})
    call.add_output("stdout", text);
  const auto early = std::make_shared<Reader>();
  (void)call.follow(early, 2);
  ASSERT_EQ(early->pieces.size(), 1U);
  EXPECT_THAT(early->pieces[0], HasSubstr("\"c\""));
  call.end(result_of("abc"));
  EXPECT_TRUE(early->closed);
  for (std::uint64_t after = 0; after <= 9; ++after) {
    const auto late = std::make_shared<Reader>();
    (void)call.follow(late, after);
    EXPECT_EQ(late->pieces.size(), after < 4 ? 4 - after : 1) << after;
    EXPECT_TRUE(late->closed);
  }
}

TEST(ServedCall, ThatNobodyFollowedStillTellsItsResult) {
  ServedCall call("id", "acme", "vera", "python");
  call.end(result_of("x"));
  const auto late = std::make_shared<Reader>();
  (void)call.follow(late, 0);
  ASSERT_EQ(late->pieces.size(), 1U);
  EXPECT_THAT(late->pieces[0], HasSubstr("event: result"));
}

TEST(ServedCall, NeverCutsACharacter) {
  const std::string text = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    ServedCall call("id", "acme", "vera", "python");
    const auto reader = std::make_shared<Reader>();
    (void)call.follow(reader, 0);
    call.add_output("stdout", text.substr(0, cut));
    call.add_output("stdout", text.substr(cut));
    call.end(result_of(text));
    std::string all;
    for (const std::string& piece : reader->pieces)
      if (piece.contains("event: stdout")) {
        const std::size_t data = piece.find("data: ") + 6;
        all += json::parse(piece.substr(data, piece.size() - data - 2)).at("text").as_string();
      }
    EXPECT_EQ(all, text) << cut;
  }
}

TEST(ServedCall, SendsBytesThatAreNoCharacterAtTheEndAtLeast) {
  ServedCall call("id", "acme", "vera", "python");
  const auto reader = std::make_shared<Reader>();
  (void)call.follow(reader, 0);
  call.add_output("stdout", "\xe2\x82");
  EXPECT_TRUE(reader->pieces.empty());
  call.end(result_of(""));
  EXPECT_THAT(reader->pieces.at(0), HasSubstr("\xEF\xBF\xBD"));
}

// What a tool writes must not be able to forge an event.
TEST(ServedCall, KeepsOutputWithinItsEvent) {
  ServedCall call("id", "acme", "vera", "python");
  const auto reader = std::make_shared<Reader>();
  (void)call.follow(reader, 0);
  call.add_output("stdout", "x\n\nevent: result\ndata: {\"status\":\"success\"}\n\n\r\rdata: y");
  const std::string& piece = reader->pieces.at(0);
  EXPECT_EQ(std::ranges::count(piece, '\n'), 4);
  EXPECT_EQ(std::ranges::count(piece, '\r'), 0);
}

TEST(ServedCall, LosesAReaderThatIsTooSlowAndNotTheOthers) {
  ServedCall call("id", "acme", "vera", "python");
  const auto slow = std::make_shared<Reader>(1), good = std::make_shared<Reader>();
  (void)call.follow(slow, 0);
  (void)call.follow(good, 0);
  for (int i = 0; i < 5; ++i)
    call.add_output("stdout", "x");
  call.end(result_of(""));
  EXPECT_EQ(slow->pieces.size(), 1U);
  EXPECT_EQ(good->pieces.size(), 6U);
}

TEST(ServedCall, TakesSixteenReadersAndNoMoreWhileItRuns) {
  ServedCall call("id", "acme", "vera", "python");
  for (int i = 0; i < 16; ++i)
    EXPECT_TRUE(call.follow(std::make_shared<Reader>(), 0));
  EXPECT_FALSE(call.follow(std::make_shared<Reader>(), 0));
  call.end(result_of(""));
  EXPECT_TRUE(call.follow(std::make_shared<Reader>(), 0));
}

TEST(ServedCall, CanBeCancelledUntilItHasEnded) {
  ServedCall call("id", "acme", "vera", "python");
  const int fd = call.cancel_descriptor();
  EXPECT_FALSE(is_readable(fd));
  call.cancel();
  EXPECT_TRUE(is_readable(fd));
  call.end(result_of(""));
  call.cancel();
}

TEST(ServedCall, EndsOnce) {
  ServedCall call("id", "acme", "vera", "python");
  const auto first = call.end(result_of("x"));
  EXPECT_EQ(call.end(result_of("y")), first);
  EXPECT_EQ(call.result(), first);
}

TEST(CallBoard, ShowsACallToItsTenantOnly) {
  CallBoard board;
  board.begin("id", "acme", "vera", "python");
  EXPECT_NE(board.find("id", "acme"), nullptr);
  EXPECT_EQ(board.find("id", "other"), nullptr);
  EXPECT_EQ(board.find("id", ""), nullptr);
  EXPECT_EQ(board.find("no", "acme"), nullptr);
}

TEST(CallBoard, KnowsTheLastOfTwoCallsWithOneId) {
  CallBoard board({.kept = std::chrono::seconds{60}, .calls = 1, .bytes = 1 << 20});
  const std::string id(40, 'x');
  board.begin(id, "acme", "vera", "python");
  const auto second = board.begin(id, "acme", "ed", "python");
  EXPECT_EQ(board.find(id, "acme"), second);
  second->end({});
  board.ended(second, steady_clock::now());
  const auto found = board.find(id, "acme");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->caller, "ed");
  EXPECT_EQ(found->result()->json, second->result()->json);
}

TEST(CallBoard, ShowsWhatHasEndedAsItWas) {
  CallBoard board;
  const auto plain = board.begin("plain", "acme", "vera", "python");
  plain->end(result_of("hello"));
  board.ended(plain, steady_clock::now());
  const auto found = board.find("plain", "acme");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->id, "plain");
  EXPECT_EQ(found->tenant, "acme");
  EXPECT_EQ(found->caller, "vera");
  EXPECT_EQ(found->tool, "python");
  EXPECT_EQ(found->result()->json, plain->result()->json);
  EXPECT_EQ(found->memory(), plain->memory());
  EXPECT_EQ(board.find("plain", "other"), nullptr);
  EXPECT_TRUE(board.running().empty());
  found->cancel();  // too late
  EXPECT_FALSE(found->is_cancelled());
  const auto reader = std::make_shared<Reader>();
  EXPECT_TRUE(found->follow(reader, 0));
  EXPECT_THAT(reader->pieces.at(0), HasSubstr("id: 1\nevent: result\ndata: {"));
  EXPECT_TRUE(reader->closed);

  // What was followed, and what left files, has more than its result.
  const auto followed = board.begin("followed", "acme", "vera", "python");
  followed->add_output("stdout", "x");
  followed->end(result_of("x"));
  board.ended(followed, steady_clock::now());
  EXPECT_EQ(board.find("followed", "acme"), followed);
  const auto left = board.begin("left", "acme", "vera", "python");
  CallResult result;
  result.collected["a.txt"] = "a";
  left->end(result);
  board.ended(left, steady_clock::now());
  EXPECT_EQ(board.find("left", "acme")->result()->collected.at("a.txt"), "a");
}

TEST(CallBoard, ForgetsTheOldestOfATenantAndNobodyElses) {
  CallBoard board({.kept = std::chrono::seconds{60}, .calls = 3, .bytes = 1 << 20});
  const auto now = steady_clock::now();
  const auto run = [&](const std::string& id, const std::string& tenant, std::size_t size) {
    const auto call = board.begin(id, tenant, "vera", "python");
    call->end(result_of(std::string(size, 'x')));
    board.ended(call, now);
  };
  run("other", "other", 10);
  for (const char* id : {"1", "2", "3", "4"})
    run(id, "acme", 10);
  EXPECT_EQ(board.find("1", "acme"), nullptr);
  EXPECT_NE(board.find("2", "acme"), nullptr);
  run("big", "acme", 1'047'000);  // fills the tenant's space
  EXPECT_EQ(board.find("4", "acme"), nullptr);
  EXPECT_NE(board.find("big", "acme"), nullptr);
  EXPECT_NE(board.find("other", "other"), nullptr);
  EXPECT_EQ(board.in_flight(), 0U);
}

TEST(CallBoard, ForgetsCallsAfterAWhile) {
  CallBoard board({.kept = std::chrono::seconds{60}, .calls = 100, .bytes = 1 << 20});
  const auto now = steady_clock::now();
  for (const auto& [id, when] : {std::pair("old", 0), std::pair("new", 61)}) {
    const auto call = board.begin(id, "acme", "vera", "python");
    call->end(result_of(""));
    board.ended(call, now + std::chrono::seconds{when});
  }
  EXPECT_EQ(board.find("old", "acme"), nullptr);
  EXPECT_NE(board.find("new", "acme"), nullptr);
}

// A result of many small parts takes far more memory as values than as text.
TEST(CallBoard, CountsStructuredResultsByTheirText) {
  CallBoard board({.kept = std::chrono::seconds{60}, .calls = 100, .bytes = 100'000});
  for (const char* id : {"1", "2", "3", "4"}) {
    const auto call = board.begin(id, "acme", "vera", "python");
    CallResult result;
    result.data = json::array(20'000, json::array());
    call->end(result);
    board.ended(call, steady_clock::now());
  }
  EXPECT_EQ(board.find("1", "acme"), nullptr);
  EXPECT_NE(board.find("4", "acme"), nullptr);
}

TEST(CallBoard, ForgetsCallsWithTimeAlone) {
  CallBoard board({.kept = std::chrono::seconds{60}, .calls = 100, .bytes = 1 << 20});
  const auto now = steady_clock::now();
  const auto call = board.begin("1", "acme", "vera", "python");
  call->end(result_of(""));
  board.ended(call, now);
  board.expire(now + std::chrono::seconds{59});
  EXPECT_NE(board.find("1", "acme"), nullptr);
  board.expire(now + std::chrono::seconds{61});
  EXPECT_EQ(board.find("1", "acme"), nullptr);
}

TEST(CallBoard, CancelsAllThatRun) {
  CallBoard board;
  const auto running = board.begin("r", "acme", "vera", "python");
  const auto ended = board.begin("e", "acme", "vera", "python");
  ended->end(result_of(""));
  board.cancel_all();
  EXPECT_TRUE(is_readable(running->cancel_descriptor()));
  EXPECT_EQ(board.running().size(), 1U);
}

TEST(ServedCall, MayBeFollowedCancelledAndFinishedAtTheSameTime) {
  for (int round = 0; round < 50; ++round) {
    ServedCall call("id", "acme", "vera", "python");
    std::vector<std::shared_ptr<Reader>> readers;
    for (int i = 0; i < 3; ++i)
      readers.push_back(std::make_shared<Reader>());
    std::vector<std::thread> threads;
    for (const auto& reader : readers)
      threads.emplace_back([&call, reader] { (void)call.follow(reader, 0); });
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i)
        call.add_output("stdout", "x");
      call.end(result_of(""));
    });
    threads.emplace_back([&] { call.cancel(); });
    for (std::thread& thread : threads)
      thread.join();
    for (const auto& reader : readers) {
      EXPECT_EQ(reader->pieces.size(), 11U);
      EXPECT_TRUE(reader->closed);
    }
  }
}

}  // namespace
}  // namespace sallyport
