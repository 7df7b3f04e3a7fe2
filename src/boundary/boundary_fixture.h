// A boundary around functions of the test itself, for tests of the gates: no cell is needed to see
// who gets through.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/json.h"
#include "sallyport/boundary.h"

namespace sallyport {

inline Policy load(std::string_view yaml) {
  auto policy = Policy::parse(yaml, "test.yaml");
  if (policy) return std::move(*policy);
  std::string problems;
  for (const PolicyProblem& problem : policy.error())
    problems += to_text(problem) + "\n";
  ADD_FAILURE() << problems;
  std::abort();
}

inline Boundary open(std::string_view yaml, BoundaryOptions options = {}) {
  auto boundary = Boundary::open(load(yaml), std::move(options));
  if (!boundary) {
    ADD_FAILURE() << boundary.error().message;
    std::abort();
  }
  return std::move(*boundary);
}

inline json::object object(std::string_view text) {
  return json::parse(text).as_object();
}

// A function that answers with its arguments.
inline Function echo(std::string name, std::vector<std::string> needs, json::object args = {}) {
  return {.name = std::move(name),
          .description = {},
          .needs = std::move(needs),
          .args = std::move(args),
          .body = [](const json::object& arguments) -> Result<json::value> { return arguments; }};
}

inline void add(Boundary& boundary, Function function) {
  const auto added = boundary.add(std::move(function));
  ASSERT_TRUE(added) << added.error().message;
}

inline CallRequest request(std::string caller, std::string tool,
                           std::string_view arguments = "{}") {
  CallRequest made;
  made.caller = std::move(caller);
  made.tool = std::move(tool);
  made.arguments = object(arguments);
  return made;
}

}  // namespace sallyport
