#include "door/cli/run_via.h"

#include <unistd.h>

#include <optional>

#include "base/text.h"
#include "door/cli/call_files.h"
#include "door/cli/event_stream.h"
#include "door/cli/process.h"
#include "door/cli/service_talk.h"
#include "door/cli/show_files.h"
#include "input/command.h"

namespace sallyport {
namespace {

// Of what has not been written on yet.
constexpr std::size_t kMostPiece = std::size_t{64} << 20;

constexpr std::string_view kArgument = "command";

// A tool that takes a command and nothing else.
bool takes_a_command(const json::object& tool) {
  const json::value* arguments = tool.if_contains("arguments");
  const json::object* schema = arguments != nullptr ? arguments->if_object() : nullptr;
  const json::value* properties = schema != nullptr ? schema->if_contains("properties") : nullptr;
  const json::object* named = properties != nullptr ? properties->if_object() : nullptr;
  return named != nullptr && named->size() == 1 && named->contains(kArgument);
}

Result<std::string> find_tool(const ServiceTalk& talk) {
  const auto reply = talk.ask("GET", "/v1/tools");
  if (!reply) return std::unexpected(reply.error());
  if (auto known = check_key_known(*reply); !known)
    return std::unexpected(std::move(known.error()));
  const auto parsed = parse_json(reply->body);
  const json::object* object = parsed ? parsed->if_object() : nullptr;
  const json::value* list = object != nullptr ? object->if_contains("tools") : nullptr;
  if (list == nullptr || !list->is_array())
    return fail(Reason::unavailable, "the service has answered something else than its tools");
  std::vector<std::string> names;
  for (const json::value& entry : list->get_array())
    if (entry.is_object() && takes_a_command(entry.get_object()))
      names.push_back(text_in(entry.get_object(), "name"));
  if (names.empty())
    return fail(Reason::unknown_tool, "the service has no tool that runs commands for this key",
                "a tool with `use: run_command` in its policy does, for callers with what it "
                "`needs`");
  if (names.size() == 1) return names.front();
  std::string all;
  for (const std::string& name : names)
    all.append(all.empty() ? "" : ", ").append(name);
  return fail(Reason::argument, "the service has several tools that run commands",
              "name one with --tool: " + all);
}

Result<CallRequest> make_call(const RunRequest& request) {
  CallRequest call;
  auto command = command_from_words(request.spec.command);
  if (!command) return std::unexpected(std::move(command.error()));
  call.arguments[kArgument] = command->to_text();
  for (const InputFile& input : request.spec.inputs) {
    auto file = read_call_file(input);
    if (!file) return std::unexpected(std::move(file.error()));
    call.files.push_back(std::move(*file));
  }
  if (request.spec.use_stdin) {
    auto input = read_standard_input();
    if (!input) return std::unexpected(std::move(input.error()));
    call.input = std::move(*input);
  }
  call.collect = request.spec.outputs;
  for (const auto& [name, value] : request.asked_limits)
    call.limits.emplace(name, value);
  return call;
}

// The stream of one call, from its first event to its result.
class Following {
 public:
  explicit Following(bool shows) : shows_(shows) {}

  void take(std::string_view bytes) {
    for (const StreamEvent& event : reader_.feed(bytes)) {
      if (event.name == "result") {
        result_ = event.data;
        continue;
      }
      const auto parsed = parse_json(event.data);
      if (!parsed || !parsed->is_object()) continue;
      if (event.name == "call") call_id_ = text_in(parsed->get_object(), "call_id");
      const std::string text = text_in(parsed->get_object(), "text");
      if (!shows_) continue;
      if (event.name == "stdout") (void)write_all(STDOUT_FILENO, text);
      if (event.name == "stderr") (void)write_all(STDERR_FILENO, text);
    }
  }

  [[nodiscard]] const std::string& call_id() const { return call_id_; }
  [[nodiscard]] std::optional<std::string>& result() { return result_; }

 private:
  EventReader reader_;
  bool shows_;
  std::string call_id_;
  std::optional<std::string> result_;
};

}  // namespace

Result<ServiceAnswer> run_via(const RunRequest& request, int cancel) {
  auto call = make_call(request);
  if (!call) return std::unexpected(std::move(call.error()));
  // What is shown is answered for by the service alone, and not by whoever stands in its place.
  const auto whom =
      request.spec.grants.empty() ? ServiceTalk::Whom::any : ServiceTalk::Whom::root_or_self;
  const auto talk = ServiceTalk::open(request.via, whom);
  if (!talk) return std::unexpected(talk.error());
  auto tool = request.tool.empty() ? find_tool(*talk) : Result<std::string>(request.tool);
  if (!tool) return std::unexpected(std::move(tool.error()));

  Fd shown;  // until the call has ended
  if (!request.spec.grants.empty()) {
    auto files = show_files(request.via, *tool, request.spec.grants, request.spec.command, *call);
    if (!files) return std::unexpected(std::move(files.error()));
    call->client = std::move(files->client);
    shown = std::move(files->connection);
  }

  Following following(!request.json);
  bool is_to_end = false;
  // The stream goes on, and tells the end.
  const auto end_call = [&] {
    if (following.call_id().empty()) return;
    is_to_end = false;
    [[maybe_unused]] const auto told = talk->ask("DELETE", "/v1/calls/" + following.call_id());
  };
  HttpFetch post = talk->request("POST", "/v1/tools/" + in_path(*tool) + "/call", call_body(*call));
  post.headers.push_back({"Accept", "text/event-stream"});
  post.most_bytes = kMostPiece;
  post.on_piece = [&](std::string_view bytes) {
    following.take(bytes);
    if (is_to_end) end_call();
  };
  post.stop = cancel;
  post.on_stop = [&] {
    is_to_end = true;
    end_call();
  };
  auto reply = fetch(post);
  if (!reply) return std::unexpected(std::move(reply.error()));
  if (auto known = check_key_known(*reply); !known)
    return std::unexpected(std::move(known.error()));

  // A call that was refused has no stream.
  ServiceAnswer answer{.result = {}, .text = following.result().value_or(reply->body)};
  auto result = read_result(answer.text);
  if (!result) return std::unexpected(std::move(result.error()));
  answer.result = std::move(*result);
  if (!call->collect.empty())
    if (auto brought = bring_artifacts(*talk, answer.result); !brought)
      return std::unexpected(std::move(brought.error()));
  return answer;
}

}  // namespace sallyport
