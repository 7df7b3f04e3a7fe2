// What happens before and after a run: screening, approval, and what may come back.
#include <algorithm>

#include "base/text.h"
#include "policy/load.h"
#include "redact/redact.h"
#include "screen/screen.h"

namespace sallyport {
namespace {

constexpr std::string_view kActions[] = {"none", "warn", "approve", "block"};

std::optional<ScreenAction> read_action(const Spot& at) {
  const auto word = read_choice(at, kActions);
  if (!word) return std::nullopt;
  return static_cast<ScreenAction>(std::ranges::find(kActions, *word) - std::begin(kActions));
}

constexpr std::string_view kRedactions[] = {"secrets",   "home_dirs", "ip_addresses",
                                            "temp_dirs", "emails",    "cards"};
std::optional<std::string> read_redaction(const Spot& at) {
  return read_choice(at, kRedactions);
}

// One that cannot be searched for in a stream is refused here, not at the first call.
std::optional<std::string> read_pattern(const Spot& at) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  if (const auto made = Redactions::make({.groups = {}, .patterns = {*text}, .values = {}});
      !made) {
    at.refuse(made.error());
    return std::nullopt;
  }
  return text;
}

void read_keep(const Spot& at, OutputRules& output) {
  if (const auto text = read_text(at)) {
    if (const auto size = parse_size(*text))
      output.keep = *size;
    else
      at.refuse(size.error().message, size.error().hint);
  }
}

// A list of what is taken out; or `block`, and the result is refused instead.
void read_redact(const Spot& at, OutputRules& output) {
  if (at.node().kind != Node::Kind::scalar) {
    if (auto groups = read_list<read_redaction>(at)) output.redact = std::move(*groups);
    return;
  }
  constexpr std::string_view kBlock[] = {"block"};
  output.redact_blocks = read_choice(at, kBlock).has_value();
}

std::optional<std::string> read_injection(const Spot& at) {
  constexpr std::string_view kWays[] = {"mark", "block", "none"};
  return read_choice(at, kWays);
}

void read_result_schema(const Spot& at, OutputRules& output) {
  output.schema = read_schema(at, output.schema_text);
}

constexpr Field<OutputRules> kOutput[] = {
    {"schema", R"({"$ref": "#/$defs/json_schema"})",
     "JSON Schema that a structured result must satisfy.", read_result_schema},
    {"redact",
     R"({"anyOf": [{"const": "block"}, {"type": "array", "items": {"enum": ["secrets", "home_dirs", "ip_addresses", "temp_dirs", "emails", "cards"]}, "uniqueItems": true}]})",
     "What is taken out of results; added to that of `defaults`. `block`: a result that holds any "
     "of "
     "it is refused.",
     read_redact},
    {"patterns", kTextsValue, "Regular expressions (RE2) of your own to take out of results.",
     into<&OutputRules::patterns, read_list<read_pattern>>},
    {"keep", kSizeValue,
     "How much of a text that is too long for the result is kept whole, as an artifact.",
     read_keep},
    {"injection", R"({"enum": ["mark", "block", "none"]})",
     "What is done with a result that reads like instructions to a model.",
     into<&OutputRules::injection, read_injection>},
};

void read_when(const Spot& at, ApprovalRule& approval) {
  const std::size_t problems = at.notes().problems.size();
  for_each_entry(at, [](const Node&, const Spot& property) {
    json::value ignored;
    (void)read_schema(property, ignored);
  });
  if (at.notes().problems.size() != problems) return;
  auto properties = read_json_object(at);
  if (!properties) return;
  approval.when_text = *properties;
  // A property that is missing satisfies its schema, and so asks for approval.
  auto schema = Schema::compile(json::object{{"properties", std::move(*properties)}});
  if (schema) approval.when = std::move(*schema);
}

constexpr Field<ApprovalRule> kApproval[] = {
    {"when", R"({"type": "object", "additionalProperties": {"$ref": "#/$defs/json_schema"}})",
     "Only when the arguments are so: JSON Schema by argument; a missing one counts as so.",
     read_when},
    {"by", R"({"type": "array", "items": {"$ref": "#/$defs/name"}, "minItems": 1})",
     "The roles that may approve.", into<&ApprovalRule::by, read_list<read_name>>,
     Presence::required},
    {"count", kCountValue, "How many different callers must approve, never the one who asks; 1.",
     into<&ApprovalRule::count, count_between<1, 100, unsigned>>},
    {"expires", kDurationValue, "How long it may be given; 15min.",
     into<&ApprovalRule::expires, read_duration>},
};

}  // namespace

std::optional<std::map<std::string, ScreenAction>> read_screen(const Spot& at) {
  std::map<std::string, ScreenAction> screen;
  if (at.node().kind == Node::Kind::scalar) {
    const auto action = read_action(at);
    if (!action) return std::nullopt;
    at.means(json::object{{"*", kActions[static_cast<std::size_t>(*action)]}});
    screen["*"] = *action;
    return screen;
  }
  std::vector<std::string_view> categories{"*"};
  for (const ScreenCategory& row : kScreenCategories)
    categories.push_back(row.name);
  for_each_entry(at, [&](const Node& key, const Spot& value) {
    refuse_unknown_key(at, key, categories);
    if (const auto action = read_action(value)) screen[key.text] = *action;
  });
  if (at.node().kind != Node::Kind::map) return std::nullopt;
  return screen;
}

std::optional<OutputRules> read_output(const Spot& at) {
  OutputRules output;
  if (!read_section<OutputRules>(at, kOutput, output)) return std::nullopt;
  return output;
}

std::optional<ApprovalRule> read_approval(const Spot& at) {
  ApprovalRule approval;
  if (!read_section<ApprovalRule>(at, kApproval, approval)) return std::nullopt;
  if (const Node* by = at.node().find("by");
      by && by->kind == Node::Kind::list && by->items.empty())
    at.refuse_key("by", by->place, "the list is empty, and so nobody could approve",
                  "name a role that may");
  return approval;
}

SectionText output_section() {
  return {"output", "What may come back from a tool.", texts_of<OutputRules>(kOutput)};
}
SectionText approval_section() {
  return {"approval", "People who must agree before the tool runs.",
          texts_of<ApprovalRule>(kApproval)};
}

}  // namespace sallyport
