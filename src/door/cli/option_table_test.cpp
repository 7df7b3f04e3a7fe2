#include "door/cli/option_table.h"

#include <gtest/gtest.h>

namespace sallyport {
namespace {

// A command other than `run`: the table is for all of them.
struct ShipRequest {
  int knots = 7;
  std::vector<std::string> cargo;
  bool help = false;
};

constexpr Option<ShipRequest> kShipOptions[] = {
    {"knots", "NUMBER", "Sailing", "How fast.",
     [](ShipRequest& request, std::string_view text) -> Result<void> {
       if (text == "99") return fail(Reason::argument, "that is too fast", "write 7");
       request.knots = text[0] - '0';
       return {};
     },
     [](const ShipRequest& request) { return std::to_string(request.knots); }},
    {"cargo", "NAME", "Loading", "What is on board.",
     [](ShipRequest& request, std::string_view text) -> Result<void> {
       request.cargo.emplace_back(text);
       return {};
     },
     nullptr, Times::many},
    {"help", "", "Loading", "Print this.",
     [](ShipRequest& request, std::string_view) -> Result<void> {
       request.help = true;
       return {};
     }},
};

TEST(OptionTable, AppliesRowsInOrderAndLeavesTheRest) {
  ShipRequest request;
  const char* const words[] = {"--cargo", "tea", "--knots=3", "--cargo", "silk", "--", "--cargo"};
  const auto parsed = parse_options<ShipRequest>(kShipOptions, words, request);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(request.knots, 3);
  EXPECT_EQ(request.cargo, (std::vector<std::string>{"tea", "silk"}));
  ASSERT_EQ(parsed->rest.size(), 1u);
  EXPECT_STREQ(parsed->rest[0], "--cargo");
  EXPECT_TRUE(parsed->has("knots"));
  EXPECT_FALSE(parsed->has("help"));
}

TEST(OptionTable, AnErrorOfARowGetsTheNameOfItsOption) {
  ShipRequest request;
  const char* const words[] = {"--knots", "99"};
  const auto parsed = parse_options<ShipRequest>(kShipOptions, words, request);
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().message, "--knots: that is too fast");
  EXPECT_EQ(parsed.error().hint, "write 7");
}

TEST(OptionTable, HelpIsMadeFromTheRows) {
  EXPECT_EQ(options_help<ShipRequest>(kShipOptions, ShipRequest{}),
            "Sailing\n"
            "  --knots NUMBER            How fast. [7]\n"
            "\n"
            "Loading\n"
            "  --cargo NAME              What is on board. Repeatable.\n"
            "  --help                    Print this.\n");
}

TEST(OptionTable, LongTextIsWrappedAtSpacesAndALongNameGetsItsOwnLine) {
  EXPECT_EQ(wrapped("aa bb cc", 2, 7), "  aa bb\n  cc\n");
  EXPECT_EQ(wrapped("aa unbreakable cc", 0, 5), "aa\nunbreakable\ncc\n");
  EXPECT_EQ(wrapped("", 0, 5), "\n");
  EXPECT_EQ(help_row("--a-name-as-long-as-a-line", "Text."),
            "  --a-name-as-long-as-a-line\n" + std::string(28, ' ') + "Text.\n");
}

}  // namespace
}  // namespace sallyport
