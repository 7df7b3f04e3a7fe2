// From a call that has passed the gates to the cell that it runs in.
//
// Everything in the spec comes from the tool's rules, except what the caller may decide: the values
// of declared arguments, the content of files in the scratch, standard input. A caller's value
// never becomes anything but the text of an argv element, of a file, or of standard input: there is
// no shell, no second expansion, and no argument that turns into an option unless its rule says so.
#pragma once

#include <string>

#include "base/json.h"
#include "cell/spec.h"
#include "policy/envelope.h"
#include "policy/rules.h"
#include "sallyport/call.h"

namespace sallyport {

struct ToolCall {
  const Tool& tool;
  const Envelope& envelope;
  Limits limits;                  // in force for this call: tightened already
  const json::object& arguments;  // validated, with the defaults filled in
  const CallRequest& request;
  std::string program = {};  // path of the sallyport program, which built-ins run in their cells
  std::string sql_key = {};  // of the passwords at database servers; empty: there is none
  std::string certificates = {};  // that may vouch for a database server, as PEM
};

// How much of each output stream the cell keeps. More than max_output: a result in JSON is whole or
// it is refused; and what a cut would tear apart must be seen whole to be redacted. The rest is cut
// by whoever passes it on; max_output_hard still kills where it did.
constexpr std::uint64_t kCutMargin = 16384;  // longer than anything that is redacted
[[nodiscard]] ByteSize captured_output(const Tool& tool, const Limits& limits);

// What will run. Starts nothing, and looks at nothing but its arguments, so a dry run may show it.
// An error with Reason::argument means that the request is at fault. Standard input is in the spec
// (`input`); `output_directory` is left to whoever runs it.
[[nodiscard]] Result<CellSpec> make_cell_spec(const ToolCall& call);

// The same, as far as it is known before there is a call: the cell of one that brings neither files
// nor an input of its own. An error: its cells cannot be made before there is a call.
[[nodiscard]] Result<CellSpec> make_likely_spec(const Tool& tool, const Limits& limits,
                                                const std::string& program);

// The same of a `run_command` tool, without what its calls say: what all of its cells have, but for
// the limits and the network.
[[nodiscard]] Result<CellSpec> command_frame(const Tool& tool);

// The interpreter that may wait for calls of the tool.
[[nodiscard]] Warmth warmth_of(const Tool& tool);

// The command of the sql tool: the only one that gets a connection.
[[nodiscard]] std::vector<std::string> sql_tool_command();

// Whether the standard output of a call that exits with 0 is one JSON text, to be parsed, checked
// against max_result and returned as `data`: tools with `result: json`, the file tools, sql. Its
// cell keeps one byte more than max_result, so that a result that is too large is seen as such.
[[nodiscard]] bool answers_json(const Tool& tool);

}  // namespace sallyport
