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
  order.old_text = "old\n";
  order.new_text = "new";
  order.all = true;
  order.recursive = true;
  order.pattern = "a+";
  order.regex = true;
  order.ignore_case = true;
  order.names = "*.py";
  order.context = 3;
  order.denied = {"/**/.ssh/**", "/x"};
  order.max_answer = 1234;
  order.places = {{.inside = "/data", .names = "**/*.csv", .host = "/srv/data"},
                  {.inside = "/out", .names = ""}};
  const auto read = parse_file_order(to_text(order));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_text(*read), to_text(order));
  EXPECT_EQ(read->path, order.path);
  EXPECT_EQ(read->length, order.length);
  EXPECT_EQ(read->places[0].names, "**/*.csv");
  EXPECT_EQ(read->places[0].host, "/srv/data");
  EXPECT_EQ(read->old_text, "old\n");
  EXPECT_EQ(read->new_text, "new");
  EXPECT_TRUE(read->all && read->regex && read->ignore_case);
  EXPECT_EQ(read->pattern, "a+");
  EXPECT_EQ(read->names, "*.py");
  EXPECT_EQ(read->context, 3U);
  EXPECT_EQ(read->denied, order.denied);
  EXPECT_FALSE(parse_file_order(to_text(FileOrder()))->length);
}

TEST(FileOrder, IsRefusedWhenItIsNone) {
  for (const char* text : {"", "{}", "[]", "null", R"({"places":{}})", R"({"places":[1]})",
                           R"({"places":[],"places":[]})", R"({"places":[],"denied":"/x"})",
                           R"({"places":[],"denied":[1]})"})
    EXPECT_FALSE(parse_file_order(text)) << text;
}

TEST(FileOrder, NamesItsActions) {
  for (const FileAction action : {FileAction::read, FileAction::write, FileAction::edit,
                                  FileAction::list, FileAction::search})
    EXPECT_EQ(file_action(name_of(action)), action);
  EXPECT_FALSE(file_action("remove"));
}

}  // namespace
}  // namespace sallyport
