#include "door/cli/call_command.h"

#include <unistd.h>

#include <cstdio>

#include "access/state_directory.h"
#include "base/json.h"
#include "base/text.h"
#include "door/cli/call_files.h"
#include "door/cli/call_options.h"
#include "door/cli/call_via.h"
#include "door/cli/problem.h"
#include "door/cli/process.h"
#include "door/cli/tell_end.h"
#include "policy/rules.h"
#include "sallyport/boundary.h"

namespace sallyport {
namespace {

bool wants_text(const Tool* tool, const std::string& name) {
  const Argument* argument = tool != nullptr ? tool->find_argument(name) : nullptr;
  if (argument == nullptr || argument->type != ArgumentType::json) return true;
  return argument->schema.accepts(json::value("")) || !argument->definition.contains("type");
}

// key=value words as the tool wants them: `limit=50` is a number for a tool that takes a number,
// and the text "50" for one that takes text.
Result<json::object> make_arguments(const CallCommand& command, const Rules& rules) {
  if (command.arguments_json) {
    std::string text = *command.arguments_json;
    if (text.starts_with('@')) {
      auto file = read_call_file({.host = text.substr(1), .name = {}, .content = {}});
      if (!file) return std::unexpected(file.error());
      text = std::move(file->content);
    }
    auto parsed = parse_json(text);
    if (!parsed) {
      Error error = parsed.error();
      error.message = "--args: " + error.message;
      return std::unexpected(error);
    }
    if (!parsed->is_object())
      return fail(Reason::argument, "--args is not a JSON object",
                  R"(write for example --args '{"limit": 50}')");
    return std::move(parsed->get_object());
  }
  const auto found = rules.tools.find(command.tool);
  const Tool* tool = found != rules.tools.end() ? &found->second : nullptr;
  json::object arguments;
  for (const auto& [key, text] : command.argument_words) {
    if (!wants_text(tool, key))
      if (auto parsed = parse_json(text)) {
        arguments[key] = std::move(*parsed);
        continue;
      }
    arguments[key] = text;  // what is wrong with it is for the gate to say
  }
  return arguments;
}

Result<CallRequest> make_request(const CallCommand& command, const Rules& rules) {
  CallRequest request = command.request;
  request.tool = command.tool;
  auto arguments = make_arguments(command, rules);
  if (!arguments) return std::unexpected(arguments.error());
  request.arguments = std::move(*arguments);
  for (const InputFile& input : command.inputs) {
    auto file = read_call_file(input);
    if (!file) return std::unexpected(file.error());
    request.files.push_back(std::move(*file));
  }
  if (command.read_stdin) {
    auto input = read_standard_input();
    if (!input) return std::unexpected(input.error());
    request.input = std::move(*input);
  }
  return request;
}

// What a person at a terminal wants to see: the tool's output as it is, and ours on stderr.
void tell(const CallResult& result) {
  std::string output =
      result.data && result.output.empty() ? json::serialize(*result.data) : result.output;
  // A tool's own bytes go on as they are, except to a terminal, whose prompt comes next.
  const bool whole_line = result.data || ::isatty(STDOUT_FILENO) == 1;
  if (whole_line && !output.empty() && !output.ends_with('\n')) output.push_back('\n');
  (void)write_all(STDOUT_FILENO, output);
  (void)write_all(STDERR_FILENO, result.error);
  tell_end(result);
}

// The result of a call that did not reach the first gate.
json::object never_called(const CallCommand& command, const Error& error,
                          const std::string& policy = {}) {
  CallResult result;
  result.tool = to_utf8(command.tool);
  result.caller = to_utf8(command.request.caller);
  result.status = Status::blocked;
  result.reason = error.reason;
  if (error.reason == Reason::argument) result.rule = "request";
  result.message = error.message;
  result.hint = error.hint;
  result.policy = policy;
  return to_json(result);
}

int print_object(const json::object& object) {
  (void)write_all(STDOUT_FILENO, json::serialize(object) + "\n");
  return kCouldNotStart;
}

int finish(const CallCommand& command, CallResult& result, const std::string& text) {
  const bool put = put_files(command.request.collect, result);
  if (command.json) {
    if (!write_all(STDOUT_FILENO, text)) return kCouldNotStart;
  } else {
    tell(result);
  }
  const int code = exit_code_of(result);
  return code == 0 && !put ? 1 : code;
}

int call_via(const CallCommand& command) {
  auto request = make_request(command, Rules{});
  auto answer = request ? call_service(command, std::move(*request))
                        : Result<ServiceAnswer>(std::unexpected(std::move(request.error())));
  if (answer) return finish(command, answer->result, answer->text);
  if (command.json) return print_object(never_called(command, answer.error()));
  print_error(answer.error());
  return kCouldNotStart;
}

}  // namespace

int call_command(std::span<const char* const> words) {
  if (auto streams = open_missing_streams(); !streams) {
    print_error(streams.error());
    return kCouldNotStart;
  }
  auto command = parse_call(words);
  if (!command) {
    print_error(command.error());
    return kCouldNotStart;
  }
  if (command->help) {
    std::fputs(call_help_text().c_str(), stdout);
    return 0;
  }
  if (!command->via.empty()) return call_via(*command);
  auto policy = Policy::load(command->policy);
  if (!policy) {
    if (!command->json) {
      print_problems(policy.error());
      return kCouldNotStart;
    }
    json::object object = never_called(*command, not_loaded(command->policy, policy.error()));
    object["problems"] = problems_json(policy.error());
    return print_object(object);
  }
  const std::string hash = policy->hash();
  const auto refuse = [&](const Error& error) {
    if (command->json) return print_object(never_called(*command, error, hash));
    print_error(error);
    return kCouldNotStart;
  };
  auto request = make_request(*command, policy->rules());
  if (!request) return refuse(request.error());

  BoundaryOptions options;
  if (command->state) {
    options.state = *command->state;
  } else {
    // Opened once so that it is there, with all directories above it.
    if (auto made = open_state_directory(""); !made) return refuse(made.error());
    auto path = private_state_directory();
    if (!path) return refuse(path.error());
    options.state = *path;
  }
  auto boundary = Boundary::open(std::move(*policy), options);
  if (!boundary) return refuse(boundary.error());

  Fd cancel = catch_signals();
  CallResult result = boundary->call(*request, {.cancel = cancel.get()});
  release_signals(std::move(cancel));
  return finish(*command, result, to_json_text(result) + "\n");
}

}  // namespace sallyport
