#include "door/cli/audit_command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <thread>

#include "access/act_as_owner.h"
#include "access/state_directory.h"
#include "audit/journal.h"
#include "audit/prove.h"
#include "audit/record_line.h"
#include "audit/stream_files.h"
#include "base/file.h"
#include "base/text.h"
#include "door/cli/audit_request.h"
#include "door/cli/process.h"

namespace sallyport {
namespace {

constexpr int kGood = 0, kBad = 1;
constexpr std::size_t kTailLines = 10;
constexpr std::size_t kEgressRecords = 1000;  // most calls ask nothing of the network
constexpr std::chrono::milliseconds kPoll{200};
constexpr std::string_view kNameState = "name the state directory of the calls with --state DIR";

using Verb = AuditRequest::Verb;

Result<std::string> read_text(const std::string& path) {
  auto text = read_file(path.c_str());
  if (!text) return fail(Reason::argument, "cannot read " + quoted(path));
  return std::move(*text);
}

Result<std::optional<VerifyingKey>> key_of(const AuditRequest& request) {
  if (request.key.empty()) return std::nullopt;
  const auto text = read_file(request.key.c_str());
  auto key = VerifyingKey::parse(text ? *text : request.key);
  if (!key) return std::unexpected(std::move(key.error()));
  return std::move(*key);
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int verify(int state, const AuditRequest& request) {
  VerifyOptions options{.stream = request.query.tenant};
  auto key = key_of(request);
  if (!key) return report(key.error());
  options.key = std::move(*key);
  for (const std::string& path : request.outside) {
    const auto text = read_text(path);
    if (!text) return report(text.error());
    auto notes = split_notes(*text);
    if (!notes) return report(notes.error());
    std::ranges::move(*notes, std::back_inserter(options.outside));
  }
  const auto found = verify_audit(state, options);
  if (!found) return report(found.error());
  print(request.json ? verify_json(*found) + "\n" : verify_text(*found));
  return found->good() ? kGood : kBad;
}

// Reading must not make a directory where the name was mistyped.
Result<Fd> open_state(const AuditRequest& request) {
  const auto path = request.state.empty() ? private_state_directory() : request.state;
  if (!path) return std::unexpected(path.error());
  if (::access(path->c_str(), F_OK) != 0)
    return fail(Reason::argument, "there is no directory " + quoted(*path),
                std::string(kNameState));
  return open_state_as_owner(request.state);
}

// A state directory that has a log. One that is gone is for `verify` to find, when a checkpoint
// from outside says that there was one.
Result<Fd> open_log(const AuditRequest& request) {
  auto directory = open_state(request);
  struct stat status{};
  if (directory && request.outside.empty() &&
      ::fstatat(directory->get(), "audit", &status, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
    return fail(Reason::argument,
                "there is no audit log in " + (request.state.empty()
                                                   ? private_state_directory().value_or("")
                                                   : quoted(request.state)),
                std::string(kNameState));
  return directory;
}

int check(const AuditRequest& request) {
  auto key = key_of(request);
  if (!key) return report(key.error());
  if (!*key) {
    const auto directory = open_state(request);
    auto own = directory ? read_verifying_key(directory->get())
                         : Result<VerifyingKey>(std::unexpected(directory.error()));
    if (!own)
      return report({Reason::argument, "there is no key to check with: " + own.error().message,
                     "name the audit-key.pub of the log with --key FILE"});
    *key = std::move(*own);
  }
  const auto text = read_text(request.check);
  if (!text) return report(text.error());
  const auto proven = check_proof(*text, **key);
  if (!proven) {
    print_error(proven.error());
    return kBad;
  }
  say("the record is in the log " + proven->checkpoint.stream + " as signed at " +
      proven->checkpoint.time);
  print(canonical_json(proven->record) + "\n");
  return kGood;
}

// The last record of the call, which is its outcome if it has one.
Result<std::pair<std::string, std::uint64_t>> find_call(int state, const AuditRequest& request) {
  AuditQuery query = request.query;
  query.limit = 1;
  query.newest_first = true;
  std::optional<std::pair<std::string, std::uint64_t>> place;
  auto end = scan_audit(state, query, [&](const std::string& stream, std::string_view line) {
    if (const auto view = read_record(line)) place.emplace(stream, view->seq);
    return true;
  });
  if (!end) return std::unexpected(std::move(end.error()));
  if (!place)
    return fail(Reason::argument, "there is no record of the call " + quoted(query.call_id));
  return *place;
}

int prove(int state, const AuditRequest& request) {
  std::pair<std::string, std::uint64_t> place(request.query.tenant, request.seq.value_or(0));
  if (!request.seq) {
    auto found = find_call(state, request);
    if (!found) return report(found.error());
    place = std::move(*found);
  }
  const auto proof = prove_record(state, place.first, place.second);
  if (!proof) return report(proof.error());
  print(canonical_json(*proof) + "\n");
  return kGood;
}

std::string shown(const AuditRequest& request, const std::string& stream, std::string_view line) {
  if (request.network) return network_text(line, request.json);
  return request.json ? std::string(line) + "\n" : record_text(stream, line);
}

int search(int state, const AuditRequest& request) {
  const auto end =
      scan_audit(state, request.query, [&](const std::string& stream, std::string_view line) {
        print(shown(request, stream, line));
        return std::ferror(stdout) == 0;
      });
  return end ? kGood : report(end.error());
}

// The last record of each stream, whether it is asked for or not.
Result<std::map<std::string, std::uint64_t>> ends_of_streams(int state, const std::string& tenant) {
  std::map<std::string, std::uint64_t> ends;
  const auto audit = open_directory(state, "audit", false);
  if (!audit) return std::unexpected(audit.error());
  if (!audit->valid()) return ends;
  const auto names = list_streams(audit->get());
  if (!names) return std::unexpected(names.error());
  for (const std::string& name : *names) {
    if (!tenant.empty() && name != tenant) continue;
    auto end = scan_audit(state, {.tenant = name, .limit = 1},
                          [&](const std::string& stream, std::string_view line) {
                            if (const auto view = read_record(line)) ends[stream] = view->seq;
                            return true;
                          });
    if (!end) return std::unexpected(std::move(end.error()));
  }
  return ends;
}

int tail(int state, const AuditRequest& request) {
  AuditQuery query = request.query;
  query.newest_first = true;
  if (!request.limited) query.limit = kTailLines;
  auto places = ends_of_streams(state, query.tenant);
  if (!places) return report(places.error());
  std::vector<std::string> last;
  auto end = scan_audit(state, query, [&](const std::string& stream, std::string_view line) {
    last.push_back(shown(request, stream, line));
    return true;
  });
  if (!end) return report(end.error());
  for (auto line = last.rbegin(); line != last.rend(); ++line)
    print(*line);
  query.newest_first = false;
  query.limit = 0;
  while (request.follow && std::fflush(stdout) == 0) {
    std::this_thread::sleep_for(kPoll);
    query.cursor.clear();
    for (const auto& [stream, seq] : *places)
      query.cursor.append(query.cursor.empty() ? "" : ",")
          .append(stream)
          .append(":")
          .append(std::to_string(seq));
    end = scan_audit(state, query, [&](const std::string& stream, std::string_view line) {
      if (const auto view = read_record(line)) (*places)[stream] = view->seq;
      print(shown(request, stream, line));
      return true;
    });
    if (!end) return report(end.error());
  }
  return kGood;
}

int show(int state, const AuditRequest& request) {
  AuditQuery query = request.query;
  query.newest_first = false;
  query.limit = 0;
  bool found = false;
  const auto end = scan_audit(state, query, [&](const std::string& stream, std::string_view line) {
    found = true;
    const auto value = parse_json(line, {.max_depth = 256});
    if (request.json || !value || !value->is_object()) {
      print(std::string(line) + "\n");
      return true;
    }
    print("stream: " + stream + "\n");
    for (const auto& member : value->get_object())
      print(
          escape_for_terminal(std::string(member.key()) + ": " +
                              (member.value().is_string() ? std::string(member.value().get_string())
                                                          : canonical_json(member.value()))) +
          "\n");
    print("\n");
    return true;
  });
  if (!end) return report(end.error());
  if (!found) say("there is no record of the call " + quoted(query.call_id));
  return found ? kGood : kBad;
}

int export_records(int state, const AuditRequest& request) {
  AuditQuery query = request.query;
  query.newest_first = false;
  if (!request.limited) query.limit = 0;
  print(export_header(request.format));
  const auto end = scan_audit(state, query, [&](const std::string& stream, std::string_view line) {
    print(export_record(request.format, stream, line));
    return std::ferror(stdout) == 0;
  });
  return end ? kGood : report(end.error());
}

// Opening the log and closing it makes one where there are new records.
int checkpoint(int state, const AuditRequest& request) {
  std::map<std::string, std::string> made;
  {
    AuditOptions options;
    options.on_checkpoint = [&made](const std::string& stream, const std::string& note) {
      made[stream] = note;
    };
    const auto journal = audit_journal(state, std::move(options));
    if (!journal) return report(journal.error());
  }
  for (const auto& [stream, note] : made)
    if (request.query.tenant.empty() || request.query.tenant == stream) print(note + "\n");
  return kGood;
}

}  // namespace

std::string verify_text(const VerifyReport& report) {
  if (report.streams.empty()) return "There are no records.\n";
  std::string text;
  for (const StreamReport& each : report.streams) {
    text.append(each.stream).append(": ");
    if (each.bad) {
      text.append("BAD: ").append(escape_for_terminal(each.bad->what));
      text.append(" (").append(each.bad->file);
      if (each.bad->seq && each.bad->line > 0)
        text.append(", line ").append(std::to_string(each.bad->line));
      text.append(")\n");
      continue;
    }
    text.append("good: ").append(std::to_string(each.records)).append(" records, ");
    text.append(std::to_string(each.bytes)).append(" bytes, ");
    text.append(std::to_string(each.checkpoints)).append(" checkpoints");
    if (each.covered < each.records)
      text.append("; the last ")
          .append(std::to_string(each.records - each.covered))
          .append(" records are behind the last checkpoint: nothing signed covers them yet");
    if (each.torn_bytes > 0)
      text.append("; the last ")
          .append(std::to_string(each.torn_bytes))
          .append(" bytes are no whole record: one is being written, or a writer died");
    text.append("\n");
  }
  return text;
}

std::string verify_json(const VerifyReport& report) {
  json::array streams;
  for (const StreamReport& each : report.streams) {
    json::object stream{{"stream", each.stream},        {"good", !each.bad},
                        {"records", each.records},      {"bytes", each.bytes},
                        {"segments", each.segments},    {"checkpoints", each.checkpoints},
                        {"covered", each.covered},      {"covered_at", each.covered_at},
                        {"torn_bytes", each.torn_bytes}};
    if (each.bad) {
      json::object bad{
          {"file", each.bad->file}, {"line", each.bad->line}, {"what", each.bad->what}};
      if (each.bad->seq) {
        bad["seq"] = *each.bad->seq;
        bad["from"] = each.bad->from;
      }
      stream["bad"] = std::move(bad);
    }
    streams.push_back(std::move(stream));
  }
  return json::serialize(json::object{{"good", report.good()}, {"streams", std::move(streams)}});
}

std::string record_text(const std::string& stream, std::string_view line) {
  const auto view = read_record(line);
  if (!view) return {};
  std::string text = std::string(view->time) + " " + stream + " " + std::to_string(view->seq);
  for (const std::string_view part :
       {view->record, view->caller, view->tool, view->status, view->reason, view->call_id})
    if (!part.empty()) text.append(" ").append(part);
  return escape_for_terminal(text) + "\n";
}

std::string network_text(std::string_view line, bool as_json) {
  // Most records have no such list, and need not be taken apart.
  if (!line.contains("\"network\":[")) return {};
  const auto record = parse_json(line, {.max_depth = 256});
  const json::value* events = record ? record->if_object()->if_contains("network") : nullptr;
  if (events == nullptr || !events->is_array()) return {};
  const auto member = [](const json::value& value, std::string_view key) -> std::string {
    const json::value* found = value.is_object() ? value.get_object().if_contains(key) : nullptr;
    if (found == nullptr) return {};
    return found->is_string() ? std::string(found->get_string()) : json::serialize(*found);
  };
  std::string text;
  for (const json::value& event : events->get_array()) {
    if (as_json && event.is_object()) {
      json::object row = event.get_object();
      for (const std::string_view key : {"time", "call_id", "tenant", "caller", "tool"})
        row[key] = member(*record, key);
      text += json::serialize(row) + "\n";
      continue;
    }
    std::string row = member(*record, "time");
    for (const std::string_view key : {"caller", "tool"})
      row += " " + member(*record, key);
    for (const std::string_view key : {"verdict", "kind", "host"})
      row += " " + member(event, key);
    if (const auto port = member(event, "port"); !port.empty()) row += ":" + port;
    if (const auto address = member(event, "address"); !address.empty()) row += " at " + address;
    if (member(event, "kind") != "name")
      row += " " + member(event, "sent") + " out " + member(event, "received") + " in";
    if (const auto rule = member(event, "rule"); !rule.empty()) row += " by " + rule;
    if (const auto why = member(event, "why"); !why.empty()) row += ": " + why;
    text += escape_for_terminal(row + " " + member(*record, "call_id")) + "\n";
  }
  return text;
}

int egress_log_command(std::span<const char* const> words) {
  std::vector<const char*> tail_words = {"tail"};
  tail_words.insert(tail_words.end(), words.begin(), words.end());
  auto request = parse_audit(tail_words, wall_clock_us());
  if (!request) return report(request.error());
  if (request->help) {
    print(
        "Usage: sallyport egress log [OPTIONS]\n\n"
        "Prints what calls asked of the network, as the audit log has it: names, connections and\n"
        "requests, each with its verdict. A call is there when it has ended. Attempts at raw\n"
        "addresses are refused by the kernel and seen by nobody.\n\n"
        "The options are those of `sallyport audit tail`: --state, --follow (-f), --limit, "
        "--tenant,\n"
        "--caller, --tool, --since, --until, --json.\n");
    return kGood;
  }
  request->network = true;
  request->query.record = "outcome";
  if (!request->limited) request->query.limit = kEgressRecords;
  request->limited = true;
  const auto directory = open_log(*request);
  if (!directory) return report(directory.error());
  return tail(directory->get(), *request);
}

int audit_command(std::span<const char* const> words) {
  const auto request = parse_audit(words, wall_clock_us());
  if (!request) return report(request.error());
  if (request->help) {
    print(audit_help_text(request->verb));
    return kGood;
  }
  if (!request->check.empty()) return check(*request);
  const auto directory = open_log(*request);
  if (!directory) return report(directory.error());
  const int state = directory->get();
  switch (*request->verb) {
    case Verb::verify:
      return verify(state, *request);
    case Verb::prove:
      return prove(state, *request);
    case Verb::tail:
      return tail(state, *request);
    case Verb::search:
      return search(state, *request);
    case Verb::show:
      return show(state, *request);
    case Verb::export_:
      return export_records(state, *request);
    case Verb::checkpoint:
      return checkpoint(state, *request);
  }
  return kCouldNotStart;
}

}  // namespace sallyport
