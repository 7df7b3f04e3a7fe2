#include "sallyport/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "policy/load.h"
#include "policy/starter.h"
#include "policy/yaml.h"

namespace sallyport {
namespace {

const std::string kExample = std::string(SALLYPORT_SOURCE_DIR) + "/examples/policy.yaml";

std::string example_text() {
  std::ifstream file(kExample);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string hash_of(std::string_view yaml) {
  const auto policy = Policy::parse(yaml);
  return policy ? policy->hash() : "refused: " + to_text(policy.error()[0]);
}

std::string problems_of(const PolicyResult& result) {
  std::string text;
  if (!result)
    for (const PolicyProblem& problem : result.error())
      text += to_text(problem) + "\n";
  return text;
}

TEST(Policy, TheExampleLoadsWithoutWarnings) {
  const auto policy = Policy::load(kExample);
  ASSERT_TRUE(policy) << problems_of(policy);
  EXPECT_TRUE(policy->warnings().empty());
  const Rules& rules = policy->rules();
  EXPECT_EQ(rules.tools.size(), 8u);
  const Tool& refund = rules.tools.at("refund");
  EXPECT_EQ(refund.kind, ToolKind::http);
  ASSERT_TRUE(refund.approval && refund.approval->when);
  EXPECT_EQ(refund.approval->count, 2u);
  EXPECT_TRUE(refund.approval->when->accepts(json::object{{"amount", 100}}));
  EXPECT_TRUE(refund.approval->when->accepts(json::object{}));
  EXPECT_FALSE(refund.approval->when->accepts(json::object{{"amount", 99}}));
  EXPECT_THAT(refund.output.redact,
              testing::ElementsAre("secrets", "home_dirs", "ip_addresses", "temp_dirs", "emails"));
  const auto& allow = rules.tools.at("python").network.allow;
  ASSERT_EQ(allow.size(), 3u);
  EXPECT_EQ(allow[0].port, 443);
  EXPECT_EQ(allow[1].host.to_text(), "*.data.example.com");
  EXPECT_EQ(allow[1].port, 8443);
  EXPECT_TRUE(allow[2].internal);
  EXPECT_EQ(rules.tests.size(), 3u);
}

TEST(Policy, AllThatIsWrongIsSaidAtOnceInTheOrderOfTheFile) {
  const auto policy = Policy::parse(R"(version: 1
rolls: {}
callers:
  a: { role: nobody, rate: 10 }
tools:
  t:
    run: [x, "{y}"]
    limits: { timeout: 5, memry: 1MB }
)",
                                    "f");
  ASSERT_FALSE(policy);
  std::vector<std::string> rules;
  for (const PolicyProblem& problem : policy.error())
    rules.push_back(std::to_string(problem.line) + " " + problem.rule);
  EXPECT_THAT(rules, testing::ElementsAre("2 rolls", "4 callers.a.role", "4 callers.a.rate",
                                          "7 tools.t.needs", "7 tools.t.run[1]",
                                          "8 tools.t.limits.timeout", "8 tools.t.limits.memry"));
}

TEST(Policy, AFileOfMistakesIsNotAnsweredWithABook) {
  std::string text = "version: 1\n";
  for (int i = 0; i < 5000; ++i)
    text += "key" + std::to_string(i) + ": 1\n";
  const auto policy = Policy::parse(text);
  ASSERT_FALSE(policy);
  EXPECT_EQ(policy.error().size(), 101u);
  EXPECT_NE(policy.error().back().message.find("more problems"), std::string::npos);
}

// --- the hash

TEST(PolicyHash, IsTheSameForAnotherSpellingOfTheSame) {
  constexpr std::string_view kOne = R"(version: 1
roles: { r: [a] }
callers: { c: { role: r, rate: 60/min } }
tools:
  t: { run: [x], needs: [a], limits: { timeout: 60s, memory: 1024KiB, cpus: 1 }, network: { allow: [A.example.com] } }
)";
  for (const std::string_view other :
       {"# a comment\nversion: 1\ntools: { t: { needs: [a], run: [x], network: { allow: "
        "[a.example.com] }, limits: { cpus: 1.0, memory: 1MiB, timeout: 1min } } }\ncallers: { c: "
        "{ rate: [60/min], role: \"r\" } }\nroles: { r: { permissions: [a] } }\n",
        R"({"version": 1, "roles": {"r": ["a"]}, "callers": {"c": {"role": "r", "rate": "60/min"}},
            "tools": {"t": {"run": ["x"], "needs": ["a"], "network": {"allow": [{"host": "a.example.com"}]},
              "limits": {"timeout": "60000ms", "memory": "1MiB", "cpus": 1}}}})"}) {
    EXPECT_EQ(hash_of(other), hash_of(kOne));
  }
  EXPECT_EQ(hash_of(std::string(kOne) + "tests: [{ as: c, call: t, expect: allowed }]\n"),
            hash_of(kOne));
}

// Every map of the example in another order, every text quoted or not.
void respell(Node& node, std::mt19937& random) {
  std::ranges::shuffle(node.entries, random);
  for (Node& item : node.items)
    respell(item, random);
  for (NodeEntry& entry : node.entries)
    respell(entry.value, random);
  node.place = {};
}

TEST(PolicyHash, DoesNotDependOnTheOrderOfKeys) {
  const auto root = parse_yaml(example_text(), "f");
  ASSERT_TRUE(root);
  const auto policy = compile_policy(*root, "f");
  ASSERT_TRUE(policy) << problems_of(policy);
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    Node other = *root;
    respell(other, random);
    const auto shuffled = compile_policy(other, "g");
    ASSERT_TRUE(shuffled) << problems_of(shuffled);
    EXPECT_EQ(shuffled->hash(), policy->hash());
  }
}

// Changes one scalar of the tree, the `target`-th, in a way that may load. Whether there was one.
bool change_scalar(Node& node, std::size_t& target, std::string_view how) {
  if (node.kind == Node::Kind::scalar) {
    if (target-- != 0) return false;
    if (how == "digit" && !node.text.empty()) {
      const std::size_t at = node.text.find_first_of("123456789");
      if (at == std::string::npos) return true;
      node.text[at] = node.text[at] == '9' ? '8' : static_cast<char>(node.text[at] + 1);
    } else if (how == "letter") {
      const std::size_t at = node.text.find_last_of("abcdefghijklmnopqrstuvwxyz");
      if (at == std::string::npos) return true;
      node.text[at] = node.text[at] == 'z' ? 'y' : static_cast<char>(node.text[at] + 1);
    } else if (how == "truth") {
      if (node.text == "true") node.text = "false";
    }
    return true;
  }
  for (Node& item : node.items)
    if (change_scalar(item, target, how)) return true;
  for (NodeEntry& entry : node.entries) {
    if (entry.key.text == "tests") continue;
    if (change_scalar(entry.key, target, how)) return true;
    if (change_scalar(entry.value, target, how)) return true;
  }
  return false;
}

std::string tree_text(const Node& node) {
  json::value meaning;
  settle_meaning(meaning, node);
  return canonical_json(meaning);
}

TEST(PolicyHash, ChangesWithEverySingleThingThatTheFileSays) {
  const auto root = parse_yaml(example_text(), "f");
  ASSERT_TRUE(root);
  const auto policy = compile_policy(*root, "f");
  ASSERT_TRUE(policy);
  std::size_t loaded = 0;
  for (const std::string_view how : {"digit", "letter", "truth"}) {
    for (std::size_t i = 0;; ++i) {
      Node other = *root;
      std::size_t target = i;
      if (!change_scalar(other, target, how)) break;
      if (tree_text(other) == tree_text(*root)) continue;
      const auto changed = compile_policy(other, "f");
      if (!changed) continue;
      ++loaded;
      EXPECT_NE(changed->hash(), policy->hash()) << how << " " << i << " " << tree_text(other);
    }
  }
  EXPECT_GT(loaded, 100u);
}

// --- building in code

TEST(PolicyBuilder, SaysTheSameAsTheFile) {
  const auto built = PolicyBuilder()
                         .role("viewer", {"read:data"})
                         .caller("vera", "viewer", "acme")
                         .set("defaults.rate", "5/min")
                         .set("tools.list", "{tier: inline, needs: [read:data]}")
                         .set("tools.list.limits.timeout", "60s")
                         .build();
  ASSERT_TRUE(built) << problems_of(built);
  EXPECT_EQ(built->hash(), hash_of(R"(version: 1
roles: { viewer: [read:data] }
tenants: { acme: {} }
callers: { vera: { role: viewer, tenant: acme } }
defaults: { rate: 5/min }
tools: { list: { tier: inline, needs: [read:data], limits: { timeout: 1min } } }
)"));
  EXPECT_EQ(built->rules().tools.at("list").kind, ToolKind::function);
}

TEST(PolicyBuilder, MistakesHaveARuleAndNoLine) {
  const auto bad = PolicyBuilder().set("defaults.rate", "5").build();
  ASSERT_FALSE(bad);
  EXPECT_EQ(to_text(bad.error()[0]),
            "policy: defaults.rate: '5' does not say per what (write it as 5/min, or per s, h or "
            "day)");
  const auto broken = PolicyBuilder().set("tools.x", "[a").build();
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error()[0].rule, "tools.x");
  EXPECT_EQ(broken.error()[0].line, 0u);
  // A name is a text, whatever it looks like.
  EXPECT_TRUE(PolicyBuilder().role("no", {}).caller("yes", "no").build());
  EXPECT_FALSE(PolicyBuilder().role("a b", {}).build());
  EXPECT_FALSE(PolicyBuilder().set("version", "2").build());
}

// --- files

TEST(Policy, OnlyARegularFileIsRead) {
  EXPECT_NE(problems_of(Policy::load("/nonexistent/policy.yaml")).find("No such file"),
            std::string::npos);
  EXPECT_NE(problems_of(Policy::load("/")).find("regular file"), std::string::npos);
  EXPECT_NE(problems_of(Policy::load("/dev/zero")).find("regular file"), std::string::npos);
  const std::string fifo = testing::TempDir() + "policy_fifo_" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_NE(problems_of(Policy::load(fifo)).find("regular file"), std::string::npos);
  ::unlink(fifo.c_str());
}

TEST(Policy, TheNameOfAFileCannotMoveTheCursor) {
  EXPECT_EQ(to_text(PolicyProblem{"a\x1b[2J", 1, 2, "r", "m", "h"}), "a\\x1b[2J:1:2: r: m (h)");
}

TEST(Starter, LoadsAsItIsWithoutWarnings) {
  for (const std::string& directory : {std::string(), std::string("/srv/my \"files\"")}) {
    const auto policy = Policy::parse(starter_policy(directory));
    ASSERT_TRUE(policy) << problems_of(policy);
    EXPECT_TRUE(policy->warnings().empty());
    EXPECT_EQ(policy->rules().tools.contains("write_file"), !directory.empty());
    EXPECT_FALSE(policy->rules().tests.empty());
    for (const auto& [name, tool] : policy->rules().tools) {
      EXPECT_TRUE(tool.network.allow.empty()) << name;
      EXPECT_FALSE(tool.approval) << name;
      EXPECT_FALSE(tool.output.redact.empty()) << name;
    }
  }
}

TEST(Starter, HasCallersForTheServiceThatOnlyNeedTheirCommentSignsRemoved) {
  std::string text = starter_policy();
  EXPECT_FALSE(Policy::parse(text)->rules().callers.contains("admin")) << "nobody is by default";
  for (const std::string line : {"operator: [", "administrator: [", "ops: {", "admin: {"}) {
    const std::size_t sign = text.find("  # " + line);
    ASSERT_NE(sign, std::string::npos) << line;
    text.erase(sign + 2, 2);
  }
  const auto policy = Policy::parse(text);
  ASSERT_TRUE(policy) << problems_of(policy);
  EXPECT_TRUE(policy->warnings().empty());
  const auto permissions = [&](const char* caller) {
    const Rules& rules = policy->rules();
    return rules.roles.at(rules.callers.at(caller).role).permissions;
  };
  EXPECT_EQ(permissions("ops"), (std::vector<std::string>{"read:metrics", "read:audit"}));
  EXPECT_EQ(permissions("admin"), std::vector<std::string>{"admin"});
}

}  // namespace
}  // namespace sallyport
