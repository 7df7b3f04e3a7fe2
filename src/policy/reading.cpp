#include "policy/reading.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_set>

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool consists_of(std::string_view text, std::initializer_list<std::string_view> sets) {
  return std::ranges::all_of(text, [sets](char c) {
    return std::ranges::any_of(sets, [c](std::string_view set) { return set.contains(c); });
  });
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// A bare scalar as every reader of YAML takes it, or as a trap.
enum class Look { text, truth, null, integer, decimal, nothing, odd_truth, odd_null, odd_number };

// 012, 0x1F, 1_000, 1e3, .5, +1, .inf, 12:30, 2001-12-14: numbers or dates to some, text to others.
bool is_odd_number(std::string_view text) {
  const std::string all = lower(text);
  std::string_view rest = all;
  if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == ".inf" || rest == ".nan") return true;
  if (rest.empty() || !(kDigits.contains(rest[0]) ||
                        (rest[0] == '.' && rest.size() > 1 && kDigits.contains(rest[1]))))
    return false;
  if (rest.starts_with("0x")) return consists_of(rest.substr(2), {kDigits, "abcdef_"});
  if (rest.starts_with("0o") || rest.starts_with("0b"))
    return consists_of(rest.substr(2), {kDigits, "_"});
  if (consists_of(rest, {kDigits, "_,"})) return true;
  if (consists_of(rest, {kDigits, "_:."})) {
    const auto dots = std::ranges::count(rest, '.');
    return dots <= 1 && !rest.ends_with(':');
  }
  // A date, perhaps with a time.
  if (rest.size() >= 8 && consists_of(rest.substr(0, 4), {kDigits}) && rest[4] == '-' &&
      consists_of(rest, {kDigits, "-t:.z +"}))
    return std::ranges::count(rest.substr(0, 10), '-') == 2;
  const std::size_t e = rest.find('e');
  if (e == std::string_view::npos) return false;
  std::string_view exponent = rest.substr(e + 1);
  if (exponent.starts_with('-') || exponent.starts_with('+')) exponent.remove_prefix(1);
  return consists_of(rest.substr(0, e), {kDigits, "._"}) && !exponent.empty() &&
         consists_of(exponent, {kDigits});
}

Look look_of(const Node& node) {
  const std::string_view text = node.text;
  if (node.quoted) return Look::text;
  if (text.empty()) return Look::nothing;
  if (text == "true" || text == "false") return Look::truth;
  if (text == "null") return Look::null;
  std::string_view digits = text;
  if (digits.starts_with('-')) digits.remove_prefix(1);
  const std::size_t point = digits.find('.');
  const std::string_view whole = digits.substr(0, point);
  if (!whole.empty() && consists_of(whole, {kDigits}) && (whole == "0" || whole[0] != '0')) {
    if (point == std::string_view::npos) return Look::integer;
    const std::string_view fraction = digits.substr(point + 1);
    if (!fraction.empty() && consists_of(fraction, {kDigits})) return Look::decimal;
  }
  const std::string word = text.size() <= 5 ? lower(text) : std::string();
  constexpr std::array<std::string_view, 8> kTruths = {"yes", "no", "on",   "off",
                                                       "y",   "n",  "true", "false"};
  if (std::ranges::find(kTruths, word) != kTruths.end()) return Look::odd_truth;
  if (text == "~" || word == "null") return Look::odd_null;
  if (is_odd_number(text)) return Look::odd_number;
  return Look::text;
}

std::string shown(std::string_view text) {
  return escape_for_terminal(text.substr(0, 80));
}

std::string quote_this(std::string_view text) {
  return "quote this if it is a text: \"" + shown(text) + "\"";
}

std::string_view kind_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::list:
      return "a list";
    case Node::Kind::map:
      return "a mapping";
    case Node::Kind::scalar:
      return "a single value";
  }
  return {};
}

std::string kind_of(Look look) {
  if (look == Look::truth || look == Look::odd_truth) return "a truth value";
  return look == Look::odd_number ? "a number or a date" : "a number";
}

// {limit}, without quotes.
bool is_braced_word(const Node& node) {
  return node.kind == Node::Kind::map && node.flow_map && node.entries.size() == 1 &&
         node.entries[0].value.kind == Node::Kind::scalar && node.entries[0].value.text.empty() &&
         !node.entries[0].value.quoted;
}

// A map or list where a text was wanted: {limit} and `read: data` are the usual slips.
void refuse_structure(const Spot& at, std::string_view wanted) {
  const Node& node = at.node();
  std::string message =
      std::string(wanted) + " is wanted here, and this is " + std::string(kind_of(node));
  if (node.kind == Node::Kind::map && node.entries.size() == 1 &&
      node.entries[0].value.kind == Node::Kind::scalar) {
    const Node& key = node.entries[0].key;
    const Node& value = node.entries[0].value;
    if (is_braced_word(node))
      return at.refuse(std::move(message), "quote this: \"{" + shown(key.text) + "}\"");
    if (value.text.empty() && !value.quoted)
      return at.refuse(std::move(message), "quote this: \"" + shown(key.text) + ":\"");
    if (!value.text.empty())
      return at.refuse(std::move(message),
                       "write " + shown(key.text) + ":" + shown(value.text) + " without the space");
  }
  at.refuse(std::move(message));
}

// Whether a scalar with something in it stands here; says so if not.
bool is_filled_scalar(const Spot& at, std::string_view wanted) {
  const Node& node = at.node();
  if (node.kind != Node::Kind::scalar) {
    refuse_structure(at, wanted);
    return false;
  }
  const Look look = look_of(node);
  if (look == Look::nothing) {
    at.refuse(std::string(wanted) + " is wanted here, and there is nothing",
              "write a value, or leave the key out");
    return false;
  }
  if (look == Look::null || look == Look::odd_null) {
    at.refuse(std::string(wanted) + " is wanted here, and " + quoted(node.text) + " is none",
              "leave the key out, or " + quote_this(node.text));
    return false;
  }
  return true;
}

std::optional<std::string> text_at(const Spot& at, bool may_be_empty) {
  if (!is_filled_scalar(at, "a text")) return std::nullopt;
  const Node& node = at.node();
  const Look look = look_of(node);
  if (look != Look::text) {
    at.refuse("a text is wanted here, and the bare " + quoted(node.text) + " is " + kind_of(look) +
                  " to some readers of YAML",
              "quote this: \"" + shown(node.text) + "\"");
    return std::nullopt;
  }
  if (node.text.empty() && !may_be_empty) {
    at.refuse("the text is empty", "write something, or leave the key out");
    return std::nullopt;
  }
  at.means(json::value(node.text));
  return node.text;
}

std::string_view rule_of_names(NameKind kind) {
  switch (kind) {
    case NameKind::permission:
      return "write it as VERB:OBJECT or one word, such as read:data: letters, digits, '_', '-' "
             "and '.'";
    case NameKind::caller:
      return "write letters, digits, '_', '-', '.' and '@', at most 64, beginning with a letter or "
             "'_'";
    case NameKind::variable:
      return "write letters, digits and '_', beginning with a letter or '_'";
    case NameKind::plain:
    case NameKind::argument:
      break;
  }
  return "write letters, digits, '_' and '-', at most 64, beginning with a letter or '_'";
}

std::optional<std::string> name_at(const Spot& at, NameKind kind) {
  auto text = read_text(at);
  if (!text) return std::nullopt;
  if (auto checked = check_name(*text, kind); !checked) {
    at.refuse(checked.error());
    return std::nullopt;
  }
  return text;
}

std::optional<json::value> json_number(const Spot& at, Look look) {
  const std::string& text = at.node().text;
  const char* end = text.data() + text.size();
  if (look == Look::integer) {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec == std::errc{} && parsed.ptr == end) return json::value(value);
  } else {
    double value = 0;
    const auto parsed = std::from_chars(text.data(), end, value, std::chars_format::fixed);
    if (parsed.ec == std::errc{} && parsed.ptr == end) return json::value(value);
  }
  at.refuse("the number " + quoted(text) + " is too large", "write a smaller one, or a text");
  return std::nullopt;
}

std::optional<json::value> json_scalar(const Spot& at) {
  const Node& node = at.node();
  switch (const Look look = look_of(node)) {
    case Look::text:
      return json::value(node.text);
    case Look::truth:
      return json::value(node.text == "true");
    case Look::null:
      return json::value(nullptr);
    case Look::integer:
    case Look::decimal:
      return json_number(at, look);
    case Look::nothing:
      at.refuse("there is no value here", "write one, or null, or \"\"");
      return std::nullopt;
    case Look::odd_truth:
      at.refuse("the bare " + quoted(node.text) + " is a truth value to some readers of YAML",
                "write true or false, or quote this: \"" + shown(node.text) + "\"");
      return std::nullopt;
    case Look::odd_null:
      at.refuse("the bare " + quoted(node.text) + " is nothing to some readers of YAML",
                "write null, or quote this: \"" + shown(node.text) + "\"");
      return std::nullopt;
    case Look::odd_number:
      at.refuse(
          "the bare " + quoted(node.text) +
              " is one number to some readers of YAML and another, "
              "or a text, to others",
          "write plain digits, such as 1000 or 0.5, or quote this: \"" + shown(node.text) + "\"");
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::string Spot::rule() const {
  std::string text = parent_ ? parent_->rule() : std::string();
  if (index_) return text.append("[").append(std::to_string(*index_)).append("]");
  if (key_.empty()) return text;
  if (!text.empty()) text.push_back('.');
  return text.append(shown(key_));
}

void Spot::refuse(std::string message, std::string hint) const {
  refuse_at(node_->place, std::move(message), std::move(hint));
}

void Spot::refuse_at(Place place, std::string message, std::string hint) const {
  if (notes_->full()) return;
  notes_->problems.push_back(
      {notes_->file, place.line, place.column, rule(), std::move(message), std::move(hint)});
}

void Spot::refuse_key(std::string_view key, Place place, std::string message,
                      std::string hint) const {
  if (notes_->full()) return;
  std::string text = rule();
  if (!text.empty()) text.push_back('.');
  text.append(shown(key));
  notes_->problems.push_back({notes_->file, place.line, place.column, std::move(text),
                              std::move(message), std::move(hint)});
}

void Spot::warn(std::string message, std::string hint) const {
  notes_->warnings.push_back({notes_->file, node_->place.line, node_->place.column, rule(),
                              std::move(message), std::move(hint)});
}

std::optional<std::string> read_text(const Spot& at) {
  return text_at(at, false);
}

std::optional<std::string> read_text_or_empty(const Spot& at) {
  return text_at(at, true);
}

std::optional<std::string_view> read_bare(const Spot& at, std::string_view wanted) {
  if (!is_filled_scalar(at, wanted)) return std::nullopt;
  if (at.node().text.empty()) {
    at.refuse(std::string(wanted) + " is wanted here, and this is an empty text");
    return std::nullopt;
  }
  return at.node().text;
}

std::optional<bool> read_switch(const Spot& at) {
  if (!is_filled_scalar(at, "true or false")) return std::nullopt;
  const Node& node = at.node();
  if (look_of(node) == Look::truth) {
    at.means(node.text == "true");
    return node.text == "true";
  }
  const std::string word = node.text.size() <= 5 ? lower(node.text) : std::string();
  std::string hint = "write true or false";
  if (word == "yes" || word == "on" || word == "y" || word == "true")
    hint = "write true";
  else if (word == "no" || word == "off" || word == "n" || word == "false")
    hint = "write false";
  if (node.quoted && (node.text == "true" || node.text == "false"))
    hint.append(" without the quotes");
  at.refuse("true or false is wanted here, and this is " + quoted(node.text), std::move(hint));
  return std::nullopt;
}

std::optional<std::uint64_t> read_count(const Spot& at, std::uint64_t least, std::uint64_t most) {
  if (!is_filled_scalar(at, "a whole number")) return std::nullopt;
  const Node& node = at.node();
  const std::string range =
      "write a whole number from " + std::to_string(least) +
      (most == std::uint64_t(-1) ? std::string() : " to " + std::to_string(most));
  if (look_of(node) != Look::integer) {
    at.refuse("a whole number is wanted here, and this is " + quoted(node.text),
              node.quoted ? range + ", without quotes" : range + ", in plain digits");
    return std::nullopt;
  }
  std::uint64_t value = 0;
  const char* end = node.text.data() + node.text.size();
  const auto parsed = std::from_chars(node.text.data(), end, value);
  if (parsed.ec != std::errc{} || parsed.ptr != end || value < least || value > most) {
    at.refuse(quoted(node.text) + " is out of range", range);
    return std::nullopt;
  }
  at.means(json::value(value));
  return value;
}

std::optional<double> read_amount(const Spot& at) {
  if (!is_filled_scalar(at, "a number")) return std::nullopt;
  const Look look = look_of(at.node());
  if ((look != Look::integer && look != Look::decimal) || at.node().text.starts_with('-')) {
    at.refuse("a number is wanted here, and this is " + quoted(at.node().text),
              "write a number from 0 in plain digits, such as 0.05");
    return std::nullopt;
  }
  const auto number = json_number(at, look);
  if (!number) return std::nullopt;
  const double value = number->to_number<double>();
  at.means(json::value(value));
  return value;
}

std::optional<Duration> read_duration(const Spot& at) {
  const auto text = read_bare(at, "a duration such as 10s");
  if (!text) return std::nullopt;
  auto duration = parse_duration(*text);
  if (duration && *duration == Duration{})
    duration = fail(Reason::argument, quoted(*text) + " is no time at all", "write at least 1ms");
  if (!duration) {
    at.refuse(duration.error());
    return std::nullopt;
  }
  at.means(json::value(to_text(*duration)));
  return *duration;
}

std::optional<std::string> read_choice(const Spot& at, std::span<const std::string_view> choices) {
  if (!is_filled_scalar(at, "one of a few words")) return std::nullopt;
  const std::string& text = at.node().text;
  if (std::ranges::find(choices, std::string_view(text)) != choices.end()) {
    at.means(json::value(text));
    return text;
  }
  std::string hint;
  if (const auto meant = nearest(text, choices))
    hint = "did you mean '" + std::string(*meant) + "'? ";
  std::string all;
  for (const std::string_view choice : choices)
    all.append(all.empty() ? "it is one of " : ", ").append(choice);
  at.refuse("there is no " + quoted(text) + " here", hint + all);
  return std::nullopt;
}

Result<void> check_name(std::string_view name, NameKind kind) {
  const auto refuse = [&](std::string_view what) {
    return fail(Reason::argument, quoted(name).append(" ").append(what),
                std::string(rule_of_names(kind)));
  };
  if (name.empty()) return refuse("is empty");
  if (name.size() > 64) return refuse("is longer than 64 characters");
  if (!kLetters.contains(name[0]) && name[0] != '_')
    return refuse("does not begin with a letter or '_'");
  const std::string_view more = kind == NameKind::caller       ? "_-.@"
                                : kind == NameKind::permission ? "_-.:"
                                : kind == NameKind::variable   ? "_"
                                                               : "_-";
  if (!consists_of(name, {kLetters, kDigits, more}))
    return refuse("holds a character that no such name has");
  if (kind == NameKind::permission && (std::ranges::count(name, ':') > 1 || name.ends_with(':')))
    return refuse("is not of the form VERB:OBJECT");
  return {};
}

std::optional<std::string> read_name(const Spot& at) {
  return name_at(at, NameKind::caller);
}

std::optional<std::string> read_permission(const Spot& at) {
  return name_at(at, NameKind::permission);
}

std::optional<json::value> read_json(const Spot& at) {
  const Node& node = at.node();
  bool whole = true;
  json::value result;
  if (node.kind == Node::Kind::list) {
    json::array array;
    for_each_item(at, [&](const Spot& item) {
      auto value = read_json(item);
      whole = whole && value;
      if (value) array.push_back(std::move(*value));
    });
    result = std::move(array);
  } else if (is_braced_word(node)) {
    at.refuse(
        "the braces make a mapping of " + quoted(node.entries[0].key.text) + ", which has no value",
        "quote this: \"{" + shown(node.entries[0].key.text) + "}\"");
    return std::nullopt;
  } else if (node.kind == Node::Kind::map) {
    json::object object;
    for_each_entry(at, [&](const Node& key, const Spot& part) {
      auto value = read_json(part);
      whole = whole && value;
      if (value) object[key.text] = std::move(*value);
    });
    result = std::move(object);
  } else {
    auto value = json_scalar(at);
    if (!value) return std::nullopt;
    result = std::move(*value);
  }
  if (!whole) return std::nullopt;
  at.means(result);
  return result;
}

std::optional<json::object> read_json_object(const Spot& at) {
  if (!is_map(at)) return std::nullopt;
  auto value = read_json(at);
  return value ? std::optional(std::move(value->get_object())) : std::nullopt;
}

Node node_from_json(const json::value& value) {
  Node node;
  switch (value.kind()) {
    case json::kind::null:
      node.text = "null";
      break;
    case json::kind::bool_:
      node.text = value.get_bool() ? "true" : "false";
      break;
    case json::kind::int64:
      node.text = std::to_string(value.get_int64());
      break;
    case json::kind::uint64:
      node.text = std::to_string(value.get_uint64());
      break;
    case json::kind::double_: {
      std::array<char, 1100> digits{};  // the smallest double has 1,074 places
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(),
                                     value.get_double(), std::chars_format::fixed);
      node.text.assign(digits.data(), end.ptr);
      if (!node.text.contains('.') && consists_of(node.text, {kDigits, "-"}))
        node.text.append(".0");
      break;
    }
    case json::kind::string:
      node.text = value.get_string();
      node.quoted = true;
      break;
    case json::kind::array:
      node.kind = Node::Kind::list;
      for (const json::value& item : value.get_array())
        node.items.push_back(node_from_json(item));
      break;
    case json::kind::object:
      node.kind = Node::Kind::map;
      for (const json::key_value_pair& member : value.get_object()) {
        Node key{.text = member.key(), .quoted = true};
        node.entries.push_back({std::move(key), node_from_json(member.value())});
      }
      break;
  }
  return node;
}

void settle_meaning(json::value& meaning, const Node& node) {
  if (!meaning.is_null()) return;
  if (node.kind == Node::Kind::scalar) {
    meaning = json::value(node.text);
  } else if (node.kind == Node::Kind::list) {
    json::array parts;
    for (const Node& item : node.items)
      settle_meaning(parts.emplace_back(nullptr), item);
    meaning = std::move(parts);
  } else {
    json::object parts;
    for (const NodeEntry& entry : node.entries)
      settle_meaning(parts[entry.key.text], entry.value);
    meaning = std::move(parts);
  }
}

bool is_list(const Spot& at) {
  const Node& node = at.node();
  if (node.kind == Node::Kind::list) return true;
  if (node.kind == Node::Kind::scalar && (node.text.empty() && !node.quoted))
    at.refuse("a list is wanted here, and there is nothing", "write [] for an empty list");
  else
    at.refuse("a list is wanted here, and this is " + std::string(kind_of(node)),
              node.kind == Node::Kind::scalar ? "write [" + shown(node.text) + "]" : "");
  return false;
}

bool is_map(const Spot& at) {
  const Node& node = at.node();
  if (node.kind == Node::Kind::map) return true;
  if (node.kind == Node::Kind::scalar && (node.text.empty() && !node.quoted))
    at.refuse("a mapping is wanted here, and there is nothing",
              "write keys and values below it, or {} for none");
  else
    at.refuse("a mapping is wanted here, and this is " + std::string(kind_of(node)),
              "write keys and values, as in {key: value}");
  return false;
}

bool check_key(const Spot& value, const Node& key, NameKind kind) {
  const Look look = look_of(key);
  if (look != Look::text) {
    value.refuse_at(key.place,
                    "the bare key " + quoted(key.text) + " is no text to some readers of YAML",
                    "quote this: \"" + shown(key.text) + "\"");
    return false;
  }
  if (auto checked = check_name(key.text, kind); !checked) {
    value.refuse_at(key.place, checked.error().message, checked.error().hint);
    return false;
  }
  return true;
}

void refuse_twins(const Spot& at, const std::vector<std::string>& list) {
  std::unordered_set<std::string_view> seen;
  const std::vector<Node>& items = at.node().items;
  json::value ignored;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (seen.insert(list[i]).second) continue;
    const Error twin{Reason::argument, quoted(list[i]) + " is listed twice", "list each once"};
    // With every item read, they are the items of the list one by one.
    if (items.size() == list.size())
      Spot(at, items[i], i, &ignored).refuse(twin);
    else
      at.refuse(twin);
  }
}

std::optional<std::vector<CallRate>> read_rates(const Spot& at) {
  std::vector<CallRate> rates;
  json::array meaning;
  const auto read = [&](const Spot& spot) {
    const auto text = read_bare(spot, "a rate such as 10/min");
    if (!text) return;
    const auto rate = parse_call_rate(*text);
    if (!rate) return spot.refuse(rate.error());
    if (std::ranges::find(rates, rate->window, &CallRate::window) != rates.end())
      return spot.refuse("there are two rates for the same window", "keep the stricter one");
    rates.push_back(*rate);
    meaning.emplace_back(to_text(*rate));
  };
  if (at.node().kind == Node::Kind::list)
    for_each_item(at, read);
  else
    read(at);
  if (rates.empty()) {
    if (at.node().kind == Node::Kind::list && at.node().items.empty())
      at.refuse("the list of rates is empty", "write a rate such as 10/min, or leave `rate` out");
    return std::nullopt;
  }
  at.means(std::move(meaning));
  return rates;
}

void refuse_unknown_key(const Spot& at, const Node& key, std::span<const std::string_view> known) {
  if (at.notes().full() || std::ranges::find(known, std::string_view(key.text)) != known.end())
    return;
  std::string hint;
  if (const auto meant = nearest(key.text, known)) {
    hint = "did you mean '" + std::string(*meant) + "'?";
  } else {
    for (const std::string_view each : known)
      hint.append(hint.empty() ? "the keys here are " : ", ").append(each);
  }
  at.refuse_key(key.text, key.place, "there is no key " + quoted(key.text) + " here",
                std::move(hint));
}

void refuse_missing_key(const Spot& at, std::string_view key, std::string_view about) {
  at.refuse_key(key, at.node().place, "the key '" + std::string(key) + "' is missing",
                "it says: " + std::string(about));
}

}  // namespace sallyport
