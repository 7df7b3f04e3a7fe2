// The JSON result of a run in the words of the tests.
#pragma once

#include "support/cell_runner.h"

namespace sallyport::test {

struct CellResult {
  explicit CellResult(const Ran& ran) : exit_code(ran.exit_code), json(ran.json()) {}

  // A text of the result; empty when it has none of that name.
  [[nodiscard]] std::string text(const char* key) const {
    const auto* value = json.if_contains(key);
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
  }
  [[nodiscard]] std::vector<std::string> limits_hit() const {
    std::vector<std::string> names;
    if (const auto* list = json.if_contains("limits_hit"))
      for (const auto& name : list->as_array())
        names.emplace_back(name.as_string());
    return names;
  }
  [[nodiscard]] std::int64_t usage(const char* key) const {
    return json.at("usage").at(key).to_number<std::int64_t>();
  }
  [[nodiscard]] double cpu_seconds() const {
    return static_cast<double>(usage("cpu_user_us") + usage("cpu_system_us")) / 1e6;
  }

  int exit_code;  // of sallyport itself
  boost::json::object json;
};

inline std::ostream& operator<<(std::ostream& out, const CellResult& result) {
  return out << "exit code " << result.exit_code << ", " << result.json;
}

// Ended from outside, for that reason, and said so.
inline testing::AssertionResult killed_for(const CellResult& result, const std::string& reason,
                                           int exit_code = 137) {
  if (result.exit_code == exit_code && result.text("status") == "killed" &&
      result.text("reason") == reason && !result.text("message").empty() &&
      !result.json.contains("exit_code"))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << result;
}

}  // namespace sallyport::test
