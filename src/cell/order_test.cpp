#include "cell/order.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sallyport {
namespace {

std::vector<std::string> words_of(const char* const* list) {
  std::vector<std::string> words;
  for (; *list != nullptr; ++list)
    words.emplace_back(*list);
  return words;
}

CommandLine command() {
  return {.executables = {"/usr/bin/a", "/bin/a"},
          .argv = {"a", "", "two words"},
          .environment = {"A=1", "B="}};
}

TEST(OrderSpaces, HoldAnOrderAsExecveTakesIt) {
  auto space = OrderSpace::make();
  ASSERT_TRUE(space);
  EXPECT_EQ(space->order().argv, nullptr);
  ASSERT_TRUE(space->put(command()));
  EXPECT_EQ(words_of(space->order().executables), command().executables);
  EXPECT_EQ(words_of(space->order().argv), command().argv);
  EXPECT_EQ(words_of(space->order().envp), command().environment);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(space->order().envp) % alignof(char*), 0U);
}

TEST(OrderSpaces, ShowAChildWhatIsPutLater) {
  auto space = OrderSpace::make();
  ASSERT_TRUE(space);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    char byte = 0;
    if (::read(ends[0], &byte, 1) != 1) ::_exit(2);
    ::_exit(words_of(space->order().argv) == command().argv ? 0 : 1);
  }
  ::close(ends[0]);
  ASSERT_TRUE(space->put(command()));
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  ::close(ends[1]);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(OrderSpaces, HoldWhatTheKernelTakesAndRefuseMore) {
  auto space = OrderSpace::make();
  ASSERT_TRUE(space);
  CommandLine large = command();
  large.argv.assign(32, std::string(1 << 15, 'x'));
  large.environment.assign(32, std::string(1 << 15, 'y'));
  EXPECT_TRUE(space->put(large));
  EXPECT_EQ(words_of(space->order().envp), large.environment);
  large.argv.assign(5, std::string(1 << 20, 'x'));
  EXPECT_FALSE(space->put(large));
  large = command();
  large.environment.assign(1 << 20, "");
  EXPECT_FALSE(space->put(large)) << "pointers count, too";
}

TEST(OrderSpaces, MoveWithTheirOrder) {
  auto space = OrderSpace::make();
  ASSERT_TRUE(space);
  ASSERT_TRUE(space->put(command()));
  const Order* const place = &space->order();
  OrderSpace moved(std::move(*space));
  EXPECT_EQ(&moved.order(), place) << "init has it at this address";
  EXPECT_EQ(words_of(moved.order().argv), command().argv);
}

// Whether any byte of the space, from its board on, is one of `word`.
bool shows(const OrderSpace& space, std::string_view word) {
  const std::string_view bytes(reinterpret_cast<const char*>(&space.board()), 32 << 10);
  return bytes.contains(word);
}

TEST(OrderSpaces, AreKeptForTheNextCellWithNothingInThem) {
  auto first = OrderSpace::make();
  ASSERT_TRUE(first);
  const Board* const place = &first->board();
  CommandLine secret = command();
  secret.environment.emplace_back("TOKEN=" + std::string(20 << 10, 's'));
  ASSERT_TRUE(first->put(secret));
  ASSERT_TRUE(first->put(command())) << "a shorter one, behind which there is still the first";
  first->board().tool_status = 7;
  ASSERT_TRUE(shows(*first, "sss"));
  OrderSpace::keep(std::move(*first));

  auto second = OrderSpace::make();
  ASSERT_TRUE(second);
  EXPECT_EQ(&second->board(), place);
  EXPECT_EQ(second->board().tool_status, 0);
  EXPECT_EQ(second->order().argv, nullptr);
  for (const char* word : {"sss", "two words", "A=1", "TOKEN"})
    EXPECT_FALSE(shows(*second, word)) << word;
}

TEST(OrderSpaces, AreNotKeptWhileThereIsAnother) {
  auto first = OrderSpace::make();
  auto second = OrderSpace::make();
  ASSERT_TRUE(first && second);
  Board* const place = &first->board();
  unsigned char there = 0;
  ASSERT_EQ(::mincore(place, 1, &there), 0);
  OrderSpace::keep(std::move(*first));
  EXPECT_NE(::mincore(place, 1, &there), 0);
}

TEST(OrderSpaces, AreNotSharedWithAChildThatMakesCells) {
  auto space = OrderSpace::make();
  ASSERT_TRUE(space);
  OrderSpace::keep(std::move(*space));
  const pid_t child = ::fork();
  if (child == 0) {
    auto own = OrderSpace::make();
    if (own) own->board().tool_status = 9;
    ::_exit(own ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const auto ours = OrderSpace::make();
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->board().tool_status, 0);
}

}  // namespace
}  // namespace sallyport
