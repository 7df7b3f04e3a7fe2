#include "serve/call_body.h"

#include <gtest/gtest.h>

#include "input/schema.h"

namespace sallyport {
namespace {

TEST(CallBody, IsReadInWhole) {
  const auto request = parse_call_body(
      R"({"arguments": {"a": 1}, "stdin": "in", "collect": ["out/*"], "dry_run": true,
          "files": [{"path": "a.txt", "content": "x"}, {"path": "b", "base64": "AAE="}],
          "limits": {"timeout": "5s", "processes": 4}, "idempotency_key": "k"})");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->arguments.at("a"), 1);
  EXPECT_EQ(request->input, "in");
  EXPECT_EQ(request->collect, std::vector<std::string>{"out/*"});
  EXPECT_TRUE(request->dry_run);
  ASSERT_EQ(request->files.size(), 2U);
  EXPECT_EQ(request->files[0].content, "x");
  EXPECT_EQ(request->files[1].content, std::string("\0\1", 2));
  EXPECT_EQ(request->limits.at("timeout"), "5s");
  EXPECT_EQ(request->limits.at("processes"), "4");
  EXPECT_EQ(request->idempotency_key, "k");
}

TEST(CallBody, MayBeEmpty) {
  EXPECT_TRUE(parse_call_body(""));
  EXPECT_TRUE(parse_call_body("{}"));
}

// Who calls, and from where, is never for the body to say.
TEST(CallBody, RefusesWhatItDoesNotKnow) {
  for (const char* body : {R"({"caller": "root"})",
                           R"({"call_id": "0"})",
                           R"({"address": "::1"})",
                           R"({"scopes": []})",
                           R"({"output_directory": "/etc"})",
                           R"({"key_id": "a"})",
                           R"({"tool": "x"})",
                           R"x({"code": "print(1)"})x",
                           R"({"arguments": [], "x": 1})",
                           R"({"arguments": 1})",
                           R"({"arguments": {}, "arguments": {}})",
                           R"({"stdin": 1})",
                           R"({"files": {}})",
                           R"({"files": [1]})",
                           R"({"files": [{"path": "a"}]})",
                           R"({"files": [{"content": "a"}]})",
                           R"({"files": [{"path": "a", "content": "b", "base64": "AA=="}]})",
                           R"({"files": [{"path": "a", "base64": "A"}]})",
                           R"({"files": [{"path": "a", "mode": 1}]})",
                           R"({"collect": "a"})",
                           R"({"collect": [1]})",
                           R"({"limits": []})",
                           R"({"limits": {"timeout": null}})",
                           R"({"dry_run": "yes"})",
                           R"({"dry_run": 1})",
                           "[]",
                           "null",
                           "{",
                           "{} {}",
                           "\xff"})
    EXPECT_FALSE(parse_call_body(body)) << body;
}

TEST(CallBody, HintsAtTheKeyThatWasMeant) {
  const auto request = parse_call_body(R"({"argumens": {}})");
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().hint, "did you mean arguments?");
}

TEST(CallBody, OfExecuteHasAToolAndCode) {
  const auto request = parse_execute_body(R"x({"tool_name": "python", "code": "print(1)"})x");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->tool, "python");
  EXPECT_EQ(request->arguments.at("code"), "print(1)");
  for (const char* body : {"", "{}", R"({"tool_name": "python"})", R"({"code": "1"})",
                           R"({"tool_name": 1, "code": "1"})", R"({"tool_name": "", "code": "1"})",
                           R"({"tool_name": "p", "code": "1", "caller": "root"})"})
    EXPECT_FALSE(parse_execute_body(body)) << body;
}

TEST(CallBody, HasWhatTheClientShows) {
  const auto request = parse_call_body(
      R"({"client": {"ticket": "00ff", "uid": 1000,
          "files": [{"path": "/home/ann/p", "inside": "/p", "write": true},
                    {"path": "/home/ann/q", "inside": "/q"}]}})");
  ASSERT_TRUE(request) << request.error().message;
  ASSERT_TRUE(request->client);
  EXPECT_EQ(request->client->ticket, "00ff");
  EXPECT_EQ(request->client->uid, 1000U);
  ASSERT_EQ(request->client->files.size(), 2U);
  EXPECT_EQ(request->client->files[0].path, "/home/ann/p");
  EXPECT_TRUE(request->client->files[0].write);
  EXPECT_EQ(request->client->files[1].inside, "/q");
  EXPECT_FALSE(request->client->files[1].write);
  std::string many = R"({"path": "/a", "inside": "/b"})";
  for (int i = 0; i < 16; ++i)
    many += R"(, {"path": "/a", "inside": "/b"})";
  for (const std::string& client :
       {std::string("1"), std::string("{}"), std::string(R"({"ticket": "0", "uid": 1})"),
        std::string(R"({"ticket": "0", "uid": 1, "files": []})"),
        std::string(R"({"ticket": "0", "uid": -1, "files": [{"path": "/a", "inside": "/b"}]})"),
        std::string(R"({"ticket": "0", "uid": 1, "files": [{"path": "/a"}]})"),
        std::string(R"({"ticket": "0", "uid": 1, "files": [{"path": "/a", "inside": 1}]})"),
        std::string(
            R"({"ticket": "0", "uid": 1, "x": 1, "files": [{"path": "/", "inside": "/b"}]})"),
        R"({"ticket": "0", "uid": 1, "files": [)" + many + "]}"})
    EXPECT_FALSE(parse_call_body(R"({"client": )" + client + "}")) << client;
}

TEST(CallBody, HasASchemaThatTakesWhatItTakes) {
  const auto schema = Schema::compile(json::value(call_body_schema()));
  ASSERT_TRUE(schema);
  EXPECT_TRUE(schema->accepts(json::parse(R"({"arguments": {}, "files": [{"path": "a"}]})")));
  EXPECT_FALSE(schema->accepts(json::parse(R"({"caller": "root"})")));
}

}  // namespace
}  // namespace sallyport
