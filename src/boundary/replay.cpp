#include "boundary/replay.h"

#include <optional>

namespace sallyport {
namespace {

std::string text_of(const json::object& record, std::string_view key) {
  const json::value* value = record.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

// The reasons for which a policy alone decides. All others depend on the hour, on what was used, or
// on the machine.
bool is_policys(std::string_view reason) {
  for (const Reason decided : {Reason::permission, Reason::unknown_tool, Reason::argument,
                               Reason::screen, Reason::approval})
    if (reason == name_of(decided)) return true;
  return false;
}

// What was decided then; none: the record is not of a decision.
std::optional<std::string> decision_of(const json::object& record) {
  const std::string kind = text_of(record, "record"), status = text_of(record, "status");
  if (kind == "intent") return "allowed";
  if (kind != "outcome") return std::nullopt;
  if (status == "pending") return "pending";
  const std::string reason = text_of(record, "reason");
  if (status != "blocked" || !is_policys(reason)) return std::nullopt;
  return "blocked: " + reason;
}

std::string decision_of(const CallResult& result) {
  if (result.status == Status::pending) return "pending";
  if (result.status == Status::blocked) return "blocked: " + std::string(name_of(result.reason));
  return "allowed";
}

}  // namespace

Result<Replay> Replay::begin(Policy policy) {
  auto boundary = Boundary::open(std::move(policy));
  if (!boundary) return std::unexpected(boundary.error());
  return Replay(std::move(*boundary));
}

void Replay::add(const json::object& record) {
  const auto was = decision_of(record);
  if (!was) return;
  CallRequest request;
  request.caller = text_of(record, "caller");
  request.tool = text_of(record, "tool");
  request.address = text_of(record, "address");
  const json::value* arguments = record.if_contains("arguments");
  if (arguments != nullptr && arguments->is_object()) request.arguments = arguments->get_object();
  const CallResult result = boundary_.decide(request);
  std::string now = decision_of(result);

  // Without the arguments, only what is decided before they are looked at is known.
  const bool blind = arguments == nullptr;
  const bool decided_without =
      result.status == Status::blocked &&
      (result.reason == Reason::permission || result.reason == Reason::unknown_tool);
  const bool was_decided_without = *was == "blocked: permission" || *was == "blocked: unknown_tool";
  if (blind && !decided_without && !was_decided_without) {
    ++unknown_;
    return;
  }
  ++judged_;
  if (now == *was) return;
  if (blind && !decided_without) now = "not refused for want of a permission";
  ReplayChange change{.caller = request.caller,
                      .tool = request.tool,
                      .was = *was,
                      .now = std::move(now),
                      .rule = decided_without || !blind ? result.rule : "",
                      .message = decided_without || !blind ? result.message : "",
                      .calls = 0,
                      .call_id = text_of(record, "call_id"),
                      .time = text_of(record, "time")};
  const std::string key = change.caller + '\0' + change.tool + '\0' + change.was + '\0' +
                          change.now + '\0' + change.rule;
  ReplayChange& known = changes_.emplace(key, std::move(change)).first->second;
  ++known.calls;
}

std::vector<ReplayChange> Replay::changes() const {
  std::vector<ReplayChange> list;
  list.reserve(changes_.size());
  for (const auto& [key, change] : changes_)
    list.push_back(change);
  return list;
}

}  // namespace sallyport
