#include "warm_report.h"

#include <cstdio>
#include <fstream>
#include <vector>

#include "base/file.h"
#include "warm_client.h"
#include "warm_measures.h"
#include "warm_plot.h"
#include "warm_question.h"

namespace sallyport::warm {
namespace {

constexpr const char* kParts[] = {"setup",      "host", "attach",   "latency",
                                  "throughput", "hogs", "controls", "idle"};

using Row = std::vector<std::string>;

// A table of Markdown, in columns that a terminal shows as columns too.
std::string table(const std::vector<Row>& rows) {
  const auto width = [](const std::string& cell) {
    return static_cast<std::size_t>(
        std::ranges::count_if(cell, [](char c) { return (c & 0xC0) != 0x80; }));
  };
  std::vector<std::size_t> widths(rows.front().size(), 3);
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width(row[i]));
  std::string text;
  for (std::size_t line = 0; line < rows.size(); ++line) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string padding(widths[i] - width(rows[line][i]), ' ');
      text += i == 0 ? "| " + rows[line][i] + padding : padding + rows[line][i];
      text += i + 1 < widths.size() ? " | " : " |\n";
    }
    if (line > 0) continue;
    for (std::size_t i = 0; i < widths.size(); ++i)
      text +=
          (i == 0 ? "| " + std::string(widths[i], '-') : std::string(widths[i] - 1, '-') + ":") +
          (i + 1 < widths.size() ? " | " : " |\n");
  }
  return text + "\n";
}

// Why a part was not measured; empty: it was.
std::string skipped(const json::object& all, const char* part) {
  const json::value* why = find(all, std::string(part) + ".skipped");
  if (why != nullptr) return std::string(why->as_string()) + "\n\n";
  return find(all, part) == nullptr ? "Not measured in this run.\n\n" : "";
}

// Contestants by their times, ours first.
std::string times(const json::object& contest) {
  std::vector<Row> rows{{"", "p50", "p95", "p99", "calls", "sallyport / it"}};
  const double own = number_at(contest, "sallyport.p50_us");
  for (const auto& [name, one] : contest) {
    const json::object& numbers = one.as_object();
    const double p50 = number_at(numbers, "p50_us");
    rows.push_back({std::string(name), time_text(p50), time_text(number_at(numbers, "p95_us")),
                    time_text(number_at(numbers, "p99_us")), fixed(number_at(numbers, "count"), 0),
                    name == "sallyport" ? "" : fixed(own / p50, 3)});
  }
  return table(rows);
}

std::string latency_text(const json::object& all, const char* part) {
  if (const std::string why = skipped(all, part); !why.empty()) return why;
  std::string text;
  for (const Kind kind : {Kind::python, Kind::numpy, Kind::command, Kind::node})
    if (const json::value* contest = find(*find(all, part)->if_object(), name_of(kind)))
      text += std::string("### ") + title_of(kind) + "\n\n" + times(contest->as_object());
  return text;
}

std::string throughput_text(const json::object& all) {
  if (const std::string why = skipped(all, "throughput"); !why.empty()) return why;
  std::string text;
  for (const auto& [kind, contest] : find(all, "throughput")->as_object()) {
    std::vector<Row> rows{{"", "in flight", "per second", "p50", "p95", "p99"}};
    for (const auto& [name, one] : contest.as_object()) {
      const json::object& numbers = one.as_object();
      rows.push_back(
          {std::string(name), fixed(number_at(numbers, "in_flight"), 0),
           fixed(number_at(numbers, "per_second"), 0), time_text(number_at(numbers, "p50_us")),
           time_text(number_at(numbers, "p95_us")), time_text(number_at(numbers, "p99_us"))});
    }
    text += "### " + std::string(kind == "true" ? "/bin/true" : "Python, print(…)") + "\n\n" +
            table(rows);
  }
  return text;
}

std::string controls_text(const json::object& all) {
  if (const std::string why = skipped(all, "controls"); !why.empty()) return why;
  const json::object& found = find(all, "controls")->as_object();
  const double full = number_at(found, "everything on.p50_us");
  std::vector<Row> rows{{"without", "p50", "so it costs"}};
  for (const auto& [name, one] : found) {
    const double p50 = number_at(one.as_object(), "p50_us");
    const bool base = name == "everything on";
    rows.push_back({base ? "(everything on)" : std::string(name), time_text(p50),
                    base ? "" : fixed(full - p50, 0) + " µs"});
  }
  return table(rows);
}

std::string idle_text(const json::object& all) {
  if (const std::string why = skipped(all, "idle"); !why.empty()) return why;
  const double cells = number_at(all, "idle.cells");
  return fixed(cells, 0) + " cells that wait take " +
         fixed(number_at(all, "idle.bytes") / (1 << 20), 0) +
         " MiB of what was available before (" +
         fixed(number_at(all, "idle.bytes") / cells / 1024, 0) +
         " KiB each, the template among them). " + "They were built in " +
         fixed(number_at(all, "idle.seconds_to_build"), 1) + " s.\n\n";
}

std::string attach_text(const json::object& all) {
  if (const std::string why = skipped(all, "attach"); !why.empty()) return why;
  const json::value* favoured = find(all, "attach.favordynmods");
  std::string text =
      "cgroup v" + fixed(number_at(all, "attach.version"), 0) + ", `favordynmods` is " +
      (favoured->as_bool() ? "" : "not ") +
      "set (it can be in force all the same: what it switches may outlast the mount).\n"
      "Moving one process, 100 ms after the last such move:\n\n";
  std::vector<Row> rows{{"moved by", "p50", "p95", "moves"}};
  for (const char* who : {"itself", "another"}) {
    const std::string path = std::string("attach.") + who;
    rows.push_back({who, time_text(number_at(all, path + ".p50_us")),
                    time_text(number_at(all, path + ".p95_us")),
                    fixed(number_at(all, path + ".count"), 0)});
  }
  return text + table(rows);
}

std::string text_at(const json::object& all, const char* path) {
  const json::value* found = find(all, path);
  return found != nullptr && found->is_string() ? std::string(found->as_string()) : "?";
}

std::string markdown(const json::object& all) {
  std::string text = R"(# Warm cells: the figures

Made by `bench/warm --write`; do not edit. Figures of one host in one run: read the ratios.

![Times and rates of Sallyport beside other ways to run a tool](warm.svg)

Measured at the client, with everything on: HTTP on a kept connection over the loopback, a key, the policy's gates, rates
and limits, screening, redaction, records that are on a disk before the answer; a fresh cell for each call, and the answer
after its end. No two calls have the same code. Every answer is checked. Peers take turns with us call by call, with a
pause of 3 ms before each; their output is read and checked too. `bare` is the same command without any sandbox;
bubblewrap has neither a memory limit nor a seccomp filter, crun and runc have the former.

)";
  text += "- Host, " + text_at(all, "host.day") + ": " + text_at(all, "host.kernel") + ", " +
          fixed(number_at(all, "host.processors"), 0) + " × " + text_at(all, "host.processor") +
          ", load before the run " + fixed(number_at(all, "host.load_before"), 1) +
          ".\n- Cells: " + text_at(all, "setup.cells") +
          "\n- numpy: " + text_at(all, "setup.numpy") + "\n\n";
  std::vector<Row> rows{{"measure", "bar", "goal", "measured", "met", "bare bones"}};
  for (const Measure& measure : measures(all))
    rows.push_back(
        {measure.what, measure.bar, measure.goal, measure.found, measure.met, measure.bones});
  text += "## Measures\n\n" + table(rows);
  text +=
      R"(`bare bones` is what the same run gives for those who do the least, in place of us. One call at a time: two records
forced to the disk, and between them a python3 that was started before and waits for its code, or a spawn of the command; no
sandbox, no server, no key, no check. 32 in flight: /bin/true in fresh namespaces and cgroups, and nothing else.
Whoever does that much and more cannot be quicker; only a copy of an image can end sooner than a python3 that was started.

)";
  text += "## One call at a time\n\n" + latency_text(all, "latency");
  text +=
      "## 32 in flight\n\n`namespaces alone` is /bin/true born into namespaces of its own, and "
      "nothing else: no root of\nfiles, no filter, no service, no record. `namespaces, cgroups` "
      "has a limit of memory and of processes as well.\nNo sandbox that shares neither between "
      "two calls can have a higher rate on this host.\n\n" +
      throughput_text(all);
  text += "## One call at a time, beside 4 CPU hogs\n\n" + latency_text(all, "hogs");
  text +=
      "## What each control costs\n\nPython, with one thing left out each time. Below the "
      "noise of the host, a difference means nothing.\n\n" +
      controls_text(all);
  text += "## Memory of cells that wait\n\n" + idle_text(all);
  text +=
      "## A sparse cgroup attach on this host\n\nNo call waits for one, but building cells does, "
      "and crun and runc do.\n\n" +
      attach_text(all);
  while (text.ends_with("\n\n"))
    text.pop_back();
  return text;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) give_up("cannot write " + path);
}

// JSON that a person can read a diff of.
std::string pretty(const json::value& value, std::size_t depth = 0) {
  const json::object* object = value.if_object();
  if (object == nullptr) {
    if (value.is_double()) return fixed(value.get_double(), value.get_double() < 10 ? 3 : 1);
    return json::serialize(value);
  }
  std::string text;
  for (const auto& [name, member] : *object)
    text += (text.empty() ? "{\n" : ",\n") + std::string(2 * depth + 2, ' ') +
            json::serialize(json::string(name)) + ": " + pretty(member, depth + 1);
  return text.empty() ? "{}" : text + "\n" + std::string(2 * depth, ' ') + "}";
}

}  // namespace

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

std::string time_text(double microseconds) {
  if (microseconds < 999.5) return fixed(microseconds, 0) + " µs";
  const double milliseconds = microseconds / 1000;
  if (milliseconds < 999.5)
    return fixed(milliseconds, milliseconds < 9.995 ? 2 : milliseconds < 99.95 ? 1 : 0) + " ms";
  return fixed(milliseconds / 1000, 2) + " s";
}

const json::value* find(const json::object& all, std::string_view path) {
  const json::object* place = &all;
  for (;;) {
    const auto dot = path.find('.');
    const json::value* found = place->if_contains(path.substr(0, dot));
    if (found == nullptr || dot == std::string_view::npos) return found;
    if ((place = found->if_object()) == nullptr) return nullptr;
    path.remove_prefix(dot + 1);
  }
}

double number_at(const json::object& all, std::string_view path) {
  const json::value* found = find(all, path);
  return found != nullptr && found->is_number() ? found->to_number<double>() : 0;
}

int report(const std::string& work, const std::string& directory) {
  json::object all;
  for (const char* part : kParts) {
    const auto text = read_file((work + "/" + part + ".json").c_str());
    if (!text) continue;
    const auto parsed = parse_json(*text);
    if (!parsed || !parsed->is_object()) give_up(std::string(part) + ".json is damaged");
    all[part] = parsed->get_object();
  }
  const std::string text = markdown(all);
  std::fputs(text.c_str(), stdout);
  if (directory.empty()) return 0;
  json::object list;
  for (const Measure& measure : measures(all))
    list[measure.what] = json::object{{"bar", measure.bar},
                                      {"goal", measure.goal},
                                      {"measured", measure.found},
                                      {"met", measure.met},
                                      {"bare bones", measure.bones}};
  all["measures"] = std::move(list);
  write(directory + "/warm.md", text);
  write(directory + "/warm.json", pretty(all) + "\n");
  write(directory + "/warm.svg", plot(all));
  return 0;
}

}  // namespace sallyport::warm
