#include "door/cli/audit_request.h"

#include <algorithm>

#include "audit/record_line.h"
#include "base/parse.h"
#include "base/text.h"
#include "door/cli/mixed_words.h"
#include "sallyport/units.h"

namespace sallyport {
namespace {

using Verb = AuditRequest::Verb;

struct VerbText {
  std::string_view name;
  Verb verb;
  std::string_view usage;    // behind the name
  std::string_view options;  // that it takes, beside --state and --help
  std::string_view about;
  std::string_view example;
  std::string_view good, bad;  // the exit codes 0 and 1; empty: there is no 1
};
constexpr VerbText kVerbs[] = {
    {"verify", Verb::verify, "[OPTIONS]", "tenant key checkpoint json",
     "Finds whether the log is what was written: a record that was changed, removed, put in or "
     "moved is named. What that proves, and what not, stands in docs/audit.md.",
     "sallyport audit verify --state DIR --key audit-key.pub --checkpoint kept-elsewhere",
     "The log is good.", "The log is not what was written."},
    {"search", Verb::search, "[OPTIONS]",
     "tenant caller tool status reason record since until limit oldest-first json",
     "Prints the records that are asked for, newest first, a line each.",
     "sallyport audit search --state DIR --caller agent_7 --since 2h --status blocked", "Done.",
     ""},
    {"tail", Verb::tail, "[-f] [OPTIONS]",
     "tenant caller tool status reason record since until limit follow json",
     "Prints the last records, the newest at the end; with -f, also those that come.",
     "sallyport audit tail -f --state DIR --tenant acme", "Done.", ""},
    {"show", Verb::show, "CALL_ID [OPTIONS]", "tenant record json",
     "Prints all that is recorded of one call.", "sallyport audit show CALL_ID --state DIR",
     "Done.", "There is no record of the call."},
    {"export", Verb::export_, "[OPTIONS]",
     "tenant caller tool status reason record since until limit format",
     "Writes records for other programs, oldest first. In CSV, what a spreadsheet would take for a "
     "formula gets a ' in front, and control characters are written out, such as \\x1b.",
     "sallyport audit export --state DIR --format csv --since 2026-10-01 --until 2026-11-01",
     "Done.", ""},
    {"prove", Verb::prove, "CALL_ID | --tenant NAME --seq N | --check FILE", "tenant seq check key",
     "Writes the proof that one record is in the log to stdout; with --check, checks one, which "
     "needs nothing of the log but its public key.",
     "sallyport audit prove CALL_ID --state DIR >proof.json\n"
     "  sallyport audit prove --check proof.json --key audit-key.pub",
     "Done; the proof holds.", "The proof does not hold."},
    {"checkpoint", Verb::checkpoint, "[OPTIONS]", "tenant",
     "Signs what was written since the last checkpoint, and prints the checkpoint.",
     "sallyport audit checkpoint --state DIR", "Done.", ""}};

bool takes(const VerbText& verb, std::string_view option) {
  if (option == "state" || option == "help") return true;
  for (std::string_view rest = verb.options; !rest.empty();)
    if (take(rest, ' ') == option) return true;
  return false;
}

template <std::string AuditQuery::* Field>
Result<void> set_query(AuditRequest& request, std::string_view value) {
  request.query.*Field = value;
  return {};
}

template <std::string AuditRequest::* Field>
Result<void> set_text(AuditRequest& request, std::string_view value) {
  request.*Field = value;
  return {};
}

template <bool AuditRequest::* Field>
Result<void> turn_on(AuditRequest& request, std::string_view) {
  request.*Field = true;
  return {};
}

Result<void> set_limit(AuditRequest& request, std::string_view value) {
  const auto number = whole_number<std::size_t>(value);
  if (!number) return fail(Reason::argument, quoted(value) + " is no number", "0 means all");
  request.query.limit = *number;
  request.limited = true;
  return {};
}

Result<void> set_seq(AuditRequest& request, std::string_view value) {
  request.seq = whole_number<std::uint64_t>(value);
  if (!request.seq) return fail(Reason::argument, quoted(value) + " is no number of a record");
  return {};
}

Result<void> set_format(AuditRequest& request, std::string_view value) {
  const auto format = parse_export_format(value);
  if (!format)
    return fail(Reason::argument, quoted(value) + " is not a format", "write jsonl, ocsf or csv");
  request.format = *format;
  return {};
}

constexpr Option<AuditRequest> kAuditOptions[] = {
    {"tenant", "NAME", "Which records", "Of this tenant. Without it: of all.",
     set_query<&AuditQuery::tenant>},
    {"caller", "NAME", "Which records", "Of this caller.", set_query<&AuditQuery::caller>},
    {"tool", "NAME", "Which records", "Of calls of this tool.", set_query<&AuditQuery::tool>},
    {"status", "STATUS", "Which records", "success, error, killed or blocked.",
     set_query<&AuditQuery::status>},
    {"reason", "REASON", "Which records", "With this reason.", set_query<&AuditQuery::reason>},
    {"record", "KIND", "Which records", "intent, outcome, or a record of the log itself.",
     set_query<&AuditQuery::record>},
    {"since", "TIME", "Which records",
     "Not before: a time in UTC such as 2026-10-04 or 2026-10-04T12:30:00Z, or 2h for the last two "
     "hours.",
     set_query<&AuditQuery::since>},
    {"until", "TIME", "Which records", "Before.", set_query<&AuditQuery::until>},
    {"limit", "N", "Which records",
     "At most so many; 0: all. Without it: search 100, tail 10, export all.", set_limit},
    {"oldest-first", "", "Which records", "In the order in which they were written.",
     [](AuditRequest& request, std::string_view) {
       request.query.newest_first = false;
       return Result<void>();
     }},
    {"key", "KEY", "Checking",
     "The public key, or a file that holds it. Without it: audit-key.pub.",
     set_text<&AuditRequest::key>},
    {"checkpoint", "FILE", "Checking", "Checkpoints that were kept elsewhere: the log must agree.",
     [](AuditRequest& request, std::string_view value) {
       request.outside.emplace_back(value);
       return Result<void>();
     },
     nullptr, Times::many},
    {"seq", "N", "Checking", "The number of the record to prove; needs --tenant.", set_seq},
    {"check", "FILE", "Checking", "Check a proof, without the log.",
     set_text<&AuditRequest::check>},
    {"state", "DIR", "Options",
     "The state directory of the calls. Without it, the private one of the user who asks.",
     set_text<&AuditRequest::state>},
    {"format", "jsonl|ocsf|csv", "Options", "The form of an export.", set_format,
     [](const AuditRequest&) { return std::string("jsonl"); }},
    {"follow", "", "Options", "Go on as records are written; also -f.",
     turn_on<&AuditRequest::follow>},
    {"json", "", "Options", "Print JSON.", turn_on<&AuditRequest::json>},
    {"help", "", "Options", "Print this text.", turn_on<&AuditRequest::help>},
};

// "2h" is so long ago.
void count_back(std::string& time, std::int64_t now) {
  if (const auto ago = parse_duration(time)) time = time_text(now - ago->count());
}

std::string exit_codes(std::string_view good, std::string_view bad) {
  std::string text = "\nExit codes\n  0     " + std::string(good) + "\n";
  if (!bad.empty()) text.append("  1     ").append(bad).append("\n");
  return text.append(
      "  2     The request was wrong, or there is no audit log in the state directory.\n"
      "  125   The state directory cannot be used.\n");
}

// Options that are given to no purpose are mistakes.
Result<void> check_taken(const VerbText& verb, std::span<const std::string_view> given) {
  for (const std::string_view option : given) {
    if (takes(verb, option)) continue;
    std::string others;
    for (const VerbText& other : kVerbs)
      if (takes(other, option)) others.append(others.empty() ? "" : ", ").append(other.name);
    return fail(Reason::argument,
                "audit " + std::string(verb.name) + " takes no --" + std::string(option),
                "it is for " + others + "; `sallyport audit " + std::string(verb.name) +
                    " --help` lists what it takes");
  }
  return {};
}

}  // namespace

Result<AuditRequest> parse_audit(std::span<const char* const> words, std::int64_t now) {
  AuditRequest request;
  std::vector<const char*> spelled(words.begin(), words.end());
  for (const char*& word : spelled)
    if (std::string_view(word) == "-f") word = "--follow";
  std::vector<std::string_view> given;
  const auto others = parse_mixed<AuditRequest>(kAuditOptions, spelled, request, &given);
  if (!others) return std::unexpected(others.error());
  if (request.help && others->empty()) return request;
  const std::string_view name = others->empty() ? "" : others->front();
  const auto verb = std::ranges::find(kVerbs, name, &VerbText::name);
  if (verb == std::end(kVerbs))
    return fail(
        Reason::argument,
        name.empty() ? "nothing is asked of the audit log" : "audit has no command " + quoted(name),
        "write sallyport audit verify, prove, tail, search, show, export or checkpoint");
  request.verb = verb->verb;
  if (request.help) return request;
  if (auto taken = check_taken(*verb, given); !taken) return std::unexpected(taken.error());
  const bool proves_call =
      request.verb == Verb::prove && request.check.empty() && !request.seq.has_value();
  const std::size_t wanted = request.verb == Verb::show || proves_call ? 2 : 1;
  if (others->size() != wanted)
    return fail(Reason::argument,
                wanted == 2 ? "the call is missing, or there are too many words"
                            : quoted(others->back()) + " is one word too many",
                "write sallyport audit " + std::string(name) + " " +
                    (wanted == 2 ? "CALL_ID" : std::string(verb->usage)));
  if (wanted == 2) request.query.call_id = others->back();
  if (request.seq && request.query.tenant.empty())
    return fail(Reason::argument, "--seq is the number of a record of one tenant",
                "name it with --tenant");
  count_back(request.query.since, now);
  count_back(request.query.until, now);
  return request;
}

std::string audit_help_text(std::optional<Verb> verb) {
  if (verb) {
    const auto& text = *std::ranges::find(kVerbs, *verb, &VerbText::verb);
    std::vector<Option<AuditRequest>> options;
    std::ranges::copy_if(kAuditOptions, std::back_inserter(options),
                         [&](const auto& row) { return takes(text, row.name); });
    return "Usage: sallyport audit " + std::string(text.name) + " " + std::string(text.usage) +
           "\n\n" + wrapped(text.about, 0) + "\n" +
           options_help<AuditRequest>(options, AuditRequest{}) + "\nExample\n  " +
           std::string(text.example) + "\n" + exit_codes(text.good, text.bad);
  }
  std::string commands;
  for (const VerbText& each : kVerbs)
    commands.append(help_row(each.name, each.about));
  return "Usage: sallyport audit COMMAND [--state DIR] [OPTIONS]\n\n"
         "Reads the log of calls, and finds whether it is what was written.\n\nCommands\n" +
         commands + "\n`sallyport audit COMMAND --help` tells the options of one.\n" +
         exit_codes("Done; the log is good, the proof holds.",
                    "The log is not what was written, the proof does not hold, or there is no such "
                    "call.");
}

}  // namespace sallyport
