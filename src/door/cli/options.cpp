#include "door/cli/options.h"

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "base/glob.h"
#include "base/text.h"
#include "door/cli/net_value.h"
#include "door/cli/values.h"
#include "kernel/seccomp_profiles.h"

namespace sallyport {
namespace {

// The result is put together in memory, so what it keeps of the output has a bound of its own.
constexpr ByteSize kMostKeptOutput = 1_GB;

constexpr std::string_view kFiles = "Files";
constexpr std::string_view kLimits = "Limits";
constexpr std::string_view kIsolation = "Isolation";
constexpr std::string_view kNetwork = "Network";
constexpr std::string_view kOutput = "Output";
constexpr std::string_view kService = "Service";

// A person at a shell may install packages with it.
constexpr unsigned kRequestsOfARun = 1000;

template <class Place, class T>
Result<void> store(Place& place, Result<T> value) {
  if (!value) return std::unexpected(std::move(value.error()));
  place = std::move(*value);
  return {};
}

template <class T>
Result<void> append(std::vector<T>& list, Result<T> value) {
  if (!value) return std::unexpected(std::move(value.error()));
  list.push_back(std::move(*value));
  return {};
}

template <ByteSize Least, ByteSize Most = kGreatestSize>
Result<ByteSize> size(std::string_view text) {
  return parse_size_between(text, Least, Most);
}

template <unsigned Least, unsigned Most>
Result<unsigned> count(std::string_view text) {
  return parse_count(text, Least, Most);
}

Result<Interpreter> parse_ahead(std::string_view text) {
  if (text == "cell") return Interpreter::none;
  if (text == "python") return Interpreter::python;
  if (text == "node") return Interpreter::node;
  return fail(Reason::argument, quoted(text) + " cannot be made ahead", "use cell, python or node");
}

template <class T>
std::string shown(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    char text[32];
    return {text, std::to_chars(std::begin(text), std::end(text), value).ptr};
  } else {
    return to_text(value);
  }
}

template <auto Field, auto Parse>
Result<void> limit(RunRequest& request, std::string_view text) {
  return store(request.spec.limits.*Field, Parse(text));
}

template <auto Field>
std::string preset(const RunRequest& request) {
  return shown(request.spec.limits.*Field);
}

template <bool RunRequest::* Field>
Result<void> turn_on(RunRequest& request, std::string_view) {
  request.*Field = true;
  return {};
}

template <bool Write>
Result<void> add_grant(RunRequest& request, std::string_view text) {
  return append(request.spec.grants, parse_grant(text, Write));
}

Result<void> add_input(RunRequest& request, std::string_view text) {
  auto input = parse_input_file(text);
  const auto same_name = [&](const InputFile& other) { return other.name == input->name; };
  if (input && std::ranges::any_of(request.spec.inputs, same_name)) {
    return fail(Reason::argument,
                std::string("two files would both be ").append(quoted("/workspace/" + input->name)),
                "give one of them another NAME, as FILE:NAME");
  }
  return append(request.spec.inputs, std::move(input));
}

Result<void> add_output(RunRequest& request, std::string_view text) {
  if (auto glob = Glob::parse(text); !glob) return std::unexpected(std::move(glob.error()));
  request.spec.outputs.emplace_back(text);
  return {};
}

Result<void> add_variable(RunRequest& request, std::string_view text) {
  auto variable = parse_variable(text);
  const auto same_key = [&](const auto& other) { return other.first == variable->first; };
  if (variable && std::ranges::any_of(request.spec.environment, same_key)) {
    return fail(Reason::argument, quoted(variable->first).append(" is given more than once"),
                "give each variable once");
  }
  return append(request.spec.environment, std::move(variable));
}

constexpr Option<RunRequest> kRunOptions[] = {
    {"read", "PATH[:INSIDE]", kFiles,
     "Show a file or directory of this machine, read-only: at INSIDE, or else at its own path.",
     add_grant<false>, nullptr, Times::many},
    {"write", "PATH[:INSIDE]", kFiles,
     "The same, writable. What is written belongs to the directory's owner.", add_grant<true>,
     nullptr, Times::many},
    {"write-mode", "direct|copy", kFiles,
     "direct: changes under --write reach this machine at once, and no limit bounds their size. "
     "copy: they are held in the scratch, within --disk, and copied back at the end.",
     [](RunRequest& request, std::string_view text) {
       return store(request.spec.write_mode, parse_write_mode(text));
     },
     [](const RunRequest&) { return std::string("direct"); }},
    {"in", "FILE[:NAME]", kFiles, "Copy FILE into /workspace before the start, as NAME.", add_input,
     nullptr, Times::many},
    {"out", "GLOB", kFiles,
     "Copy the files of /workspace that match into the current directory at the end, such as "
     "'plots/*.png'; ** crosses directories.",
     add_output, nullptr, Times::many},
    {"root", "DIR", kFiles, "Use DIR as the root filesystem in place of this machine's system.",
     [](RunRequest& request, std::string_view text) {
       request.spec.root = text;
       return Result<void>();
     }},
    {"cwd", "DIR", kFiles, "Start in DIR, a path inside the cell.",
     [](RunRequest& request, std::string_view text) {
       return store(request.spec.cwd, parse_inside_path(text));
     },
     [](const RunRequest& request) { return request.spec.cwd; }},
    {"stdin", "", kFiles, "Pass standard input on; without it the command reads /dev/null.",
     [](RunRequest& request, std::string_view) {
       request.spec.use_stdin = true;
       return Result<void>();
     }},

    {"timeout", "TIME", kLimits, "Wall-clock time; then everything in the cell is killed.",
     limit<&Limits::timeout, parse_time_limit>, preset<&Limits::timeout>},
    {"cpu", "TIME", kLimits, "CPU time of all processes together; then everything is killed.",
     limit<&Limits::cpu, parse_time_limit>, preset<&Limits::cpu>},
    {"cpus", "NUMBER", kLimits, "How many CPUs' worth of time it gets at most, such as 0.5.",
     limit<&Limits::cpus, parse_cpus>, preset<&Limits::cpus>},
    {"memory", "SIZE", kLimits,
     "Memory of all processes and the scratch, without swap; then everything is killed.",
     limit<&Limits::memory, size<1_MiB>>, preset<&Limits::memory>},
    {"processes", "COUNT", kLimits, "Processes and threads at one time; then fork fails.",
     limit<&Limits::processes, count<1, 32'768>>, preset<&Limits::processes>},
    {"open-files", "COUNT", kLimits, "Open files of one process; then open fails.",
     limit<&Limits::open_files, count<8, 1'048'576>>, preset<&Limits::open_files>},
    {"disk", "SIZE", kLimits, "Bytes in the scratch: /workspace, /tmp and /dev/shm together.",
     limit<&Limits::disk, size<4_KiB>>, preset<&Limits::disk>},
    {"inodes", "COUNT", kLimits, "Files and directories in the scratch.",
     limit<&Limits::inodes, count<1, 1'000'000'000>>, preset<&Limits::inodes>},
    {"file-size", "SIZE", kLimits, "Bytes in one file that it writes.",
     limit<&Limits::file_size, size<1_B>>, preset<&Limits::file_size>},
    {"max-output", "SIZE", kLimits,
     "Bytes that are kept of each output stream; what is over is left out, and a line says so.",
     limit<&Limits::max_output, size<0_B, kMostKeptOutput>>, preset<&Limits::max_output>},
    {"max-output-hard", "SIZE", kLimits, "Bytes of output in all at which everything is killed.",
     limit<&Limits::max_output_hard, size<1_B>>, preset<&Limits::max_output_hard>},
    {"io", "RATE", kLimits, "Disk bandwidth each way, such as 20MB/s.",
     limit<&Limits::io, parse_rate_limit>,
     [](const RunRequest& request) {
       return request.spec.limits.io ? to_text(*request.spec.limits.io) : "unlimited";
     }},

    {"net", "HOST[:PORT][,WORD...]", kNetwork,
     "A host that it may reach, by name; *.HOST for all names below one. Over https at 443, unless "
     "a "
     "word says http, postgres or tcp. `internal` allows an address of a private network, and "
     "address=IP dials that one. `inspect` looks into https, with a certificate authority that "
     "only "
     "this cell trusts. Everything else is out of reach.",
     [](RunRequest& request, std::string_view text) {
       return append(request.spec.network.allow, parse_net(text));
     },
     nullptr, Times::many},
    {"requests", "COUNT", kNetwork, "Connections, and requests of http, that it may make.",
     [](RunRequest& request, std::string_view text) {
       return store(request.spec.network.requests, parse_count(text, 1, 1'000'000));
     },
     [](const RunRequest& request) { return shown(request.spec.network.requests); }},

    {"env", "KEY=VALUE", kIsolation,
     "Set an environment variable. Nothing else of your environment enters.", add_variable, nullptr,
     Times::many},
    {"hostname", "NAME", kIsolation, "The machine's name as the command sees it.",
     [](RunRequest& request, std::string_view text) {
       return store(request.spec.hostname, parse_hostname(text));
     },
     [](const RunRequest& request) { return request.spec.hostname; }},
    {"syscalls", "PROFILE", kIsolation, "The system calls that it may make, as a named profile.",
     [](RunRequest& request, std::string_view text) {
       return store(request.spec.syscalls, parse_profile_name(text));
     },
     [](const RunRequest& request) { return request.spec.syscalls; }},
    {"require", "LAYER", kIsolation,
     "Refuse to run unless this layer is in force; landlock:N asks for at least version N. The "
     "layers are listed below.",
     [](RunRequest& request, std::string_view text) {
       return append(request.spec.requirements, parse_requirement(text));
     },
     nullptr, Times::many},

    {"ahead", "cell|python|node", kIsolation,
     "Make the cell first and give it its command when it is ready, as the service does. With "
     "python or node an interpreter has started in it already, and the command is one of its "
     "scripts: python3 -B SCRIPT, node SCRIPT.",
     [](RunRequest& request, std::string_view text) {
       request.ahead = true;
       return store(request.spec.warm.interpreter, parse_ahead(text));
     }},

    {"via", "SOCKET|URL", kService,
     "Have the service that listens there run the command, in a cell of its pool: the path of its "
     "unix socket, or http://ADDRESS:PORT. Who asks, says the key in SALLYPORT_KEY; what may run, "
     "and what it sees, says the service's policy. Of the options here, those under Limits (only "
     "tighter than the policy's), --in, --out, --stdin and those of the result go with it; and "
     "--read and --write, with a unix socket, for a tool that lets its callers show it files.",
     [](RunRequest& request, std::string_view text) {
       request.via = text;
       return Result<void>();
     }},
    {"tool", "NAME", kService,
     "Which tool of the service runs the command, where it has several with `use: run_command`.",
     [](RunRequest& request, std::string_view text) {
       request.tool = text;
       return Result<void>();
     }},

    {"json", "", kOutput, "Print only the result, as JSON, with the output in it.",
     turn_on<&RunRequest::json>},
    {"result-file", "FILE", kOutput, "Write the result there, and let the output stream as usual.",
     [](RunRequest& request, std::string_view text) {
       request.result_file = text;
       return Result<void>();
     }},
    {"timings", "", kOutput, "Show how long each step of the launch took.",
     turn_on<&RunRequest::timings>},
    {"verbose", "", kOutput, "Say on standard error which layers are in force and what was used.",
     turn_on<&RunRequest::verbose>},
    {"help", "", kOutput, "Print this text.", turn_on<&RunRequest::help>},
};

// Whoever lowers the hard limit alone means both; whoever raises the soft one above it has to say
// which of the two to believe.
Result<void> settle_output_limits(Limits& limits, bool kept_was_given) {
  if (limits.max_output <= limits.max_output_hard) return {};
  if (kept_was_given) {
    return fail(Reason::argument,
                "--max-output " + to_text(limits.max_output) + " is more than --max-output-hard " +
                    to_text(limits.max_output_hard),
                "raise --max-output-hard too, or lower --max-output");
  }
  limits.max_output = limits.max_output_hard;
  return {};
}

constexpr std::string_view kGoWithVia[] = {"via", "tool",  "read", "write",      "in",
                                           "out", "stdin", "json", "result-file"};

// A service has its own rules for what a command sees; what would be left out is refused.
Result<void> settle_via(RunRequest& request, const ParsedOptions& parsed) {
  if (request.via.empty()) {
    if (request.tool.empty()) return {};
    return fail(Reason::argument, "--tool is the tool of a service, and --via is missing");
  }
  for (const std::string_view name : parsed.given) {
    const auto row = std::ranges::find(kRunOptions, name, &Option<RunRequest>::name);
    if (row->group == kLimits) {
      std::string key(name);
      std::ranges::replace(key, '-', '_');
      request.asked_limits[key] = row->preset(request);
    } else if (std::ranges::find(kGoWithVia, name) == std::end(kGoWithVia)) {
      return fail(Reason::argument, "--" + std::string(name) + " does not go with --via",
                  "what the command sees is for the service's policy to say (`files`, `network`, "
                  "`environment` of the tool); --in takes files along, and --read and --write "
                  "show some where the policy lets callers do so");
    }
  }
  return {};
}

}  // namespace

CellSpec shell_defaults() {
  CellSpec spec;
  spec.limits.max_output = 10_MB;
  spec.limits.max_output_hard = 100_MB;
  spec.network.requests = kRequestsOfARun;
  spec.network.upload = spec.network.download = kGreatestSize;
  return spec;
}

Result<RunRequest> parse_run(std::span<const char* const> words) {
  RunRequest request;
  auto parsed = parse_options<RunRequest>(kRunOptions, words, request);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  if (request.help) return request;

  if (parsed->rest.empty()) {
    return fail(Reason::argument, "no command was given",
                "write it behind the options: sallyport run [OPTIONS] -- COMMAND [ARGS...]");
  }
  request.spec.command.assign(parsed->rest.begin(), parsed->rest.end());
  if (request.spec.command[0].empty())
    return fail(Reason::argument, "the command is an empty word", "write the name of a program");
  auto settled = settle_output_limits(request.spec.limits, parsed->has("max-output"));
  if (!settled) return std::unexpected(std::move(settled.error()));
  if (auto via = settle_via(request, *parsed); !via) return std::unexpected(std::move(via.error()));
  return request;
}

std::string help_text() {
  std::string profiles;
  for (const ProfileText& profile : profile_texts())
    profiles.append(help_row(profile.name, profile.sentence));
  std::string layers;
  for (const LayerText& layer : kLayers)
    layers.append(help_row(layer.name, layer.sentence));

  return R"(Usage: sallyport run [OPTIONS] [--] COMMAND [ARGS...]

Runs COMMAND in a cell of its own. It sees the system read-only, an empty /workspace to work in, no
network but its own loopback and the hosts of --net, and nothing else of this machine unless an
option here shows it. When it ends, all its processes and files are gone. Defaults stand in
brackets.

)" + options_help<RunRequest>(kRunOptions, RunRequest{}) +
         R"(
Units
  SIZE  B, kB, MB, GB (powers of 1000); KiB, MiB, GiB (powers of 1024). As in 256MiB or 1.5GB.
  TIME  ms, s, min, h. As in 500ms, 1.5s or 5min.
  RATE  a size per second. As in 20MB/s.

Profiles for --syscalls
)" + profiles +
         R"(
Layers for --require
)" + layers +
         R"(
Exit codes
  124   The time was up (--timeout).
  125   The cell could not be made, or the request was wrong. Nothing ran.
  126   COMMAND was found but cannot be run.
  127   COMMAND was not found.
  130   You ended it (^C, or SIGTERM to sallyport).
  137   Killed at a limit; standard error says which.
  else  COMMAND's own, or 128 + N if signal N ended it.

Examples
  Run a script that nobody has read:
    sallyport run --in script.py -- python3 script.py
  Build and test a project in place, with more time and memory:
    sallyport run --write .:/workspace --timeout 5min --cpu 20min --memory 2GiB -- make test
  Turn data into plots, and get the result as JSON:
    sallyport run --json --in plot.py --in data.csv --out '*.png' -- python3 plot.py data.csv
  Fetch from one host, and from no other:
    sallyport run --net example.com -- curl -sS https://example.com/
  In a cell that a service has ready, under its policy:
    sallyport run --via /run/sallyport/sock -- ls -l
)";
}

}  // namespace sallyport
