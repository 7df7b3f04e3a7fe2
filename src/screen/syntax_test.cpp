#include "screen/syntax.h"

#include <gtest/gtest.h>
#include <parse_memory.h>
#include <tree_sitter/api.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern "C" {
const TSLanguage* tree_sitter_python();
const TSLanguage* tree_sitter_javascript();
const TSLanguage* tree_sitter_bash();
}

namespace sallyport {
namespace {

std::string repeated(std::string_view part, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text.append(part);
  return text;
}

// A line for every node: how deep it is, where it is, whether it is named.
std::string lines_of(const SyntaxTree& tree) {
  std::string lines;
  std::vector<std::size_t> depths(tree.size());
  for (NodeId id = 0; id < tree.size(); ++id) {
    const SyntaxNode& node = tree[id];
    if (node.parent != kNoNode) depths[id] = depths[node.parent] + 1;
    lines += std::to_string(depths[id]) + " " + std::to_string(node.begin) + " " +
             std::to_string(node.end) + (node.named ? " named" : "") +
             (node.has_error ? " error\n" : "\n");
  }
  return lines;
}

// The same of tree-sitter's own parse and its own cursor.
std::string lines_of_library(const std::string& code, const TSLanguage* grammar) {
  TSParser* const parser = ts_parser_new();
  EXPECT_TRUE(ts_parser_set_language(parser, grammar));
  TSTree* const tree =
      ts_parser_parse_string(parser, nullptr, code.data(), static_cast<std::uint32_t>(code.size()));
  TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
  std::string lines;
  for (bool more = true; more;) {
    const TSNode node = ts_tree_cursor_current_node(&cursor);
    const bool comment = std::strcmp(ts_node_type(node), "comment") == 0;
    lines += std::to_string(ts_tree_cursor_current_depth(&cursor)) + " " +
             std::to_string(ts_node_start_byte(node)) + " " +
             std::to_string(ts_node_end_byte(node)) +
             (ts_node_is_named(node) && !comment ? " named" : "") +
             (ts_node_has_error(node) ? " error\n" : "\n");
    more = ts_tree_cursor_goto_first_child(&cursor);
    while (!more && !ts_tree_cursor_goto_next_sibling(&cursor))
      if (!ts_tree_cursor_goto_parent(&cursor)) break;
    more = more || ts_tree_cursor_current_depth(&cursor) > 0;
  }
  ts_tree_cursor_delete(&cursor);
  ts_tree_delete(tree);
  ts_parser_delete(parser);
  return lines;
}

void expect_same(const std::string& code, Language language, const TSLanguage* grammar) {
  const auto tree = SyntaxTree::parse(code, language);
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_EQ(lines_of(*tree), lines_of_library(code, grammar)) << code.substr(0, 200);
}

TEST(Syntax, TreesAreThoseOfTheLibrary) {
  // Lines and columns, other alphabets, a byte order mark, ends of lines, chunks, errors.
  for (const std::string& code :
       {std::string(""), std::string("\n"), std::string("x"), std::string("\xef\xbb\xbfx = 1\n"),
        std::string("if a:\r\n  b = '''x\r\n\r\ny'''\r\n\tc\r\n"),
        std::string("größe = 'é' + \"日本\"\nclass Größe:\n  ｘ: int = 1  # über\n"),
        std::string("a\0b", 3), std::string("\xff\xfe = 1"), std::string("f(x for x in y if z"),
        std::string("f\"{a!r:>{b}} {{c}}\" \\\n  'd'\n"), repeated("x = [1, 2]  # é\n", 2000),
        // Several ways to read it, comments at the ends of rules, keywords that are names.
        std::string("print(a), b\nprint >>c, d\nmatch = e[f]\nmatch (g, h):\n  case i: pass\n"),
        std::string("def f(a):  # b\n  # c\n  return a  # d\n# e\nasync = 1; type = exec = 2\n"),
        std::string("if a:\n      b\n    c\n  d\nx = (1,\n# e\n2)\nx = = 3\ny = 4 $ 5\n")})
    expect_same(code, Language::python, tree_sitter_python());
  for (const std::string& code :
       {std::string("let ñ = `a${b}\n${`c`}`; /* é */ x => ({y})"),
        std::string("const {a, b: [c]} = await d?.e(...f)\r\nif (g) /h[/]i/.test(j)\n"),
        std::string("class A { #b = 1; static async *c() { yield* d } }"),
        std::string("(a, {b, c: [d]}) => e; (a, {b, c: [d]}); async (f) => g; async (f); {h: i}"),
        std::string(
            "let get = of\nstatic = /* a */ async\n(b) // c\n{} /d/ (e) => {f}\na b c = = )"),
        repeated("f(1); // é\n", 2000)})
    expect_same(code, Language::javascript, tree_sitter_javascript());
  for (const std::string& code :
       {std::string("cat <<'E' | sort > \"$x\"\n é $y\nE\nfor i in *.c; do echo ${i%.c}; done\n"),
        std::string("a=(b \"c d\") ; [[ $e =~ ^f ]] && g $(h `i`) 2>&1\r\n"),
        std::string("if a # b\nthen c; fi # d\nf() { ((g++)); (h) }\ncase $i in (j|k) l;; esac\n"),
        std::string("cat <<A <<-B | c # d\n$e\nA\n\tf\n\tB\n${g[@]/#h/i} $((j<<2)) >k&\n) fi\n"),
        repeated("echo é \"$a\"\n", 2000)})
    expect_same(code, Language::shell, tree_sitter_bash());
}

TEST(Syntax, ThreadsParseAtOnce) {
  const std::string code = repeated("def f(a, b=1):\n    return a + b\n\n", 200);
  const auto alone = SyntaxTree::parse(code, Language::python);
  ASSERT_TRUE(alone);
  std::vector<std::string> lines(4);
  {
    std::vector<std::jthread> threads;
    for (std::string& mine : lines)
      threads.emplace_back([&] {
        for (int i = 0; i < 5; ++i)
          if (const auto tree = SyntaxTree::parse(code, Language::python)) mine = lines_of(*tree);
      });
  }
  EXPECT_EQ(lines, std::vector(lines.size(), lines_of(*alone)));
}

// A parse of its own: blocks come, grow and go.
void use_parse_memory() {
  parse_memory_begin();
  struct Block {
    char* bytes;
    std::size_t size;
    char mark;
  };
  std::vector<Block> blocks;
  const auto is_kept = [](const Block& block) {
    return std::all_of(block.bytes, block.bytes + block.size,
                       [&](char byte) { return byte == block.mark; });
  };
  std::uint32_t random = 1;
  for (int i = 0; i < 20'000; ++i) {
    random = random * 1664525 + 1013904223;
    const std::size_t size = (random >> 8) % (i % 500 == 0 ? 3'000'000 : i % 20 == 0 ? 5000 : 200);
    const std::size_t at = blocks.empty() ? 0 : (random >> 12) % blocks.size();
    const auto mark = static_cast<char>(i);
    if (i % 3 == 2) {
      ASSERT_TRUE(is_kept(blocks[at]));
      parse_free(blocks[at].bytes);
      blocks[at] = blocks.back();
      blocks.pop_back();
    } else if (i % 7 == 3) {
      Block& block = blocks[at];
      block.bytes = static_cast<char*>(parse_realloc(block.bytes, size));
      block.size = std::min(block.size, size);
      ASSERT_TRUE(is_kept(block));
    } else {
      blocks.push_back({static_cast<char*>(parse_malloc(size)), size, mark});
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(blocks.back().bytes) % 16, 0u);
      std::fill_n(blocks.back().bytes, size, mark);
    }
  }
  for (const Block& block : blocks)
    EXPECT_TRUE(is_kept(block));
  const auto* const zeros = static_cast<const char*>(parse_calloc(100, 3));
  EXPECT_TRUE(std::all_of(zeros, zeros + 300, [](char byte) { return byte == 0; }));
  parse_memory_end();
}

TEST(ParseMemory, ItIsUsedAgainAsIfItWereNew) {
  const auto parse = [](char mark) {
    parse_memory_begin();
    std::vector<char*> blocks;
    for (const std::size_t size : {40'000, 100, 60'000, 5'000'000, 40'000}) {
      blocks.push_back(static_cast<char*>(parse_calloc(1, size)));
      EXPECT_TRUE(
          std::all_of(blocks.back(), blocks.back() + size, [](char byte) { return byte == 0; }));
      std::fill_n(blocks.back(), size, mark);
    }
    parse_free(blocks[1]);
    parse_memory_end();
    return blocks.front();
  };
  const char* const first = parse('a');
  EXPECT_EQ(first, parse('b'));
  // More at the same time than are kept.
  std::vector<std::jthread> threads;
  threads.reserve(20);
  for (int i = 0; i < 20; ++i)
    threads.emplace_back([&] {
      for (char mark = 'c'; mark < 'z'; ++mark)
        parse(mark);
    });
}

TEST(ParseMemory, BlocksKeepWhatIsInThem) {
  use_parse_memory();
}

// The pieces of one parse are those of the next, whatever is left in them.
TEST(ParseMemory, IsAsGoodWhenItIsUsedAgain) {
  for (int round = 0; round < 3; ++round)
    use_parse_memory();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back(use_parse_memory);
}

TEST(ParseMemory, OutsideOfAParseItIsThatOfTheProgram) {
  auto* block = static_cast<char*>(parse_calloc(1, 8));
  std::memcpy(block, "kept", 5);
  block = static_cast<char*>(parse_realloc(block, 100'000));
  EXPECT_STREQ(block, "kept");
  parse_free(block);
  parse_free(nullptr);
}

}  // namespace
}  // namespace sallyport
