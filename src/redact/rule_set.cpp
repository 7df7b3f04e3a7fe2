#include "redact/rule_set.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "redact/assignment.h"
#include "redact/known_values.h"
#include "redact/net_maker.h"
#include "redact/places.h"
#include "redact/ready_nets.h"

namespace sallyport {
namespace {

using Of = Expression::Of;

std::string_view marker_of(RedactionGroup group) {
  switch (group) {
    case RedactionGroup::home_dirs:
      return "[HOME_DIR]";
    case RedactionGroup::ip_addresses:
      return "[IP_ADDR]";
    case RedactionGroup::temp_dirs:
      return "[TEMP_DIR]";
    case RedactionGroup::emails:
      return "[EMAIL]";
    case RedactionGroup::cards:
      return "[CARD]";
    case RedactionGroup::secrets:
      break;
  }
  return {};
}

std::string secret_marker(std::string_view id) {
  return std::string("[REDACTED_SECRET:").append(id).append("]");
}

// Names what was found: a known value, a key of a known kind, an assignment, a place.
std::uint8_t rank_of(const RedactionRule& rule) {
  if (rule.group != RedactionGroup::secrets) return 4;
  if (rule.kind == RuleKind::assignment) return (rule.checks & check::kStrong) != 0 ? 3 : 2;
  return 1;
}

std::uint32_t window_of(const RedactionRule& rule) {
  switch (rule.kind) {
    case RuleKind::key_block:
      return 4096;
    case RuleKind::jwt:
      return 2048;
    case RuleKind::url:
    case RuleKind::home_dir:
    case RuleKind::temp_dir:
    case RuleKind::email:
      return 420;
    case RuleKind::ip_v4:
      return 32;
    case RuleKind::ip_v6:
    case RuleKind::card:
      return 64;
    case RuleKind::token:
      return rule.rest.empty() ? 160 : 560;
    case RuleKind::cookie:
      return 256;
    case RuleKind::assignment:
      return 240;
    default:
      return 400;
  }
}

// The letter of a drive, or the directories up to a temporary one.
std::uint32_t lead_of(const RedactionRule& rule) {
  if (rule.kind == RuleKind::home_dir) return 1;
  return rule.kind == RuleKind::temp_dir ? 64 : 0;
}

// Every byte as \xNN: nothing in it is syntax.
std::string literal(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    pattern.append("\\x");
    pattern.push_back("0123456789abcdef"[byte >> 4]);
    pattern.push_back("0123456789abcdef"[byte & 0xF]);
  }
  return pattern;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

void add_rule(NetMaker& maker, const ReadyRule& ready) {
  const RedactionRule& rule = *ready.rule;
  const bool secret = rule.group == RedactionGroup::secrets;
  Expression expression{.of = Of::rule,
                        .kind = rule.kind,
                        .rank = rank_of(rule),
                        .ready = &ready,
                        .window = window_of(rule)};
  expression.label = maker.label(
      std::string(rule.id), secret ? secret_marker(rule.id) : std::string(marker_of(rule.group)),
      rank_of(rule));
  if (const auto& next = ready.counted ? ready.counted : ready.rest_begin;
      rule.kind == RuleKind::token && next && next->least > 0)
    expression.follow = &next->chars.has;
  // Of a token the anchor itself may have it.
  const bool strong = rule.kind == RuleKind::assignment && (rule.checks & check::kStrong) != 0;
  expression.needs_cases = strong;
  expression.whole_word = (rule.checks & check::kWholeWord) != 0;
  expression.needs_digit = strong || (rule.kind == RuleKind::context &&
                                      (rule.checks & (check::kDigit | check::kMixed)) != 0);
  const auto add = [&](std::string pattern, unsigned flags, bool fixed) {
    std::size_t back = kFurthestBack;
    if (fixed) {
      // A literal is written as \xNN.
      const bool plain = pattern.find_first_not_of("\\x0123456789abcdef") == std::string::npos;
      const auto size = static_cast<unsigned>(pattern.size() / 4);
      const auto width = plain ? std::optional(size) : maker.fixed_width(pattern, flags);
      if (!width) {
        // Found by the tests: a rule of ours is wrong.
        maker.add("(" + std::string(rule.id) + " " + pattern, 0, expression, 0);
        return;
      }
      expression.width = *width;
      expression.lead = lead_of(rule);
      back = expression.width + expression.lead;
    }
    maker.add(std::move(pattern), flags, expression, back);
  };
  switch (rule.kind) {
    case RuleKind::token:
    case RuleKind::jwt:
      add(std::string(ready.anchor), (rule.checks & check::kCaseless) != 0 ? HS_FLAG_CASELESS : 0,
          true);
      break;
    case RuleKind::ip_v4:
    case RuleKind::ip_v6:
    case RuleKind::email:
      for (const std::string_view part : split(rule.anchor, '&'))
        add(std::string(part), 0, false);
      break;
    case RuleKind::card:
      for (const std::string_view part : split(rule.anchor, '&'))
        add(std::string(part), 0, true);
      break;
    case RuleKind::key_block:
    case RuleKind::url:
    case RuleKind::home_dir:
    case RuleKind::temp_dir:
      for (const std::string_view part : split(rule.anchor, '|'))
        add(literal(part), 0, true);
      break;
    case RuleKind::context:
    case RuleKind::assignment:
    case RuleKind::cookie:
      for (const std::string_view part : split(rule.anchor, '|')) {
        if (rule.kind != RuleKind::cookie)
          expression.follow = is_name(part.back()) ? &kBehindName : nullptr;
        add(literal(part), HS_FLAG_CASELESS, true);
      }
      break;
  }
}

Result<unsigned> mask_of(const std::vector<std::string>& groups) {
  unsigned mask = 0;
  for (const std::string& group : groups) {
    const auto known = std::ranges::find(kRedactionGroups, group);
    if (known == std::end(kRedactionGroups)) {
      const auto meant = nearest(group, kRedactionGroups);
      return fail(Reason::argument, "there is no redaction group " + sallyport::quoted(group),
                  meant ? "did you mean " + std::string(*meant) + "?"
                        : "they are secrets, home_dirs, ip_addresses, temp_dirs, emails and cards");
    }
    mask |= 1u << (known - std::begin(kRedactionGroups));
  }
  return mask;
}

NetMaker collect_built_in(unsigned mask, std::optional<ReadyNet> ready) {
  NetMaker maker;
  maker.ready = std::move(ready);
  for (const ReadyRule& row : ready_rules())
    if ((mask >> static_cast<unsigned>(row.rule->group) & 1) != 0) add_rule(maker, row);
  for (const char* marker :
       {"\\[(?:HOME_DIR|TEMP_DIR|IP_ADDR|EMAIL|CARD)\\]", "\\[REDACTED_SECRET:[a-z0-9-]{1,44}\\]"})
    maker.add(marker, 0, {.of = Of::marker}, 0);
  return maker;
}

Result<std::shared_ptr<const Net>> make_built_in(unsigned mask) {
  auto net = collect_built_in(mask, find_ready_net(mask)).compile();
  if (!net) return std::unexpected(std::move(net.error()));
  return std::make_shared<const Net>(std::move(*net));
}

// The pattern with every `$` as `\r?$`: the end of a line is in front of its CR LF, too.
std::string with_line_ends(std::string_view pattern) {
  std::string made;
  bool within_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') {
      // \Q...\E is literal.
      const bool literal_text = pattern.substr(i).starts_with("\\Q");
      const std::size_t end =
          literal_text ? std::min(pattern.find("\\E", i), pattern.size()) + 2 : i + 2;
      made.append(pattern.substr(i, end - i));
      i = end - 1;
      continue;
    }
    if (!within_class && c == '$') made.append("\\r?");
    made.push_back(c);
    if (c == '[' && !within_class) {
      within_class = true;
      // A bracket that comes first is one of the class.
      for (const char first : {'^', ']'})
        if (i + 1 < pattern.size() && pattern[i + 1] == first) made.push_back(pattern[++i]);
    } else if (c == ']') {
      within_class = false;
    }
  }
  return made;
}

Result<void> add_pattern(NetMaker& maker, Redactions::Parts& parts, const std::string& written) {
  const std::string name = "the pattern " + sallyport::quoted(written);
  const std::string pattern = with_line_ends(written);
  RE2::Options options(RE2::Quiet);
  options.set_encoding(RE2::Options::EncodingLatin1);  // bytes, as the scanner sees them
  options.set_longest_match(true);
  options.set_max_mem(1 << 20);
  auto expression = std::make_unique<RE2>("(?m:" + pattern + ")", options);
  if (!expression->ok())
    return fail(Reason::argument, name + " is refused: " + expression->error(),
                "write it in the syntax of RE2");
  // Beginning and end of the whole text are not known while it streams.
  if (pattern.contains("\\A") || pattern.contains("\\z") || pattern.contains("\\Z"))
    return fail(Reason::argument, name + " asks for the beginning or the end of the text",
                "use ^ and $, which are those of a line");
  const unsigned flags = HS_FLAG_MULTILINE;
  const auto width = width_of(pattern, flags);
  if (!width)
    return fail(Reason::argument, name + " is refused by the scanner",
                "leave out what is not plain: named classes, Unicode properties");
  if (width->least == 0)
    return fail(Reason::argument, name + " matches the empty text",
                "ask for at least one character");
  if (width->most > kLongestPattern)
    return fail(Reason::argument,
                name + " has no bound, or one above " + std::to_string(kLongestPattern) + " bytes",
                "write {1,100} instead of + or *");
  const std::string id = "pattern-" + std::to_string(parts.patterns.size() + 1);
  maker.add(pattern, flags,
            {.of = Of::pattern,
             .number = static_cast<std::uint32_t>(parts.patterns.size()),
             .width = width->most,
             .window = 2 * width->most + 1,
             .label = maker.label(id, secret_marker(id), 1)},
            width->most);
  parts.patterns.push_back({std::move(expression), width->most});
  return {};
}

void add_value(NetMaker& maker, Redactions::Parts& parts, std::string_view value) {
  constexpr std::size_t kLongestAnchor = 48;
  const std::uint32_t label = maker.label("known-value", secret_marker("known-value"), 0);
  for (KnownForm& form : forms_of(value)) {
    const std::size_t width = std::min(form.text.size(), kLongestAnchor);
    maker.add(literal(std::string_view(form.text).substr(0, width)), 0,
              {.of = Of::value,
               .number = static_cast<std::uint32_t>(parts.forms.size()),
               .width = static_cast<std::uint32_t>(width),
               .lead = form.base64 ? 1u : 0u,
               .window = static_cast<std::uint32_t>(form.text.size() + 2),
               .label = label},
              width + 1);
    parts.forms.push_back({std::move(form.text), form.base64});
  }
}

}  // namespace

bool is_marker(std::string_view text) {
  constexpr std::string_view kSecret = "[REDACTED_SECRET:";
  if (!text.starts_with(kSecret))
    return std::ranges::any_of(
        std::array{RedactionGroup::home_dirs, RedactionGroup::ip_addresses,
                   RedactionGroup::temp_dirs, RedactionGroup::emails, RedactionGroup::cards},
        [&](RedactionGroup group) { return text == marker_of(group); });
  if (!text.ends_with(']')) return false;
  const std::string_view id = text.substr(kSecret.size(), text.size() - kSecret.size() - 1);
  // Only names of ours: a secret could hide between the brackets otherwise.
  static const std::set<std::string_view> kIds = [] {
    std::set<std::string_view> ids{"known-value"};
    for (const ReadyRule& ready : ready_rules())
      if (ready.rule->group == RedactionGroup::secrets) ids.insert(ready.rule->id);
    return ids;
  }();
  if (kIds.contains(id)) return true;
  constexpr std::string_view kPattern = "pattern-";
  return id.starts_with(kPattern) && id.size() > kPattern.size() &&
         id.size() < kPattern.size() + 5 &&
         std::ranges::all_of(
             id.substr(kPattern.size()), [](char c) { return c >= '0' && c <= '9'; });
}

Result<std::shared_ptr<const Net>> built_in_net(unsigned mask) {
  static std::mutex mutex;
  static std::map<unsigned, std::shared_ptr<const Net>> nets;
  const std::lock_guard lock(mutex);
  if (const auto known = nets.find(mask); known != nets.end()) return known->second;
  auto net = make_built_in(mask);
  if (net) nets.emplace(mask, *net);
  return net;
}

Result<void> check_platform(hs_error_t verdict) {
  if (verdict == HS_SUCCESS) return {};
  return fail(Reason::cannot_enforce, "redaction cannot run on this CPU: it has no SSSE3",
              "use a newer machine, or a policy that asks for no redaction");
}

Scratch Redactions::Parts::take_scratch() const {
  {
    const std::lock_guard lock(mutex);
    if (!spare.empty()) {
      Scratch scratch = std::move(spare.back());
      spare.pop_back();
      return scratch;
    }
  }
  hs_scratch_t* scratch = nullptr;
  if (hs_clone_scratch(prototype.get(), &scratch) != HS_SUCCESS) return nullptr;
  return Scratch(scratch);
}

void Redactions::Parts::give_back(Scratch scratch) const {
  constexpr std::size_t kMostSpare = 16;
  const std::lock_guard lock(mutex);
  if (scratch && spare.size() < kMostSpare) spare.push_back(std::move(scratch));
}

Result<std::string> make_ready_nets(const std::vector<std::vector<std::string>>& choices) {
  // Of every machine of the last ten years; on an older one the rules are compiled when they are
  // needed.
  constexpr hs_platform_info_t kPlatform{.tune = HS_TUNE_FAMILY_GENERIC,
                                         .cpu_features = HS_CPU_FEATURES_AVX2,
                                         .reserved1 = 0,
                                         .reserved2 = 0};
  std::vector<ReadyNet> nets;
  std::vector<std::string> databases(choices.size());
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const auto mask = mask_of(choices[i]);
    if (!mask) return std::unexpected(mask.error());
    const auto net = collect_built_in(*mask, std::nullopt).compile(&kPlatform);
    if (!net) return std::unexpected(net.error());
    char* bytes = nullptr;
    std::size_t size = 0;
    if (hs_serialize_database(net->database.get(), &bytes, &size) != HS_SUCCESS)
      return fail(Reason::internal, "the redaction rules cannot be serialised");
    databases[i].assign(bytes, size);
    std::free(bytes);  // NOLINT: allocated by Hyperscan with malloc
    nets.push_back({.mask = *mask, .widths = {}, .database = databases[i]});
    for (const Expression& expression : net->expressions)
      nets.back().widths.push_back(expression.width);
  }
  return pack_ready_nets(nets);
}

Redactions::Redactions(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Redactions::~Redactions() = default;

Result<std::shared_ptr<const Redactions>> Redactions::make(const RedactionChoice& choice) {
  if (auto platform = check_platform(hs_valid_platform()); !platform)
    return std::unexpected(std::move(platform.error()));
  const auto mask = mask_of(choice.groups);
  if (!mask) return std::unexpected(mask.error());
  auto parts = std::make_unique<Parts>();
  auto built_in = built_in_net(*mask);
  if (!built_in) return std::unexpected(std::move(built_in.error()));
  parts->built_in = std::move(*built_in);

  NetMaker maker;
  for (const std::string& pattern : choice.patterns)
    if (auto added = add_pattern(maker, *parts, pattern); !added)
      return std::unexpected(std::move(added.error()));
  for (const std::string& value : choice.values) {
    if (value.size() < kShortestValue)
      return fail(Reason::argument,
                  "a secret of " + std::to_string(value.size()) + " bytes cannot be redacted",
                  "use one of at least " + std::to_string(kShortestValue) + " bytes");
    add_value(maker, *parts, value);
  }
  hs_scratch_t* scratch = nullptr;
  if (!maker.net.expressions.empty()) {
    auto own = maker.compile();
    if (!own) return std::unexpected(std::move(own.error()));
    parts->own = std::move(*own);
    if (hs_alloc_scratch(parts->own.database.get(), &scratch) != HS_SUCCESS)
      return fail(Reason::internal, "there is no memory for the redaction rules");
    parts->prototype.reset(scratch);
  }
  scratch = parts->prototype.release();
  const hs_error_t made = hs_alloc_scratch(parts->built_in->database.get(), &scratch);
  parts->prototype.reset(scratch);
  if (made != HS_SUCCESS)
    return fail(Reason::internal, "there is no memory for the redaction rules");
  return std::shared_ptr<const Redactions>(new Redactions(std::move(parts)));
}

std::vector<RedactionRuleText> redaction_rules() {
  std::vector<RedactionRuleText> texts;
  std::set<std::string_view> seen;
  for (const ReadyRule& ready : ready_rules()) {
    const RedactionRule& rule = *ready.rule;
    if (!seen.insert(rule.id).second) continue;
    texts.push_back({rule.id, kRedactionGroups[static_cast<std::size_t>(rule.group)],
                     marker_of(rule.group), rule.what});
  }
  return texts;
}

}  // namespace sallyport
