// The door for code: what it would do, and what the policy says to each kind of it.
#include <algorithm>

#include "boundary/gates.h"
#include "screen/screen.h"

namespace sallyport {
namespace {

std::optional<Language> language_of(const Tool& tool) {
  if (tool.kind != ToolKind::builtin) return std::nullopt;
  switch (tool.builtin) {
    case Builtin::run_python:
      return Language::python;
    case Builtin::run_javascript:
      return Language::javascript;
    case Builtin::run_shell:
      return Language::shell;
    default:
      return std::nullopt;
  }
}

struct Ruling {
  ScreenAction action = ScreenAction::none;
  std::string rule;
};

Ruling ruling_on(const Tool& tool, const std::string& category) {
  const std::string rule = "tools." + tool.name + ".screen";
  if (const auto own = tool.screen.find(category); own != tool.screen.end())
    return {own->second, rule + "." + category};
  if (const auto all = tool.screen.find("*"); all != tool.screen.end()) return {all->second, rule};
  return {};
}

std::string place_text(unsigned line, unsigned column) {
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

std::string sentence(const ScreenFinding& finding) {
  return place_text(finding.line, finding.column) + ": " + finding.excerpt + " (" +
         finding.category + "): " + finding.why;
}

// A model that makes a mistake has not tried anything: this is no denial.
Block refuse_syntax(const Tool& tool, const ScreenSyntaxError& error) {
  return {
      Reason::exit, "tools." + tool.name + ".args.code",
      "the code has a syntax error: " + place_text(error.line, error.column) + ": " + error.message,
      "nothing was run; correct the code", Status::error};
}

}  // namespace

Pass screen_code(Passage& passage) {
  const Tool& tool = *passage.tool;
  const auto language = language_of(tool);
  if (!language || std::ranges::all_of(tool.screen, [](const auto& row) {
        return row.second == ScreenAction::none;
      }))
    return {};
  const json::value* code = passage.arguments.if_contains("code");
  if (code == nullptr || !code->is_string()) return {};
  const auto screening = screen(std::string_view(code->get_string()), *language);
  if (!screening) return Block::from(screening.error(), "tools." + tool.name + ".screen");

  const ScreenFinding* blocked = nullptr;
  std::size_t blocks = 0;
  for (const ScreenFinding& finding : screening->findings) {
    const Ruling ruling = ruling_on(tool, finding.category);
    if (ruling.action == ScreenAction::none) continue;
    passage.result.findings.push_back({.kind = "screen." + finding.category,
                                       .path = place_text(finding.line, finding.column),
                                       .why = finding.excerpt + ": " + finding.why});
    if (ruling.action == ScreenAction::approve && passage.approval_rule.empty())
      passage.approval_rule = ruling.rule;
    if (ruling.action != ScreenAction::block) continue;
    ++blocks;
    if (blocked == nullptr) blocked = &finding;
  }
  if (blocked != nullptr)
    return Block{
        Reason::screen, ruling_on(tool, blocked->category).rule,
        sentence(*blocked) + (blocks > 1 ? " (and " + std::to_string(blocks - 1) + " more)" : ""),
        blocked->allowed};
  // What the grammar of a shell cannot read, a shell may: it is screened as far as it was read.
  if (screening->syntax_error && *language != Language::shell)
    return refuse_syntax(tool, *screening->syntax_error);
  return {};
}

}  // namespace sallyport
