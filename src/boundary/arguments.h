// The arguments of a call, checked against what a tool declares. What comes out is a new value:
// declared arguments only, defaults filled in, every typed text in its normal form. Nothing of the
// original is used from here on.
#pragma once

#include <span>
#include <string_view>

#include "base/json.h"
#include "policy/rules.h"
#include "sallyport/error.h"

namespace sallyport {

// An argument that was refused, and the rule that refused it.
struct ArgumentError {
  Error error;
  std::string rule;  // "tools.refund.args.amount"
};

struct ArgumentContext {
  std::string_view tool;                   // its name, for the rule
  const CommandRules* commands = nullptr;  // for the type `command`; none: any that runs no other
  const FileRules* files = nullptr;        // where the tool sees its paths; none: it has no cell
  bool touch_files = true;  // open paths, and not only read them: false when a call is only decided
};

[[nodiscard]] std::expected<json::object, ArgumentError> check_arguments(
    std::span<const Argument> declared, const json::object& given, const ArgumentContext& context);

}  // namespace sallyport
