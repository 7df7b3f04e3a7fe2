#include "tool/file_order.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

TEST(FileOrder, ReadsBackAsItWasWritten) {
  FileOrder order;
  order.path = "a\"b\n";
  order.offset = 7;
  order.length = 9;
  order.content = "x\ny";
  order.append = true;
  order.recursive = true;
  order.max_answer = 1234;
  order.places = {{.inside = "/data", .names = "**/*.csv"}, {.inside = "/out", .names = ""}};
  const auto read = parse_file_order(to_text(order));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_text(*read), to_text(order));
  EXPECT_EQ(read->path, order.path);
  EXPECT_EQ(read->length, order.length);
  EXPECT_EQ(read->places[0].names, "**/*.csv");
  EXPECT_FALSE(parse_file_order(to_text(FileOrder()))->length);
}

TEST(FileOrder, IsRefusedWhenItIsNone) {
  for (const char* text : {"", "{}", "[]", "null", R"({"places":{}})", R"({"places":[1]})",
                           R"({"places":[],"places":[]})"})
    EXPECT_FALSE(parse_file_order(text)) << text;
}

TEST(FileOrder, NamesItsActions) {
  for (const FileAction action : {FileAction::read, FileAction::write, FileAction::list})
    EXPECT_EQ(file_action(name_of(action)), action);
  EXPECT_FALSE(file_action("remove"));
}

}  // namespace
}  // namespace sallyport
