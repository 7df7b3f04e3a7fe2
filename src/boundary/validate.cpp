#include "base/text.h"
#include "boundary/gates.h"
#include "tool/cell_call.h"

namespace sallyport {
namespace {

// The tool ran, so a result that cannot be given is an error of the call and not a refusal of it.
Block refuse_result(Reason reason, const Passage& passage, std::string_view key,
                    std::string message, std::string hint) {
  return {reason, "tools." + passage.tool->name + "." + std::string(key), std::move(message),
          std::move(hint), Status::error};
}

Pass check_size(Passage& passage, std::uint64_t size) {
  const std::uint64_t limit = passage.limits.max_result.bytes;
  if (size <= limit) return {};
  passage.result.size_bytes = size;
  passage.result.limit_bytes = limit;
  Block block = refuse_result(Reason::result_too_large, passage, "limits.max_result",
                              "the result has " + std::to_string(size) + " bytes, and " +
                                  std::to_string(limit) + " are allowed",
                              "ask for less: fewer rows, a narrower range, a part of the file");
  if (const auto rule = passage.envelope->limit_rules.find("max_result");
      rule != passage.envelope->limit_rules.end() && rule->second != "built-in")
    block.rule = rule->second;
  return block;
}

}  // namespace

Pass validate(Passage& passage) {
  CallResult& result = passage.result;
  if (result.status != Status::success) return {};
  const Tool& tool = *passage.tool;

  if (result.data) {
    if (auto pass = check_size(passage, json::serialize(*result.data).size())) return pass;
  } else if (passage.function == nullptr && answers_json(tool)) {
    // The cell keeps a byte more than may come back; what it cut, it counted.
    const std::uint64_t size =
        result.truncated ? std::max<std::uint64_t>(result.usage.output_bytes - result.error.size(),
                                                   passage.limits.max_result.bytes + 1)
                         : result.output.size();
    if (auto pass = check_size(passage, size)) return pass;
    auto data = parse_json(result.output);
    if (!data)
      return refuse_result(
          Reason::output_schema, passage, "result",
          "the tool promised JSON and wrote something else: " + data.error().message,
          "the tool is at fault, not the call");
    result.data = std::move(*data);
  }

  if (!tool.output.schema) return {};
  if (!result.data)
    return refuse_result(Reason::output_schema, passage, "output.schema",
                         "the policy has a schema for the result, and the tool gives text",
                         "the policy should say `result: json`");
  const auto violations = tool.output.schema->check(*result.data);
  if (violations.empty()) return {};
  const Violation& first = violations.front();
  return refuse_result(
      Reason::output_schema, passage, "output.schema",
      "the result " +
          (first.instance_place.empty() ? "" : "at " + quoted(first.instance_place) + " ") +
          first.message,
      "the tool is at fault, not the call");
}

}  // namespace sallyport
