#include "door/cli/doctor_command.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <sstream>

#include "base/text.h"
#include "door/cli/option_table.h"
#include "door/cli/run_command.h"

namespace sallyport {
namespace {

namespace json = boost::json;

constexpr int kStrongest = 0, kWeaker = 1, kNoCell = 2, kWrongRequest = 125;
constexpr std::size_t kMarkColumn = 2, kNameColumn = 11, kFoundColumn = 29;

template <bool DoctorRequest::* Field>
Result<void> turn_on(DoctorRequest& request, std::string_view) {
  request.*Field = true;
  return {};
}

constexpr Option<DoctorRequest> kDoctorOptions[] = {
    {"json", "", "Options", "Print the diagnosis as JSON.", turn_on<&DoctorRequest::json>},
    {"help", "", "Options", "Print this text.", turn_on<&DoctorRequest::help>},
};

// A mark, a name, and a text that is wrapped beside them.
std::string row(std::string_view mark, std::string_view name, std::string_view text) {
  std::string left(kMarkColumn, ' ');
  left.append(mark).append(std::max(kNameColumn, left.size() + 1) - left.size(), ' ').append(name);
  left.append(std::max(kFoundColumn, left.size() + 1) - left.size(), ' ');
  return wrapped(escape_for_terminal(text), kFoundColumn).replace(0, kFoundColumn, left);
}

std::string_view mark_of(Check::Verdict verdict) {
  return verdict == Check::Verdict::good ? "ok" : name_of(verdict);
}

bool is_weaker(const Diagnosis& diagnosis, const std::string& layer) {
  return std::ranges::find(diagnosis.weaker, layer) != diagnosis.weaker.end();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

// Each fix once, with the names of all checks that it mends: one command line of a container often
// answers several.
struct Mending {
  std::string names;
  std::string fix;
};

std::vector<Mending> list_mendings(const std::vector<Check>& checks) {
  std::vector<Mending> mendings;
  for (const Check& check : checks) {
    if (check.fix.empty()) continue;
    const auto same = std::ranges::find(mendings, check.fix, &Mending::fix);
    if (same == mendings.end())
      mendings.push_back({check.name, check.fix});
    else
      same->names.append(", ").append(check.name);
  }
  return mendings;
}

std::string verdict_sentence(const Diagnosis& diagnosis) {
  switch (diagnosis.strength()) {
    case Strength::strongest:
      return "The strongest process cell works here: every layer is in force.";
    case Strength::weaker:
      return "Cells work here, but not at full strength; not in force: " +
             joined(diagnosis.weaker) + ".";
    case Strength::none:
      return "No cell can be made here, and so nothing runs, until what is missing is mended.";
  }
  return {};
}

}  // namespace

Result<DoctorRequest> parse_doctor(std::span<const char* const> words) {
  DoctorRequest request;
  auto parsed = parse_options<DoctorRequest>(kDoctorOptions, words, request);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  if (!request.help && !parsed->rest.empty())
    return fail(Reason::argument,
                "doctor takes no arguments, and " + quoted(parsed->rest[0]) + " is one",
                "write sallyport doctor [--json]");
  return request;
}

std::string doctor_help_text() {
  return R"(Usage: sallyport doctor [--json]

Tries a whole cell in a fresh process, as the user who asks, and says what this machine gives a
cell, which layers are in force, what is missing, and the command, profile or flag that mends it.
Nothing is changed.

)" + options_help<DoctorRequest>(kDoctorOptions, DoctorRequest{}) +
         R"(
Exit codes
  0     The strongest process cell works: every layer is in force.
  1     Cells work, but a layer is weaker; the last line names it.
  2     No cell can be made.
  125   The request was wrong.
)";
}

int exit_code_of(const Diagnosis& diagnosis) {
  switch (diagnosis.strength()) {
    case Strength::strongest:
      return kStrongest;
    case Strength::weaker:
      return kWeaker;
    case Strength::none:
      break;
  }
  return kNoCell;
}

std::string diagnosis_text(const Diagnosis& diagnosis) {
  std::string text = "This machine\n";
  for (const Check& check : diagnosis.checks)
    text.append(row(mark_of(check.verdict), check.name, check.found));

  if (!diagnosis.cell.layers.empty()) text.append("\nIn force in a cell\n");
  for (const auto& [layer, value] : diagnosis.cell.layers)
    text.append(row(is_weaker(diagnosis, layer) ? "weaker" : "ok", layer, value));

  const std::vector<Mending> mendings = list_mendings(diagnosis.checks);
  if (!mendings.empty()) text.append("\nTo mend (what changes the system needs root):\n");
  for (std::size_t i = 0; i < mendings.size(); ++i) {
    text.append("  ").append(std::to_string(i + 1)).append(". ");
    text.append(mendings[i].names).append("\n");
    // Never wrapped: it is there to be copied.
    std::istringstream lines(mendings[i].fix);
    for (std::string line; std::getline(lines, line);)
      text.append("     ").append(escape_for_terminal(line)).append("\n");
  }
  return text.append("\n").append(wrapped(verdict_sentence(diagnosis), 0));
}

std::string diagnosis_json(const Diagnosis& diagnosis) {
  json::array checks;
  for (const Check& check : diagnosis.checks) {
    json::object object{
        {"name", check.name}, {"verdict", name_of(check.verdict)}, {"found", to_utf8(check.found)}};
    if (!check.fix.empty()) object["fix"] = to_utf8(check.fix);
    checks.push_back(std::move(object));
  }
  json::object layers;
  for (const auto& [layer, value] : diagnosis.cell.layers)
    layers[layer] = value;
  json::array weaker;
  for (const std::string& layer : diagnosis.weaker)
    weaker.emplace_back(layer);
  return json::serialize(json::object{{"kernel", to_utf8(diagnosis.kernel)},
                                      {"checks", std::move(checks)},
                                      {"layers", std::move(layers)},
                                      {"weaker", std::move(weaker)},
                                      {"verdict", name_of(diagnosis.strength())},
                                      {"exit_code", exit_code_of(diagnosis)}});
}

int doctor_command(std::span<const char* const> words) {
  const auto request = parse_doctor(words);
  if (!request) {
    print_error(request.error());
    return kWrongRequest;
  }
  if (request->help) {
    std::fputs(doctor_help_text().c_str(), stdout);
    return 0;
  }
  const Diagnosis diagnosis = diagnose();
  const std::string text =
      request->json ? diagnosis_json(diagnosis) + "\n" : diagnosis_text(diagnosis);
  std::fputs(text.c_str(), stdout);
  return exit_code_of(diagnosis);
}

}  // namespace sallyport
