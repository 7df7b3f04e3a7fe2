#include "door/cli/suggest_command.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>

#include "base/text.h"
#include "cell/observe.h"
#include "cell/run.h"
#include "door/cli/option_table.h"
#include "door/cli/problem.h"
#include "door/cli/process.h"
#include "door/cli/suggest_proposal.h"
#include "door/cli/values.h"

namespace sallyport {
namespace {

constexpr std::string_view kFiles = "Files";
constexpr std::string_view kLimits = "Limits of the observed run";
constexpr std::string_view kOutput = "Output";

template <auto Field, auto Parse>
Result<void> limit(SuggestRequest& request, std::string_view text) {
  auto value = Parse(text);
  if (!value) return std::unexpected(std::move(value.error()));
  request.spec.limits.*Field = *value;
  return {};
}

template <ByteSize Least>
Result<ByteSize> size(std::string_view text) {
  return parse_size_between(text, Least, kGreatestSize);
}

Result<unsigned> process_count(std::string_view text) {
  return parse_count(text, 1, 32'768);
}

template <auto Field>
std::string preset(const SuggestRequest& request) {
  return to_text(request.spec.limits.*Field);
}

template <bool Write>
Result<void> add_grant(SuggestRequest& request, std::string_view text) {
  auto grant = parse_grant(text, Write);
  if (!grant) return std::unexpected(std::move(grant.error()));
  request.spec.grants.push_back(std::move(*grant));
  return {};
}

Result<void> set_name(SuggestRequest& request, std::string_view text) {
  if (tool_name(text) != text)
    return fail(Reason::argument, quoted(text) + " is no name for a tool",
                "small letters, digits and '_', such as " + tool_name(text));
  request.name = text;
  return {};
}

Result<void> add_variable(SuggestRequest& request, std::string_view text) {
  auto variable = parse_variable(text);
  if (!variable) return std::unexpected(std::move(variable.error()));
  const auto same_key = [&](const auto& other) { return other.first == variable->first; };
  if (std::ranges::any_of(request.spec.environment, same_key))
    return fail(Reason::argument, quoted(variable->first).append(" is given more than once"),
                "give each variable once");
  request.spec.environment.push_back(std::move(*variable));
  return {};
}

template <bool SuggestRequest::* Field>
Result<void> turn_on(SuggestRequest& request, std::string_view) {
  request.*Field = true;
  return {};
}

constexpr Option<SuggestRequest> kSuggestOptions[] = {
    {"read", "PATH[:INSIDE]", kFiles,
     "Show a file or directory too that is hidden otherwise: of /etc, /tmp or /run.",
     add_grant<false>, nullptr, Times::many},
    {"write", "PATH[:INSIDE]", kFiles,
     "Let the command write there. Its changes stay. Without it, only its scratch is writable.",
     add_grant<true>, nullptr, Times::many},
    {"env", "KEY=VALUE", kFiles, "Set an environment variable.", add_variable, nullptr,
     Times::many},
    {"stdin", "", kFiles, "Pass standard input on; without it the command reads /dev/null.",
     [](SuggestRequest& request, std::string_view) {
       request.spec.use_stdin = true;
       return Result<void>();
     }},
    {"timeout", "TIME", kLimits, "Wall-clock time.", limit<&Limits::timeout, parse_time_limit>,
     preset<&Limits::timeout>},
    {"cpu", "TIME", kLimits, "CPU time of all processes together.",
     limit<&Limits::cpu, parse_time_limit>, preset<&Limits::cpu>},
    {"cpus", "NUMBER", kLimits, "How many CPUs' worth of time; the proposal asks for as many.",
     limit<&Limits::cpus, parse_cpus>, [](const SuggestRequest&) { return std::string("1"); }},
    {"memory", "SIZE", kLimits, "Memory of all processes and the scratch.",
     limit<&Limits::memory, size<1_MiB>>, preset<&Limits::memory>},
    {"processes", "COUNT", kLimits, "Processes and threads at one time.",
     limit<&Limits::processes, process_count>,
     [](const SuggestRequest& request) { return std::to_string(request.spec.limits.processes); }},
    {"disk", "SIZE", kLimits, "Bytes in the scratch.", limit<&Limits::disk, size<4_KiB>>,
     preset<&Limits::disk>},
    {"file-size", "SIZE", kLimits, "Bytes in one file that it writes.",
     limit<&Limits::file_size, size<1_B>>, preset<&Limits::file_size>},
    {"name", "NAME", kOutput, "What the tool is called in the proposal.", set_name,
     [](const SuggestRequest&) { return std::string("made from COMMAND"); }},
    {"json", "", kOutput, "Print what was seen, as JSON, in place of the proposal.",
     turn_on<&SuggestRequest::json>},
    {"help", "", kOutput, "Print this text.", turn_on<&SuggestRequest::help>},
};

// Never shown whole: the cell's own places, the system that it shows anyway, secrets and sockets.
constexpr std::string_view kHidden[] = {
    "/bin",        "/boot", "/dev", "/etc",  "/lib", "/lib32", "/lib64", "/libx32",
    "/lost+found", "/proc", "/run", "/sbin", "/sys", "/tmp",   "/usr",   "/workspace",
};

// The directories in a directory that can be read, and the symlinks to such, each shown at its own
// path.
std::vector<Grant> directories_in(const std::string& parent) {
  std::vector<Grant> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(parent.c_str()), ::closedir);
  while (const dirent* entry = listing ? ::readdir(listing.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string path = (parent == "/" ? "/" : parent + "/") + name;
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), ::free);
    struct stat status{};
    if (!real || ::stat(real.get(), &status) != 0 || !S_ISDIR(status.st_mode) ||
        ::access(real.get(), R_OK | X_OK) != 0)
      continue;
    found.push_back({.host = real.get(), .inside = path, .write = false});
  }
  std::ranges::sort(found, {}, &Grant::inside);
  return found;
}

bool is_hidden(const std::string& path) {
  return path == "/" ||
         std::ranges::any_of(kHidden, [&](std::string_view place) { return lies_in(path, place); });
}

// Absolute, as the cell will name it.
Result<void> settle_grants(std::vector<Grant>& grants) {
  const std::unique_ptr<char, void (*)(void*)> here(::getcwd(nullptr, 0), ::free);
  for (Grant& grant : grants) {
    if (!grant.host.starts_with('/')) {
      if (!here || here.get()[0] != '/')
        return fail(Reason::argument, "the current directory cannot be named",
                    "give absolute paths");
      grant.host = std::string(here.get()) + "/" + grant.host;
    }
    grant.host = plain_path(grant.host);
    if (grant.inside.empty()) grant.inside = grant.host;
  }
  return {};
}

// Whether there was nothing to watch: the program was not found, or is none. The hint tells this
// from a command that ended with such a code itself.
bool never_started(const Outcome& outcome) {
  return outcome.status == Status::error && outcome.reason == Reason::exit &&
         !outcome.hint.empty() && (outcome.exit_code == 126 || outcome.exit_code == 127);
}

// The observed run starts in /workspace, as a tool does.
std::string not_here(const SuggestRequest& request) {
  const std::string& program = request.spec.command[0];
  return !program.starts_with('/') && ::access(program.c_str(), X_OK) == 0
             ? "it is there in this directory, but a cell starts in /workspace: write its path in "
               "full"
             : "name a program that can be run: with its path in full, or one of /usr/bin";
}

void explain(const SuggestRequest& request, const Outcome& outcome) {
  if (!outcome.message.empty()) say(outcome.message);
  if (!outcome.hint.empty()) say("hint: " + outcome.hint);
  if (outcome.status == Status::success) return;
  say("the command failed in the observed run; the proposal covers what it did until then");
  // A tool starts in /workspace, not here.
  for (const std::string& word : request.spec.command)
    if (!word.starts_with('/') && word.find('/') != 0 && ::access(word.c_str(), F_OK) == 0)
      say("hint: " + quoted(word) +
          " is there in this directory, but a cell starts in /workspace: "
          "write its path in full");
}

}  // namespace

CellSpec generous_spec() {
  CellSpec spec;
  spec.syscalls = "build";  // the widest; the narrowest that would do is found out
  spec.limits.timeout = std::chrono::minutes(10);
  spec.limits.cpu = std::chrono::minutes(20);
  spec.limits.memory = 2_GiB;
  spec.limits.processes = 1'024;
  spec.limits.disk = 1_GiB;
  spec.limits.file_size = 1_GB;
  spec.limits.max_output = 1_MB;
  spec.limits.max_output_hard = 100_MB;
  spec.limits.refused_syscalls = 100'000;
  return spec;
}

Result<SuggestRequest> parse_suggest(std::span<const char* const> words) {
  SuggestRequest request;
  auto parsed = parse_options<SuggestRequest>(kSuggestOptions, words, request);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  if (request.help) return request;
  if (parsed->rest.empty() || std::string_view(parsed->rest[0]).empty())
    return fail(
        Reason::argument, "no command was given",
        "write it behind the options: sallyport policy suggest [OPTIONS] -- COMMAND [ARGS...]");
  request.spec.command.assign(parsed->rest.begin(), parsed->rest.end());
  if (request.name.empty()) request.name = tool_name(request.spec.command[0]);
  return request;
}

std::string suggest_help_text() {
  return R"(Usage: sallyport policy suggest [OPTIONS] [--] COMMAND [ARGS...]

Runs COMMAND once in a cell in which it can read what you can read, and prints the least that a
policy would have to give it: files, hosts, system calls and limits, as a tool to paste into a
policy file. The cell has no network: names and addresses are noted when they are first tried, and
then lead nowhere. What COMMAND writes goes to standard error. Defaults stand in brackets.

)" + options_help<SuggestRequest>(kSuggestOptions, SuggestRequest{}) +
         R"(
Exit codes
  0     There is a proposal, also when COMMAND failed; a comment in it says how it ended.
  126   COMMAND was found but cannot be run.
  127   COMMAND was not found.
  125   The cell could not be made, or the request was wrong. Nothing ran.

Example
  sallyport policy suggest -- python3 /srv/shop/report.py --month 2024-05
)";
}

std::vector<Grant> permissive_grants(const std::vector<Grant>& given) {
  std::vector<Grant> shown = directories_in("/");
  // For root, a grant shows the files of its directory's owner; those of each user need their own.
  if (::geteuid() == 0) std::ranges::move(directories_in("/home"), std::back_inserter(shown));
  std::vector<Grant> grants = given;
  for (Grant& grant : shown)
    if (!is_hidden(grant.host) && !is_hidden(grant.inside) &&
        std::ranges::none_of(given, [&](const Grant& own) { return own.inside == grant.inside; }))
      grants.push_back(std::move(grant));
  return grants;
}

int suggest_command(std::span<const char* const> words) {
  if (auto streams = open_missing_streams(); !streams) {
    print_error(streams.error());
    return kCouldNotStart;
  }
  auto request = parse_suggest(words);
  if (request && request->help) {
    std::fputs(suggest_help_text().c_str(), stdout);
    return 0;
  }
  auto settled = request ? settle_grants(request->spec.grants) : Result<void>();
  if (!request || !settled) {
    print_error(request ? settled.error() : request.error());
    say("`sallyport policy suggest --help` lists all options");
    return kCouldNotStart;
  }

  Observation seen;
  const std::vector<Grant> given = request->spec.grants;
  CellSpec spec = request->spec;
  spec.grants = permissive_grants(given);
  spec.observation = &seen;
  Fd cancel = catch_signals();
  // Both streams: standard output is for the proposal.
  const Outcome outcome = run_cell(spec, {.input = STDIN_FILENO,
                                          .output = STDERR_FILENO,
                                          .error = STDERR_FILENO,
                                          .cancel = cancel.get()});
  release_signals(std::move(cancel));
  if (outcome.status == Status::blocked) {
    report_problem({outcome.reason, outcome.message, outcome.hint}, request->json);
    return kCouldNotStart;
  }
  if (never_started(outcome)) {
    report_problem({Reason::argument, outcome.message + ", so there is nothing to propose",
                    not_here(*request)},
                   request->json);
    return outcome.exit_code.value_or(kCouldNotStart);
  }
  // Without root the supervisor cannot see which program the cell's init starts.
  if (const std::string& program = spec.command[0]; program.starts_with('/'))
    seen.note_file(plain_path(program), {.executed = true});
  const Proposal proposal = propose(request->name, spec, given, seen, outcome);
  explain(*request, outcome);
  const std::string text = request->json ? observation_json(proposal, seen, outcome)
                                         : proposal_yaml(proposal, seen, outcome);
  return write_all(STDOUT_FILENO, text) ? 0 : kCouldNotStart;
}

}  // namespace sallyport
