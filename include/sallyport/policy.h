// The policy: who may call what, with which arguments, at which cost. An immutable value, read from
// one YAML file or built in code; either way it goes through the same checks.
#pragma once

#include <expected>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport {

struct Rules;  // what the policy says, as typed values: src/policy/rules.h
struct Node;   // the file as a tree: src/policy/node.h

// One thing that is wrong with a policy, or, as a warning, odd about it.
struct PolicyProblem {
  std::string file;
  unsigned line = 0, column = 0;  // 0: the policy was built in code
  std::string rule;               // "tools.python.limits.timeout"
  std::string message;
  std::string hint;
};

// "policy.yaml:12:3: tools.python.limits.timeout: message (hint)"
[[nodiscard]] std::string to_text(const PolicyProblem& problem);

class Policy;
using PolicyResult = std::expected<Policy, std::vector<PolicyProblem>>;

class Policy {
 public:
  // All that is wrong at once; nothing is loaded by half.
  [[nodiscard]] static PolicyResult load(const std::string& path);
  [[nodiscard]] static PolicyResult parse(std::string_view yaml, std::string_view file = "policy");

  // Stable: the same for two files that differ in comments, order of keys or spelling of units
  // only.
  [[nodiscard]] const std::string& hash() const;
  [[nodiscard]] const std::vector<PolicyProblem>& warnings() const;
  [[nodiscard]] const Rules& rules() const { return *rules_; }

 private:
  friend PolicyResult compile_policy(const Node& root, std::string_view file);
  explicit Policy(std::shared_ptr<const Rules> rules) : rules_(std::move(rules)) {}
  std::shared_ptr<const Rules> rules_;
};

// Builds a policy in code, in the words of the file:
//
//   PolicyBuilder()
//       .role("viewer", {"read:data"})
//       .caller("vera", "viewer")
//       .set("defaults.rate", "5/min")
//       .build();
class PolicyBuilder {
 public:
  PolicyBuilder();
  ~PolicyBuilder();
  PolicyBuilder(const PolicyBuilder&) = delete;
  PolicyBuilder& operator=(const PolicyBuilder&) = delete;

  PolicyBuilder& role(std::string_view name, std::initializer_list<std::string_view> permissions);
  PolicyBuilder& caller(std::string_view name, std::string_view role, std::string_view tenant = "");
  // Sets one value, by its place in the file; the text is read as YAML: "30/min", "[a, b]". A dot
  // separates keys.
  PolicyBuilder& set(std::string_view place, std::string_view yaml);

  [[nodiscard]] PolicyResult build() const;

 private:
  std::unique_ptr<Node> root_;
  std::vector<PolicyProblem> problems_;
};

}  // namespace sallyport
