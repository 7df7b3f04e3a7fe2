#include "cell/run.h"

#include <algorithm>

#include "base/file.h"
#include "base/layer.h"
#include "base/text.h"
#include "boundary/artifacts.h"
#include "boundary/function_call.h"
#include "boundary/gates.h"
#include "boundary/shown_stream.h"
#include "cell/collect.h"
#include "launch/remote_cell.h"
#include "policy/network_access.h"
#include "postgres/connect.h"
#include "tool/cell_call.h"
#include "tool/database_grants.h"
#include "tool/denied_paths.h"

namespace sallyport {
namespace {

// The cell speaks of options of `sallyport run`; here the limit is a rule of the policy.
void name_limit(const Passage& passage, CallResult& result) {
  constexpr std::pair<Reason, std::string_view> kLimits[] = {
      {Reason::timeout, "timeout"},
      {Reason::cpu, "cpu"},
      {Reason::memory, "memory"},
      {Reason::output, "max_output_hard"},
      {Reason::syscall, "refused_syscalls"},
  };
  if (result.status != Status::killed) return;
  for (const auto& [reason, name] : kLimits) {
    if (reason != result.reason) continue;
    const auto rule = passage.envelope->limit_rules.find(std::string(name));
    result.rule = rule != passage.envelope->limit_rules.end() ? rule->second : "built-in";
    result.hint = "give it less to do; the limit is `" + std::string(name) + "` of the policy";
  }
}

// Whether a gate of the way out decides about the whole result: then nothing goes out before.
bool must_be_seen_whole(const Tool& tool) {
  return tool.output.redact_blocks || tool.output.injection == "block" || tool.output.schema;
}

// A cell has no network of its own: the way to a database server is opened out here.
struct Server {
  Fd connection;  // none: the tool asks no server
  std::string certificates;
};
Result<Server> reach_server(const Passage& passage) {
  Server server;
  if (!asks_server(*passage.tool)) return server;
  const auto address = PostgresAddress::parse(passage.tool->database);
  if (!address) return std::unexpected(address.error());
  if (address->tls) {
    auto pem = read_file(address->certificates.c_str());
    if (!pem)
      return fail(Reason::unavailable,
                  "the file " + quoted(address->certificates) +
                      " of those who may vouch for the database server cannot be read");
    server.certificates = std::move(*pem);
  }
  auto connection = connect_postgres(
      *address, std::chrono::duration_cast<std::chrono::milliseconds>(passage.limits.timeout),
      passage.streams.cancel);
  if (!connection) return std::unexpected(std::move(connection.error()));
  server.connection = std::move(*connection);
  return server;
}

Result<CellSpec> make_spec(const Passage& passage, std::string certificates = {}) {
  auto spec = make_cell_spec({.tool = *passage.tool,
                              .envelope = *passage.envelope,
                              .limits = passage.limits,
                              .arguments = passage.arguments,
                              .request = passage.request,
                              .program = passage.shared.program,
                              .sql_key = passage.shared.sql_key,
                              .certificates = std::move(certificates)});
  if (!spec) return spec;
  spec->network = network_access(passage.shared.rules.ceiling, *passage.tool);
  spec->call_id = passage.result.call_id;
  return spec;
}

// The outcome of the cell takes the place of what is known; the way in keeps its findings.
void take_outcome(Outcome outcome, Passage& passage) {
  CallResult& result = passage.result;
  const std::vector<Finding> before = std::move(result.findings);
  static_cast<Outcome&>(result) = std::move(outcome);
  result.findings.insert(result.findings.begin(), before.begin(), before.end());
  passage.network = result.network;
}

Pass explain(Passage& passage) {
  CallResult& result = passage.result;
  const std::string rule = "tools." + passage.tool->name;
  if (result.status == Status::blocked) {
    const bool unmet =
        result.reason == Reason::cannot_enforce && result.message.contains(kUnmetRequirement);
    return Block{result.reason, unmet ? rule + ".require" : rule, result.message, result.hint};
  }
  result.tier = "process";
  name_limit(passage, result);
  return {};
}

Pass run_in_cell(Passage& passage) {
  const std::string rule = "tools." + passage.tool->name;
  auto server = reach_server(passage);
  if (!server) return Block::from(server.error(), rule + ".database");
  auto spec = make_spec(passage, std::move(server->certificates));
  if (!spec) return Block::from(spec.error(), rule);
  // A launcher looks by itself: it can see trees that we cannot.
  const std::string& launcher = passage.shared.launcher;
  if (launcher.empty())
    if (auto denied = check_denied_paths(passage.shared.rules.ceiling, *spec); !denied)
      return Block::from(denied.error(), "ceiling.files.deny");

  std::shared_ptr<EgressChild> egress;
  if (launcher.empty() && !spec->network.allow.empty()) {
    auto started =
        passage.shared.egress.get(reader_settings(passage.shared.rules, passage.shared.revoked));
    if (!started) return Block::from(started.error(), rule + ".network");
    egress = std::move(*started);
  }

  CallResult& result = passage.result;
  std::optional<ArtifactSpace> space;
  if (!spec->outputs.empty() && passage.request.output_directory.empty()) {
    auto made = ArtifactSpace::make();
    if (!made) return Block::from(made.error(), rule + ".collect");
    space = std::move(*made);
    spec->output_directory = space->path();
  } else {
    spec->output_directory = passage.request.output_directory;
  }

  {
    CellStreams streams{.connection = server->connection.get(),
                        .egress = egress ? egress->door() : -1,
                        .cancel = passage.streams.cancel};
    std::unique_ptr<ShownStream> output, error;
    if (!must_be_seen_whole(*passage.tool))
      for (const auto& [to, shown, descriptor] :
           {std::tuple(passage.streams.output, &output, &streams.output),
            std::tuple(passage.streams.error, &error, &streams.error)}) {
        if (to < 0) continue;
        auto opened = ShownStream::open(to, passage.streams.cancel, passage.limits.max_output.bytes,
                                        passage.redactions);
        if (!opened) return Block::from(opened.error(), rule);
        *shown = std::move(*opened);
        *descriptor = (*shown)->write_end();
      }
    take_outcome(launcher.empty()
                     ? run_cell(*spec, streams)
                     : run_cell_remotely(launcher, passage.caller->tenant, *spec, streams),
                 passage);
  }
  if (Pass block = explain(passage)) return block;
  // The tool's own globs say what it may leave, not what it must.
  std::erase_if(result.findings, [&](const Finding& finding) {
    return finding.why == kNoFileMatches &&
           std::ranges::find(passage.tool->collect, finding.path) != passage.tool->collect.end();
  });
  if (space) result.collected = space->take(result.artifacts, result.findings);
  return {};
}

}  // namespace

// What shows its streams, brings files back or speaks with a server has more to get ready, which is
// done when the intent is written. So is what fails here: it is then said with an intent before it.
void ask_ahead(Passage& passage) try {
  const std::string& launcher = passage.shared.launcher;
  if (launcher.empty() || passage.function != nullptr || asks_server(*passage.tool) ||
      passage.streams.output >= 0 || passage.streams.error >= 0)
    return;
  const auto spec = make_spec(passage);
  if (!spec || !spec->outputs.empty()) return;
  passage.cell =
      ask_for_cell(launcher, passage.caller->tenant, *spec, {.cancel = passage.streams.cancel});
} catch (const std::exception&) {  // out of memory
  passage.cell.reset();
}

Pass run_tool(Passage& passage) {
  if (passage.function != nullptr) return run_function(passage);
  if (passage.cell) {
    take_outcome(passage.cell->run(), passage);
    return explain(passage);
  }
  return run_in_cell(passage);
}

}  // namespace sallyport
