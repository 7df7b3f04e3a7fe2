// What a tool is, before and after, whoever calls it.
#include <algorithm>

#include "base/text.h"
#include "policy/changes.h"
#include "policy/network_access.h"
#include "policy/words.h"

namespace sallyport {
namespace {

std::string words_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text.append(text.empty() ? "" : " ").append(shell_quote(word));
  return text;
}

std::string headers_text(const std::map<std::string, std::string>& headers) {
  std::string text;
  for (const auto& [name, value] : headers)
    text.append(name).append(": ").append(value).append(" ");
  return text;
}

std::string run_text(const Tool& tool) {
  switch (tool.kind) {
    case ToolKind::builtin:
      return std::string(name_of(tool.builtin));
    case ToolKind::http:
      return tool.http.method + " " + tool.http.url + " " + headers_text(tool.http.headers) +
             json::serialize(tool.http.body);
    case ToolKind::mcp:
      return words_text(tool.mcp);
    case ToolKind::function:
      return "a function of the program";
    case ToolKind::command:
      break;
  }
  std::vector<std::string> words;
  for (const Template& element : tool.run) {
    std::string word;
    for (const Template::Piece& piece : element.pieces)
      word.append(piece.argument.empty() ? piece.text : "{" + piece.argument + "}");
    words.push_back(std::move(word));
  }
  return words_text(words);
}

bool same_run(const Tool& a, const Tool& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == ToolKind::builtin) return a.builtin == b.builtin;
  if (a.kind == ToolKind::http)
    return a.http.method == b.http.method && a.http.url == b.http.url &&
           a.http.headers == b.http.headers && json_equal(a.http.body, b.http.body);
  if (a.kind == ToolKind::mcp) return a.mcp == b.mcp;
  if (a.kind == ToolKind::function) return true;
  const auto same = [](const Template& x, const Template& y) {
    return std::ranges::equal(x.pieces, y.pieces,
                              [](const Template::Piece& p, const Template::Piece& q) {
                                return p.text == q.text && p.argument == q.argument;
                              });
  };
  return std::ranges::equal(a.run, b.run, same);
}

void compare_text(ChangeList& changes, const std::string& name, const std::string& before,
                  const std::string& after) {
  if (before == after) return;
  const auto shown = [](const std::string& text) { return text.empty() ? "none" : text; };
  changes.changed(name + " " + shown(before) + " → " + shown(after));
}

void compare_runs(ChangeList& changes, const Tool& before, const Tool& after) {
  if (!same_run(before, after))
    changes.changed("runs " + run_text(before) + " → " + run_text(after));
  compare_lists(changes, before.mcp_tools, after.mcp_tools, "offers the tools ",
                "no longer offers the tools ");
  compare_text(changes, "tier", std::string(name_of(before.tier)),
               std::string(name_of(after.tier)));
  compare_text(changes, "syscalls", before.syscalls, after.syscalls);
  compare_text(changes, "database", before.database, after.database);
  compare_text(changes, "preload", words_text(before.preload), words_text(after.preload));
  compare_text(changes, "input", before.input_json ? "json" : "", after.input_json ? "json" : "");
  compare_text(changes, "result", before.result_json ? "json" : "text",
               after.result_json ? "json" : "text");
  if (before.warm != after.warm)
    changes.changed(after.warm ? "has an interpreter that waits for it" : "starts cold");
  std::map<std::string, std::string> names = before.environment;
  names.insert(after.environment.begin(), after.environment.end());
  for (const auto& [name, value] : names) {
    const auto value_in = [&](const Tool& tool) {
      const auto found = tool.environment.find(name);
      return found == tool.environment.end() ? std::string("unset") : quoted(found->second);
    };
    if (value_in(before) != value_in(after))
      changes.changed("environment " + name + " " + value_in(before) + " → " + value_in(after));
  }
  // A requirement is a refusal: the other way round.
  compare_lists(changes, after.require, before.require, "no longer requires ", "requires now ");
  if (before.prefer != after.prefer)
    compare_text(changes, "prefer", list_names(before.prefer), list_names(after.prefer));
}

std::vector<std::string> commands_not_in(const CommandRules& some, const CommandRules& others) {
  std::vector<std::string> found;
  for (const std::vector<std::string>& words : some.allow) {
    const bool covered = std::ranges::any_of(others.allow, [&](const auto& prefix) {
      return prefix.size() <= words.size() &&
             std::equal(prefix.begin(), prefix.end(), words.begin());
    });
    if (!covered) found.push_back("`" + words_text(words) + "`");
  }
  return found;
}

void compare_commands(ChangeList& changes, const CommandRules& before, const CommandRules& after) {
  const auto more = commands_not_in(after, before), less = commands_not_in(before, after);
  if (!more.empty()) changes.wider("can now run " + list_names(more));
  if (!less.empty()) changes.narrower("can no longer run " + list_names(less));
  const auto flags = [](const CommandRules& rules) {
    std::vector<std::string> list;
    for (const auto& [program, refused] : rules.refuse_flags)
      for (const std::string& flag : refused)
        list.push_back("`" + program + " " + flag + "`");
    return list;
  };
  compare_lists(changes, flags(after), flags(before), "no longer refuses ", "refuses now ");
}

ScreenAction action_for(const Tool& tool, const std::string& category) {
  if (const auto own = tool.screen.find(category); own != tool.screen.end()) return own->second;
  if (const auto all = tool.screen.find("*"); all != tool.screen.end()) return all->second;
  return ScreenAction::none;
}

std::string_view action_text(ScreenAction action) {
  switch (action) {
    case ScreenAction::none:
      return "none";
    case ScreenAction::warn:
      return "warn";
    case ScreenAction::approve:
      return "approve";
    case ScreenAction::block:
      return "block";
  }
  return {};
}

void compare_screens(ChangeList& changes, const Tool& before, const Tool& after) {
  std::map<std::string, ScreenAction> categories = before.screen;
  categories.insert(after.screen.begin(), after.screen.end());
  for (const auto& [category, unused] : categories) {
    const ScreenAction a = action_for(before, category), b = action_for(after, category);
    changes.ordered(b<a, b> a, "screening of " + (category == "*" ? "everything else" : category) +
                                   " " + std::string(action_text(a)) + " → " +
                                   std::string(action_text(b)));
  }
}

void compare_approvals(ChangeList& changes, const Tool& before, const Tool& after) {
  if (before.irreversible != after.irreversible)
    changes.ordered(
        before.irreversible, after.irreversible,
        after.irreversible ? "counts as irreversible now" : "no longer counts as irreversible");
  const auto& a = before.approval;
  const auto& b = after.approval;
  if (!a && !b) return;
  if (!a) {
    // Without a rule of its own, a tool that is irreversible waits for every call.
    if (before.irreversible) return changes.changed("has an approval rule of its own now");
    return changes.narrower("waits for an approval now");
  }
  if (!b) {
    if (after.irreversible) return changes.changed("has no approval rule of its own any more");
    return changes.wider("no longer waits for an approval");
  }
  if (a->when.has_value() != b->when.has_value())
    changes.ordered(b->when.has_value(), a->when.has_value(),
                    b->when ? "waits for an approval only if " + json::serialize(b->when_text)
                            : "waits for an approval of every call");
  else if (a->when && !json_equal(a->when_text, b->when_text))
    changes.changed("waits for an approval if " + json::serialize(a->when_text) + " → if " +
                    json::serialize(b->when_text));
  compare_lists(changes, a->by, b->by, "can now be approved by the role ",
                "can no longer be approved by the role ");
  changes.ordered(
      b->count<a->count, b->count> a->count,
      "approvals needed " + std::to_string(a->count) + " → " + std::to_string(b->count));
  changes.ordered(b->expires > a->expires, b->expires < a->expires,
                  "approval lapses after " + to_text(a->expires) + " → " + to_text(b->expires));
}

void compare_outputs(ChangeList& changes, const Tool& before, const Tool& after) {
  const OutputRules& a = before.output;
  const OutputRules& b = after.output;
  compare_lists(changes, b.redact, a.redact, "no longer redacts ", "redacts now ");
  compare_lists(changes, b.patterns, a.patterns, "no longer redacts what matches ",
                "redacts now what matches ");
  if (a.schema.has_value() != b.schema.has_value())
    changes.ordered(a.schema.has_value(), b.schema.has_value(),
                    b.schema ? "its result is checked against a schema now"
                             : "its result is no longer checked against a schema");
  else if (a.schema && !json_equal(a.schema_text, b.schema_text))
    changes.changed("the schema of its result");
  if (a.redact_blocks != b.redact_blocks)
    changes.ordered(a.redact_blocks, b.redact_blocks,
                    b.redact_blocks ? "a result with something to redact is refused now"
                                    : "a result with something to redact is no longer refused");
  if (a.keep != b.keep) changes.changed("how much of a long output is kept");
  compare_text(changes, "injection", a.injection, b.injection);
  compare_lists(changes, before.collect, after.collect, "gives back files that match ",
                "no longer gives back files that match ");
  compare_bounds(changes, before.rows, after.rows, "rows",
                 [](std::uint64_t rows) { return std::to_string(rows); });
}

}  // namespace

void compare_tools(ChangeList& changes, const Rules& old_rules, const Tool& before,
                   const Rules& new_rules, const Tool& after) {
  compare_runs(changes, before, after);
  compare_arguments(changes, before, after);
  compare_commands(changes, before.commands, after.commands);
  if (before.methods != after.methods)
    compare_lists(changes, fetch_methods(before), fetch_methods(after), "can now send ",
                  "can no longer send ");
  compare_files(changes, before, after);
  compare_network(changes, old_rules, before, new_rules, after);
  compare_screens(changes, before, after);
  compare_approvals(changes, before, after);
  compare_outputs(changes, before, after);
}

}  // namespace sallyport
