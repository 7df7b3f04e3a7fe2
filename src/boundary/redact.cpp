// What must not leave is taken out of everything that goes back: the text that the tool wrote, its
// data, its artifacts, and what is said about them.
#include <map>
#include <set>

#include "base/text.h"
#include "boundary/cut_text.h"
#include "boundary/gates.h"
#include "boundary/shown_text.h"
#include "tool/cell_call.h"

namespace sallyport {
namespace {

// What a program can show as text. Others are bytes, and are left as they are.
bool is_text(std::string_view content) {
  return is_utf8(content) && content.find('\0') == std::string_view::npos;
}

Block withhold(const Passage& passage, std::string message, std::string hint) {
  return {Reason::withheld, "tools." + passage.tool->name + ".output.redact", std::move(message),
          std::move(hint), Status::error};
}

std::string list_of(const RedactionCounts& counts) {
  std::string list;
  for (const auto& [rule, count] : counts)
    list += (list.empty() ? "" : ", ") + rule + " (" + std::to_string(count) + ")";
  return list;
}

// A path that stays below where it is put; taking characters out of one may have made another.
bool stays_below(std::string_view path) {
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

// The tool chose the names of its files. What is fetched, and kept, has the name that is shown; two
// that would be called the same get a number.
bool show_names(const std::shared_ptr<const Redactions>& redactions, CallResult& result,
                RedactionCounts& counts) {
  std::map<std::string, std::string> collected;
  std::set<std::string> given;
  for (Artifact& artifact : result.artifacts) {
    auto content = result.collected.extract(artifact.name);
    std::string shown = artifact.name;
    if (!make_shown(redactions, shown, counts)) return false;
    if (shown != artifact.name && !stays_below(shown)) shown = "artifact";
    artifact.name = shown;
    for (int number = 2; !given.insert(artifact.name).second; ++number)
      artifact.name = shown + "-" + std::to_string(number);
    if (content.empty()) continue;
    content.key() = artifact.name;
    collected.insert(std::move(content));
  }
  result.collected = std::move(collected);
  return true;
}

}  // namespace

// The tool chose the names that it asked for, and addresses are for the record only.
bool show_network(const std::shared_ptr<const Redactions>& redactions, CallResult& result,
                  RedactionCounts& counts) {
  for (NetworkEvent& event : result.network)
    for (std::string* text : {&event.host, &event.address, &event.why})
      if (!make_shown(redactions, *text, counts)) return false;
  return true;
}

Pass redact(Passage& passage) {
  CallResult& result = passage.result;
  const OutputRules& rules = passage.tool->output;
  const auto& redactions = passage.redactions;
  RedactionCounts& counts = result.redactions;
  bool good = true;

  // A function gives data; what a cell wrote may have been cut there.
  const std::uint64_t captured = captured_output(*passage.tool, passage.limits).bytes;
  const std::uint64_t margin = rules.redacts() ? kCutMargin : 0;
  const std::pair<std::string*, const char*> streams[] = {{&result.output, "output.txt"},
                                                          {&result.error, "error.txt"}};
  for (const auto& [text, name] : streams) {
    CutText cut = CutText::split(std::move(*text), captured, result.truncated);
    good = good && make_shown(redactions, cut.head, counts) &&
           make_shown(redactions, cut.tail, counts);
    // What stands at a cut may be the rest of something that would have been taken out whole.
    cut.drop_edges(margin);
    if (rules.keep && (cut.is_cut() || cut.size() > passage.limits.max_output.bytes)) {
      CutText kept = cut;
      kept.narrow(rules.keep->bytes);
      result.collected[name] = kept.text();
      result.artifacts.push_back({.name = name, .size = result.collected[name].size()});
    }
    cut.narrow(passage.limits.max_output.bytes);
    result.truncated = result.truncated || cut.is_cut();
    *text = cut.text();
  }
  if (result.data) good = good && make_shown(redactions, *result.data, counts);
  for (Artifact& artifact : result.artifacts) {
    const auto content = result.collected.find(artifact.name);
    if (!redactions || content == result.collected.end() || !is_text(content->second)) continue;
    // A file stays the file that it is: only what must not leave goes.
    content->second = redact_all(redactions, content->second, counts);
    artifact.size = content->second.size();
  }
  good = good && show_names(redactions, result, counts) && show_network(redactions, result, counts);
  for (std::string* text : {&result.message, &result.hint})
    good = good && make_shown(redactions, *text, counts);
  // They name files, whose names are the tool's.
  for (Finding& finding : result.findings)
    good = good && make_shown(redactions, finding.path, counts) &&
           make_shown(redactions, finding.why, counts);

  if (!good)
    return withhold(passage, "the result could not be looked through for what must not leave", "");
  if (rules.redact_blocks && !counts.empty())
    return withhold(passage, "the result holds what must not leave: " + list_of(counts),
                    "ask for less, or for something else");
  return {};
}

}  // namespace sallyport
