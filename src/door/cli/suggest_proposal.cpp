#include "door/cli/suggest_proposal.h"

#include <sys/stat.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

#include "base/text.h"
#include "input/host.h"
#include "kernel/seccomp_profiles.h"

namespace sallyport {
namespace {

// Narrowest first. They are no chain by chance: each grants what the one before it does.
constexpr std::string_view kByWidth[] = {"python-data", "node", "default", "build"};

constexpr std::size_t kMostShown = 20;  // lines of one comment

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address == "0.0.0.0" || address == "::";
}

std::string shown_place(const Destination& place) {
  const bool v6 = place.address.find(':') != std::string::npos;
  return (v6 ? "[" + place.address + "]" : place.address) + ":" + std::to_string(place.port);
}

std::string narrowest_profile(const Observation& seen) {
  for (const std::string_view name : kByWidth)
    if (!seen.refusing_profiles.contains(std::string(name))) return std::string(name);
  return "default";
}

void choose_hosts(const Observation& seen, Proposal& proposal) {
  for (const auto& [name, ports] : seen.names) {
    if (!HostPort::parse(name)) {
      proposal.odd_names.push_back(name);
      continue;
    }
    if (ports.empty()) proposal.hosts.push_back({.name = name, .port_known = false});
    for (const std::uint16_t port : ports)
      proposal.hosts.push_back({.name = name, .port = port});
  }
  for (const Destination& place : seen.destinations)
    (is_loopback(place.address) ? proposal.loopback : proposal.addresses).push_back(place);
}

// The largest file that it wrote outside its scratch.
std::uint64_t largest_written(const Observation& seen, const std::vector<Grant>& given) {
  std::uint64_t largest = 0;
  for (const auto& [path, use] : seen.files) {
    if (!use.written) continue;
    for (const Grant& grant : given) {
      const std::string& inside = grant.inside.empty() ? grant.host : grant.inside;
      if (!grant.write || !lies_in(path, inside)) continue;
      struct stat status{};
      const std::string host = grant.host + path.substr(inside.size());
      if (::lstat(host.c_str(), &status) == 0 && S_ISREG(status.st_mode))
        largest = std::max(largest, static_cast<std::uint64_t>(status.st_size));
    }
  }
  return largest;
}

void choose_limits(const CellSpec& spec, const std::vector<Grant>& given, const Observation& seen,
                   const Outcome& outcome, Proposal& proposal) {
  const Usage& usage = outcome.usage;
  const Limits usual;
  Limits& limits = proposal.limits;
  limits.timeout = roomy(Duration(usage.wall_us), std::chrono::seconds(2));
  limits.cpu = roomy(Duration(usage.cpu_user_us + usage.cpu_system_us), std::chrono::seconds(1));
  limits.cpus = spec.limits.cpus;
  limits.memory = roomy(ByteSize{usage.peak_memory_bytes}, 32_MiB);
  limits.processes = roomy(usage.processes, 8);
  limits.disk = roomy(ByteSize{seen.peak_scratch_bytes}, 1_MiB);
  const ByteSize largest{std::max(seen.peak_scratch_bytes, largest_written(seen, given))};
  limits.file_size = std::max(usual.file_size, roomy(largest, 1_MiB));
  limits.max_output = roomy(ByteSize{usage.output_bytes}, 10_kB);
  limits.max_output_hard = roomy(ByteSize{usage.output_bytes}, usual.max_output_hard);
  std::uint64_t refused = 0;
  for (const auto& [name, count] : outcome.refused_syscalls)
    refused += count;
  limits.refused_syscalls = roomy(refused, usual.refused_syscalls);
}

// ---- Text

std::string comment(std::string_view indent, const std::string& text) {
  return std::string(indent).append("# ").append(escape_for_terminal(text)).append("\n");
}

template <class List, class Show>
std::string comments(std::string_view indent, const std::string& heading, const List& list,
                     const Show& show) {
  if (list.empty()) return {};
  std::string text = comment(indent, heading);
  std::size_t count = 0;
  for (const auto& entry : list) {
    if (++count > kMostShown) {
      text.append(comment(indent, "  … and " + std::to_string(list.size() - kMostShown) + " more"));
      break;
    }
    text.append(comment(indent, "  " + show(entry)));
  }
  return text;
}

std::string itself(const std::string& text) {
  return text;
}

// A brace in `run` begins a placeholder; two write one.
std::string without_placeholders(const std::string& word) {
  std::string text;
  for (const char c : word)
    text.append(c == '{' || c == '}' ? 2 : 1, c);
  return text;
}

std::string file_list(const std::vector<SuggestedFile>& files) {
  if (files.empty()) return " []\n";
  std::string text = "\n";
  for (const SuggestedFile& file : files) {
    if (file.secret) text.append(comment("        ", "WARNING: this looks like a secret."));
    text.append("        - ")
        .append(yaml_quoted(file.inside == file.host ? file.host : file.host + ":" + file.inside))
        .append("\n");
  }
  return text;
}

std::string files_text(const SuggestedFiles& files) {
  constexpr std::string_view kIndent = "    ";
  std::string text =
      "    files:\n      read:" + file_list(files.read) + "      write:" + file_list(files.write);
  text.append(comments(kIndent,
                       "It wanted to write here and was not allowed to; if it must, run this again "
                       "with --write:",
                       files.refused_writes, itself));
  text.append(comments(kIndent,
                       "It listed these directories, which hold too much, or secrets, to be given "
                       "whole:",
                       files.not_whole, itself));
  text.append(comments(kIndent,
                       "It asked for these files of this machine. A cell has an /etc of its own; "
                       "if it needs one of them, run this again with --read:",
                       files.not_in_cells, itself));
  text.append(comments(kIndent, "These cannot be written in a policy file; give their directories:",
                       files.unwritable, itself));
  return text;
}

struct PortText {
  std::uint16_t port;
  std::string_view scheme;
};
constexpr PortText kSchemes[] = {{80, "http"}, {8080, "http"}, {5432, "postgres"}};

// One line of `allow`. What is spoken at a port is not known; https is the strictest guess.
std::string host_text(const SuggestedHost& host) {
  constexpr std::uint16_t kHttps = 443, kOtherHttps = 8443;
  const std::string port = std::to_string(host.port);
  const auto known = std::ranges::find(kSchemes, host.port, &PortText::port);
  if (known != std::end(kSchemes))
    return "{ host: " + yaml_quoted(host.name) + ", port: " + port +
           ", scheme: " + std::string(known->scheme) + " }\n";
  if (!host.port_known)
    return yaml_quoted(host.name) + "  # only looked up; https on 443 is a guess\n";
  if (host.port == kHttps) return yaml_quoted(host.name) + "\n";
  return yaml_quoted(host.name + ":" + port) +
         (host.port == kOtherHttps ? "\n" : "  # https is a guess; else scheme: tcp\n");
}

std::string network_text(const Proposal& proposal) {
  constexpr std::string_view kIndent = "    ";
  std::string text;
  if (proposal.hosts.empty()) {
    text = "    network: none\n";
  } else {
    text = "    network:\n      allow:\n";
    for (const SuggestedHost& host : proposal.hosts)
      text.append("        - ").append(host_text(host));
    text.append(comment(kIndent,
                        "This run had no network, so what it would have asked for after the first "
                        "answer is not known."));
  }
  text.append(comments(kIndent,
                       "It tried these addresses. A policy names hosts: write { host: NAME, port: "
                       "PORT, address: ADDRESS } for those it needs:",
                       proposal.addresses, shown_place));
  text.append(comments(kIndent,
                       "It tried these ports of its own machine, which in a cell has no other "
                       "programs on it:",
                       proposal.loopback, shown_place));
  text.append(comments(
      kIndent, "It looked up these, which are no names of hosts:", proposal.odd_names, itself));
  return text;
}

// Those that were measured, and of the others those that have to be more than usual.
std::string limits_text(const Proposal& proposal) {
  const Limits& limits = proposal.limits;
  const Limits usual;
  std::string text = "    limits: {";
  const auto say = [&text](bool wanted, std::string_view name, const std::string& value) {
    if (!wanted) return;
    text.append(text.ends_with('{') ? " " : ", ").append(name).append(": ").append(value);
  };
  char cpus[32];
  const auto end = std::to_chars(std::begin(cpus), std::end(cpus), limits.cpus).ptr;
  say(true, "timeout", to_text(limits.timeout));
  say(true, "cpu", to_text(limits.cpu));
  say(limits.cpus != usual.cpus, "cpus", std::string(std::begin(cpus), end));
  say(true, "memory", to_text(limits.memory));
  say(true, "processes", std::to_string(limits.processes));
  say(true, "disk", to_text(limits.disk));
  say(limits.file_size != usual.file_size, "file_size", to_text(limits.file_size));
  say(true, "max_output", to_text(limits.max_output));
  say(limits.max_output_hard != usual.max_output_hard, "max_output_hard",
      to_text(limits.max_output_hard));
  say(limits.refused_syscalls != usual.refused_syscalls, "refused_syscalls",
      std::to_string(limits.refused_syscalls));
  return text.append(" }\n");
}

std::string ending(const Outcome& outcome) {
  if (outcome.status == Status::killed)
    return "was killed (" + std::string(name_of(outcome.reason)) + ")";
  return "ended with exit code " + std::to_string(outcome.exit_code.value_or(0));
}

namespace json = boost::json;

json::array file_array(const std::vector<SuggestedFile>& files) {
  json::array array;
  for (const SuggestedFile& file : files)
    array.push_back(json::object{
        {"host", to_utf8(file.host)}, {"inside", to_utf8(file.inside)}, {"secret", file.secret}});
  return array;
}

json::array place_array(const auto& places) {
  json::array array;
  for (const Destination& place : places)
    array.push_back(json::object{{"address", place.address}, {"port", place.port}});
  return array;
}

}  // namespace

Proposal propose(std::string name, const CellSpec& spec, const std::vector<Grant>& given,
                 const Observation& seen, const Outcome& outcome) {
  Proposal proposal;
  proposal.name = std::move(name);
  proposal.run = spec.command;
  proposal.environment = spec.environment;
  proposal.files = suggest_files(seen.files, given);
  choose_hosts(seen, proposal);
  proposal.syscalls = narrowest_profile(seen);
  for (const ProfileText& text : profile_texts())
    if (text.name == proposal.syscalls) proposal.syscalls_sentence = text.sentence;
  choose_limits(spec, given, seen, outcome, proposal);
  return proposal;
}

Duration roomy(Duration used, Duration floor) {
  using std::chrono::seconds;
  constexpr seconds kNice[] = {seconds(1),   seconds(2),   seconds(5),   seconds(10),  seconds(15),
                               seconds(20),  seconds(30),  seconds(60),  seconds(120), seconds(300),
                               seconds(600), seconds(900), seconds(1800)};
  const Duration wanted = std::max(used * 2, floor);
  for (const seconds nice : kNice)
    if (nice >= wanted) return nice;
  return std::chrono::ceil<std::chrono::hours>(wanted);
}

ByteSize roomy(ByteSize used, ByteSize floor) {
  const std::uint64_t wanted = std::max(used.bytes, used.bytes * 2);
  ByteSize size = floor;
  while (size.bytes < wanted && size.bytes < kGreatestSize.bytes / 2)
    size.bytes *= 2;
  return size;
}

unsigned roomy(std::uint64_t used, unsigned floor) {
  constexpr unsigned kMost = 32'768;
  unsigned count = floor;
  while (count < kMost && count < used * 2)
    count *= 2;
  return count;
}

std::string tool_name(std::string_view program) {
  constexpr std::size_t kLongest = 40;
  std::string name;
  for (const char c : program.substr(program.rfind('/') + 1)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      name.push_back(c);
    else if (c >= 'A' && c <= 'Z')
      name.push_back(static_cast<char>(c - 'A' + 'a'));
    else if (!name.empty() && name.back() != '_')
      name.push_back('_');
  }
  name.resize(std::min(name.size(), kLongest));
  while (name.ends_with('_'))
    name.pop_back();
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return "tool";
  return name;
}

std::string yaml_quoted(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string result = "\"";
  while (!text.empty()) {
    const Utf8Char c = first_utf8_char(text);
    const std::string_view bytes = text.substr(0, c.length);
    text.remove_prefix(c.length);
    if (c.code == '"' || c.code == '\\') {
      result.append("\\").append(bytes);
    } else if (c.valid && escape_for_terminal(bytes) == bytes) {
      result.append(bytes);
    } else {
      // Line ends, colours, characters that hide or reorder text: visible, and within the quotes.
      const int digits = c.code > 0xffff ? 8 : 4;
      result.append(digits == 8 ? "\\U" : "\\u");
      for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4)
        result.push_back(kDigits[c.code >> shift & 0xf]);
    }
  }
  return result.append("\"");
}

std::string proposal_yaml(const Proposal& proposal, const Observation& seen,
                          const Outcome& outcome) {
  std::string text = comment(
      "", "Proposed by `sallyport policy suggest` from one run, which " + ending(outcome) + ".");
  text.append(comment("", "Another run may need more. Take out what the tool should not have."));
  if (seen.left_out > 0)
    text.append(comment("", "INCOMPLETE: it asked for more than is kept; " +
                                std::to_string(seen.left_out) + " calls were left out."));
  if (seen.unreadable > 0)
    text.append(comment("", "INCOMPLETE: what " + std::to_string(seen.unreadable) +
                                " calls asked for could not be read."));
  text.append("tools:\n  ").append(proposal.name).append(":\n    run: [");
  bool odd = false;
  for (const std::string& word : proposal.run) {
    if (&word != &proposal.run.front()) text.append(", ");
    odd |= to_utf8(word) != word;
    text.append(yaml_quoted(without_placeholders(word)));
  }
  text.append("]\n");
  if (odd)
    text.append(
        comment("    ", "The command is not UTF-8, so no policy file can hold it as it is."));
  text.append("    needs: []  # permissions that a caller must have; none of them: everybody\n");
  if (!proposal.environment.empty()) {
    text.append("    environment:\n");
    for (const auto& [key, value] : proposal.environment)
      text.append("      ").append(key).append(": ").append(yaml_quoted(value)).append("\n");
  }
  text.append(files_text(proposal.files));
  text.append(network_text(proposal));
  text.append("    syscalls: ").append(proposal.syscalls);
  text.append("  # ").append(proposal.syscalls_sentence).append("\n");
  return text.append(limits_text(proposal));
}

std::string observation_json(const Proposal& proposal, const Observation& seen,
                             const Outcome& outcome) {
  json::array read, written, executed, listed;
  for (const auto& [path, use] : seen.files) {
    const std::string name = to_utf8(path);
    if (use.read) read.emplace_back(name);
    if (use.written) written.emplace_back(name);
    if (use.executed) executed.emplace_back(name);
    if (use.listed) listed.emplace_back(name);
  }
  json::array names;
  for (const auto& [name, ports] : seen.names) {
    json::array tried(ports.begin(), ports.end());
    names.push_back(json::object{{"name", name}, {"ports", std::move(tried)}});
  }
  json::object refused;
  for (const auto& [name, count] : outcome.refused_syscalls)
    refused[name] = count;
  const Usage& usage = outcome.usage;
  json::object used{{"wall_us", usage.wall_us},
                    {"cpu_us", usage.cpu_user_us + usage.cpu_system_us},
                    {"peak_memory_bytes", usage.peak_memory_bytes},
                    {"processes", usage.processes},
                    {"output_bytes", usage.output_bytes},
                    {"scratch_bytes", seen.peak_scratch_bytes}};
  json::array hosts;
  for (const SuggestedHost& host : proposal.hosts)
    hosts.push_back(
        json::object{{"host", host.name}, {"port", host.port}, {"port_known", host.port_known}});
  const Limits& limits = proposal.limits;
  json::object budget{{"timeout", to_text(limits.timeout)},
                      {"cpu", to_text(limits.cpu)},
                      {"memory", to_text(limits.memory)},
                      {"processes", limits.processes},
                      {"disk", to_text(limits.disk)},
                      {"file_size", to_text(limits.file_size)},
                      {"max_output", to_text(limits.max_output)}};

  json::object object{{"status", name_of(outcome.status)}};
  if (outcome.reason != Reason::none) object["reason"] = name_of(outcome.reason);
  if (outcome.exit_code) object["exit_code"] = *outcome.exit_code;
  object["files"] = json::object{{"read", std::move(read)},
                                 {"written", std::move(written)},
                                 {"executed", std::move(executed)},
                                 {"listed", std::move(listed)}};
  object["names"] = std::move(names);
  object["destinations"] = place_array(seen.destinations);
  object["refused_syscalls"] = std::move(refused);
  object["usage"] = std::move(used);
  object["left_out"] = seen.left_out;
  object["unreadable"] = seen.unreadable;
  object["proposal"] =
      json::object{{"name", proposal.name},
                   {"files", json::object{{"read", file_array(proposal.files.read)},
                                          {"write", file_array(proposal.files.write)}}},
                   {"hosts", std::move(hosts)},
                   {"syscalls", proposal.syscalls},
                   {"limits", std::move(budget)}};
  return json::serialize(object) + "\n";
}

}  // namespace sallyport
