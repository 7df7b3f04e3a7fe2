#include "policy/yaml.h"

#include <gtest/gtest.h>

#include "policy/problem_rows.h"

namespace sallyport {
namespace {

TEST(Yaml, WhatReadersOfYamlDisagreeAboutIsRefusedWithItsPlace) {
  constexpr ProblemRow kRows[] = {
      {"", "f:1:1: the file is empty (`sallyport policy init` prints one to start from)"},
      {"# c\n", "f:1:1: the file is empty (`sallyport policy init` prints one to start from)"},
      {"version: 2\n",
       "f:1:10: version: this is version 2 of the format (this program reads version 1)"},
      {"roles: {}\n",
       "f:1:1: version: the key 'version' is missing (it says: The version of the format, which is "
       "1.)"},
      {kVersion "rolls: {}\n",
       "f:2:1: rolls: there is no key 'rolls' here (did you mean 'roles'?)"},
      {kVersion "roles:\n  a: [x]\n  a: [y]\n",
       "f:4:3: the key 'a' is given twice (give each key once)"},
      {kTool "description: a: b\n",
       "f:6:19: there is a second ': ' on this line (quote the value, or write the inner mapping "
       "in braces)"},
      {kTool R"(description: "a)"
             "\n",
       "f:6:19: the quote that opens here is never closed (close it)"},
      {kTool "description: 'x\n", "f:6:19: the quote that opens here is never closed (close it)"},
      {kTool R"(args: {"a b": {type: string}})"
             "\n",
       "f:6:12: tools.t.args.a b: 'a b' holds a character that no such name has (write letters, "
       "digits, '_' and '-', at most 64, beginning with a letter or '_')"},
      {kTool "network: {allow: [*.x.y]}\n",
       R"(f:6:23: the bare '*' makes an alias of '*.x.y', which is not taken here (quote this: "*.x.y"))"},
      {kTool "environment: {A B: c}\n",
       "f:6:19: tools.t.environment.A B: 'A B' holds a character that no such name has (write "
       "letters, digits and '_', beginning with a letter or '_')"},
      {kVersion "ceiling: {files: {deny: [**/.ssh]}}\n",
       R"(f:2:26: the bare '*' makes an alias of '**/.ssh', which is not taken here (quote this: "**/.ssh"))"},
      {kVersion "a: *base\n",
       R"(f:2:4: the bare '*' makes an alias of '*base', which is not taken here (write the value out where it is used, or quote this: "*base"))"},
      {kVersion "a: &x 1\n",
       "f:2:4: an anchor (&) is not taken here (write the value out where it is used, or quote a "
       "text that begins with '&')"},
      {kVersion "a: !t 1\n",
       "f:2:4: a tag (!) is not taken here (write the value without it, or quote a text that "
       "begins with '!')"},
      {kVersion "<<: {}\n", "f:2:1: the merge key '<<' is not taken here (write the keys out)"},
      {kVersion "---\nversion: 1\n",
       "f:2:1: a second document begins here (write one document to a file)"},
      {"%YAML 1.1\n---\nversion: 1\n",
       "f:1:1: the file has a %-directive (take the line that begins with '%' out)"},
      {kVersion "? [a]\n: b\n",
       "f:2:3: a key must be a name, and this is a list or a mapping (write 'key: value')"},
      {kVersion "\troles: {}\n", "f:2:1: a tab indents this line (indent with spaces)"},
      {kVersion "roles:\n\ta: [b]\n", "f:3:1: a tab indents this line (indent with spaces)"},
      {kVersion "a: \x01\n",
       R"(f:2:4: the character '\x01' cannot be seen in an editor (take it out, or write it as "\uNNNN" in double quotes))"},
      {kVersion "a: \u202e\n",
       R"(f:2:4: the character '\u{202e}' cannot be seen in an editor (take it out, or write it as "\uNNNN" in double quotes))"},
      {"\ufeffversion: 1\n",
       R"(f:1:1: the character '\u{feff}' cannot be seen in an editor (take it out, or write it as "\uNNNN" in double quotes))"},
      {kVersion "a: {b: c\n",
       "f:3:1: the bracket or brace that was opened here or above is not closed (write ',' between "
       "values and close every '[' and '{')"},
      {kVersion "a: *\n",
       R"(f:2:5: a bare '*' begins an alias, which is not taken here (quote this: "*"))"},
      {kVersion "a: `x`\n",
       "f:2:4: a bare value cannot begin with this character (quote the value)"},
      {"- a\n",
       "f:1:1: a mapping is wanted here, and this is a list (write keys and values, as in {key: "
       "value})"},
      {"x\n",
       "f:1:1: a mapping is wanted here, and this is a single value (write keys and values, as in "
       "{key: value})"},
      {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
       "f:1:33: lists and mappings are nested deeper than 32 (nest them less)"},
      {kVersion "a: %x\n",
       "f:2:4: a bare value cannot begin with this character (quote the value)"},
      {kVersion "a: @x\n",
       "f:2:4: a bare value cannot begin with this character (quote the value)"},
      {kTool "needs: []\n", "f:6:5: the key 'needs' is given twice (give each key once)"},
  };
  expect_problems(kRows);
}

TEST(Yaml, MapsListsAndScalarsBecomeATreeWithTheirPlaces) {
  const auto root = parse_yaml("a: [1, 'x']\nb:\n  c: |\n    two\n    lines\n", "f");
  ASSERT_TRUE(root);
  ASSERT_EQ(root->kind, Node::Kind::map);
  ASSERT_EQ(root->entries.size(), 2u);
  const Node& list = root->entries[0].value;
  ASSERT_EQ(list.kind, Node::Kind::list);
  ASSERT_EQ(list.items.size(), 2u);
  EXPECT_EQ(list.items[0].text, "1");
  EXPECT_FALSE(list.items[0].quoted);
  EXPECT_EQ(list.items[1].text, "x");
  EXPECT_TRUE(list.items[1].quoted);
  EXPECT_EQ(list.items[1].place.line, 1u);
  EXPECT_EQ(list.items[1].place.column, 8u);
  const Node* block = root->find("b")->find("c");
  ASSERT_TRUE(block);
  EXPECT_EQ(block->text, "two\nlines\n");
  EXPECT_TRUE(block->quoted);
}

TEST(Yaml, JsonIsYaml) {
  const auto root = parse_yaml(R"({"a": [true, 1.5, "x"], "b": {"c": {}}})", "f");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->find("a")->items.size(), 3u);
  EXPECT_EQ(root->find("b")->find("c")->kind, Node::Kind::map);
}

TEST(Yaml, SeveralMistakesThatAreNotOfTheSyntaxAreFoundAtOnce) {
  const auto root = parse_yaml("a: &x 1\nb: !t 2\na: 3\nc: *.com\n", "f");
  ASSERT_FALSE(root);
  std::vector<unsigned> lines;
  for (const PolicyProblem& problem : root.error())
    lines.push_back(problem.line);
  EXPECT_EQ(lines, (std::vector<unsigned>{1, 2, 3, 4}));
}

// An alias within an alias, a hundred levels deep, is a tree of 2^100 values to a reader that
// follows them.
TEST(Yaml, AliasesAreNeverFollowed) {
  std::string bomb = "a0: &a0 [x]\n";
  for (int i = 1; i < 40; ++i) {
    const std::string last = std::to_string(i - 1), now = std::to_string(i);
    bomb += "a" + now + ": &a" + now + " [*a" + last + ", *a" + last + "]\n";
  }
  EXPECT_FALSE(parse_yaml(bomb, "f"));
}

TEST(Yaml, HostileSizesAreRefused) {
  EXPECT_FALSE(parse_yaml(std::string(kLargestPolicy + 1, '#'), "f"));
  EXPECT_FALSE(parse_yaml(std::string(kLargestPolicy, '['), "f"));
  EXPECT_FALSE(parse_yaml(std::string(kLargestPolicy, '{'), "f"));
  EXPECT_FALSE(parse_yaml("[" + std::string(kLargestPolicy - 2, ',') + "]", "f"));
  std::string values = "[a";
  for (std::size_t i = 0; i < kMostPolicyValues; ++i)
    values += ",a";
  const auto many = parse_yaml(values + "]", "f");
  ASSERT_FALSE(many);
  EXPECT_NE(many.error()[0].message.find("values"), std::string::npos);
  std::string deep;
  for (int i = 0; i < 100; ++i)
    deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_FALSE(parse_yaml(deep, "f"));
}

TEST(Yaml, BytesThatAreNotUtf8AreRefusedWithTheirPlace) {
  const auto root = parse_yaml("a: 1\nb: \xff\n", "f");
  ASSERT_FALSE(root);
  EXPECT_EQ(to_text(root.error()[0]),
            "f:2:4: the bytes '\\xff' are not UTF-8 (write the file in UTF-8)");
  EXPECT_FALSE(parse_yaml(std::string_view("a: \0b\n", 6), "f"));
  EXPECT_FALSE(parse_yaml("a: 1\rb: 2\n", "f"));
  EXPECT_TRUE(parse_yaml("a: 1\r\nb: 2\r\n", "f"));
}

TEST(Yaml, NothingIsPrinted) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  for (const char* text :
       {"a: [", "a: b: c", "\t", "%TAG ! x\n---\n", "a: \"\\q\"", "*", "- a\nb: c"})
    EXPECT_FALSE(parse_yaml(text, "f")) << text;
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

}  // namespace
}  // namespace sallyport
