#include "policy/tool_definitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/rules_fixture.h"

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Shop {
  Rules rules;
  Caller& viewer = make_viewer();
  Tool& list = make_list();
  Tool& erase = add_tool(rules, "erase", {"delete:data"});

  Caller& make_viewer() {
    add_role(rules, "viewer", {"read:data"});
    return add_caller(rules, "vera", "viewer");
  }
  Tool& make_list() {
    Tool& tool = add_tool(rules, "list_orders", {"read:data"});
    tool.description = "Lists orders.";
    tool.args = {argument("limit", R"({"type": "integer", "maximum": 500})"),
                 argument("shop", R"({"type": "string"})"),
                 argument("note", R"({"type": "string"})")};
    tool.args[0].fallback = 50;
    tool.args[2].optional = true;
    return tool;
  }
};

std::vector<std::string> names(const json::array& definitions) {
  std::vector<std::string> list;
  for (const json::value& each : definitions)
    list.emplace_back(each.at("name").as_string());
  return list;
}

TEST(ToolDefinitions, ACallerSeesOnlyWhatItMayCall) {
  const Shop shop;
  EXPECT_THAT(names(tool_definitions(shop.rules, &shop.viewer, DefinitionFormat::mcp)),
              ElementsAre("list_orders"));
  EXPECT_THAT(names(tool_definitions(shop.rules, nullptr, DefinitionFormat::mcp)),
              ElementsAre("erase", "list_orders"));
}

TEST(ToolDefinitions, ArgumentsAreOneClosedObjectSchema) {
  const Shop shop;
  const json::object schema = arguments_schema(shop.list);
  EXPECT_EQ(json::serialize(schema),
            R"({"type":"object","properties":{"limit":{"type":"integer","maximum":500,)"
            R"("default":50},"shop":{"type":"string"},"note":{"type":"string"}},)"
            R"("required":["shop"],"additionalProperties":false})");
  const auto compiled = Schema::compile(schema);
  ASSERT_TRUE(compiled);
  EXPECT_TRUE(compiled->accepts(json::object{{"shop", "a"}}));
  EXPECT_FALSE(compiled->accepts(json::object{{"shop", "a"}, {"other", 1}}));
  EXPECT_FALSE(compiled->accepts(json::object{}));
  EXPECT_TRUE(Schema::compile(arguments_schema(shop.erase))) << "no arguments at all";
}

TEST(ToolDefinitions, EachFormatHasItsOwnWords) {
  Shop shop;
  shop.list.args.clear();
  const auto one = [&](DefinitionFormat format) {
    return json::serialize(tool_definitions(shop.rules, &shop.viewer, format));
  };
  const std::string schema =
      R"({"type":"object","properties":{},"required":[],"additionalProperties":false})";
  EXPECT_EQ(one(DefinitionFormat::openai),
            R"([{"type":"function","function":{"name":"list_orders","description":)"
            R"("Lists orders.","parameters":)" +
                schema + "}}]");
  EXPECT_EQ(
      one(DefinitionFormat::anthropic),
      R"([{"name":"list_orders","description":"Lists orders.","input_schema":)" + schema + "}]");
  EXPECT_EQ(one(DefinitionFormat::mcp),
            R"([{"name":"list_orders","description":"Lists orders.","inputSchema":)" + schema +
                R"(,"annotations":{"readOnlyHint":true,"destructiveHint":false,)"
                R"("idempotentHint":true,"openWorldHint":false}}])");
}

TEST(ToolDefinitions, HintsSayNoMoreThanTheRulesEnforce) {
  const auto read_only = [](auto change) {
    Shop shop;
    change(shop.list);
    const json::object hints = mcp_annotations(shop.list);
    EXPECT_NE(hints.at("readOnlyHint"), hints.at("destructiveHint"));
    return hints.at("readOnlyHint").as_bool();
  };
  EXPECT_TRUE(read_only([](Tool&) {}));
  EXPECT_TRUE(read_only([](Tool& tool) { tool.files.read = {file_rule("/srv")}; }));
  EXPECT_FALSE(read_only([](Tool& tool) { tool.files.write = {file_rule("/srv")}; }));
  EXPECT_FALSE(read_only([](Tool& tool) { tool.irreversible = true; }));
  EXPECT_FALSE(read_only([](Tool& tool) { tool.kind = ToolKind::function; }));
  EXPECT_FALSE(read_only([](Tool& tool) { tool.kind = ToolKind::http; }));
  EXPECT_FALSE(read_only([](Tool& tool) { tool.credentials = {"pay"}; }));
  EXPECT_FALSE(read_only([](Tool& tool) { tool.share_network = true; }));
  EXPECT_FALSE(read_only(
      [](Tool& tool) { tool.network.allow.push_back({.host = host_pattern("a.example")}); }));

  Shop shop;
  EXPECT_EQ(mcp_annotations(shop.list).at("openWorldHint"), false);
  shop.list.network.allow.push_back({.host = host_pattern("a.example")});
  EXPECT_EQ(mcp_annotations(shop.list).at("openWorldHint"), true);
}

TEST(ToolDefinitions, TheToolsOfAServerBearItsName) {
  Shop shop;
  shop.erase.kind = ToolKind::mcp;
  shop.erase.mcp_tools = {"search", "get_file"};
  shop.rules.tools.erase("list_orders");
  EXPECT_THAT(names(tool_definitions(shop.rules, nullptr, DefinitionFormat::json)),
              ElementsAre("erase_search", "erase_get_file"));
}

TEST(ToolDefinitions, ModelsAreNotOfferedWhatIsAlwaysRefused) {
  constexpr DefinitionFormat kForModels[] = {DefinitionFormat::openai, DefinitionFormat::anthropic,
                                             DefinitionFormat::mcp};
  const auto offered = [&](auto change) {
    Shop shop;
    change(shop.erase);
    const auto all = tool_definitions(shop.rules, nullptr, DefinitionFormat::json);
    EXPECT_EQ(all.size(), 2U);
    for (const DefinitionFormat format : kForModels)
      EXPECT_EQ(tool_definitions(shop.rules, nullptr, format).size() == 2,
                all[0].at("unavailable").as_array().empty());
    return all[0].at("unavailable").as_array().empty();
  };
  EXPECT_TRUE(offered([](Tool&) {}));
  EXPECT_FALSE(offered([](Tool& tool) { tool.share_network = true; }));
  EXPECT_FALSE(offered([](Tool& tool) { tool.irreversible = true; }));
  EXPECT_FALSE(offered([](Tool& tool) { tool.approval.emplace(); }));
  // Some of its calls are refused: which ones, the arguments say.
  EXPECT_TRUE(offered([](Tool& tool) {
    tool.approval.emplace();
    tool.approval->when = *Schema::compile(json::object{});
  }));
}

TEST(ToolDefinitions, ADescriptionThatIsNotThereIsLeftOut) {
  Shop shop;
  shop.list.description.clear();
  for (const DefinitionFormat format : {DefinitionFormat::openai, DefinitionFormat::anthropic,
                                        DefinitionFormat::mcp, DefinitionFormat::json})
    EXPECT_EQ(
        json::serialize(tool_definitions(shop.rules, &shop.viewer, format)).find("description"),
        std::string::npos);
}

TEST(ToolDefinitions, NamesThatAFormatWouldRefuseAreNotOffered) {
  EXPECT_TRUE(is_portable_name("list-orders_2"));
  EXPECT_TRUE(is_portable_name(std::string(64, 'a')));
  EXPECT_FALSE(is_portable_name(std::string(65, 'a')));
  EXPECT_FALSE(is_portable_name(""));
  EXPECT_FALSE(is_portable_name("a.b"));
  EXPECT_FALSE(is_portable_name("a\nb"));
  EXPECT_FALSE(is_portable_name("ä"));
  Shop shop;
  shop.erase.kind = ToolKind::mcp;
  shop.erase.mcp_tools = {std::string(60, 'x'), "a/b"};
  shop.rules.tools.erase("list_orders");
  EXPECT_THAT(tool_definitions(shop.rules, nullptr, DefinitionFormat::json), IsEmpty());
}

}  // namespace
}  // namespace sallyport
