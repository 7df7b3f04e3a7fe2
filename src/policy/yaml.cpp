#include "policy/yaml.h"

#include <libfyaml.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_set>

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostProblems = 50;

struct FreeDiag {
  void operator()(fy_diag* diag) const { fy_diag_destroy(diag); }
};
struct FreeParser {
  void operator()(fy_parser* parser) const { fy_parser_destroy(parser); }
};
struct FreeEvent {
  fy_parser* parser;
  void operator()(fy_event* event) const { fy_parser_event_free(parser, event); }
};
using Event = std::unique_ptr<fy_event, FreeEvent>;

// What libfyaml says of a mistake, and what a person makes of it.
struct SyntaxHint {
  std::string_view said;
  std::string_view message;
  std::string_view hint;
};
constexpr SyntaxHint kSyntaxHints[] = {
    {"invalid alias", "a bare '*' begins an alias, which is not taken here", "quote this: \"*\""},
    {"tab", "a tab indents this line", "indent with spaces"},
    {"nested block mapping", "there is a second ': ' on this line",
     "quote the value, or write the inner mapping in braces"},
    {"plain scalar cannot start", "a bare value cannot begin with this character",
     "quote the value"},
    {"multiline plain key", "this line is neither 'key: value' nor a part of what is above it",
     "check the indentation and the ':' of the lines around"},
    {"without closing quote", "the quote that opens here is never closed", "close it"},
    {"missing comma in flow", "the bracket or brace that was opened here or above is not closed",
     "write ',' between values and close every '[' and '{'"},
    {"depth limit", "lists and mappings are nested too deeply", "nest them less"},
};

// Bidirectional controls and invisible characters make a file read differently to a reviewer than
// to the loader ("Trojan Source", CVE-2021-42574); NEL, LS and PS end a line for some readers only.
bool is_hidden(char32_t code) {
  constexpr std::array<std::pair<char32_t, char32_t>, 8> kRanges = {{
      {0x7F, 0x9F},
      {0xAD, 0xAD},
      {0x61C, 0x61C},
      {0x200B, 0x200F},
      {0x2028, 0x202E},
      {0x2060, 0x206F},
      {0xFEFF, 0xFEFF},
      {0xE0000, 0xE0FFF},
  }};
  return std::ranges::any_of(
      kRanges, [code](const auto& range) { return range.first <= code && code <= range.second; });
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  std::expected<Node, std::vector<PolicyProblem>> read() {
    if (text_.size() > kLargestPolicy) {
      refuse({1, 1}, "the file has " + std::to_string(text_.size()) + " bytes",
             "at most " + std::to_string(kLargestPolicy) + " are read");
    } else if (check_characters()) {
      read_events();
    }
    if (problems_.empty() && !root_)
      refuse({1, 1}, "the file is empty", "`sallyport policy init` prints one to start from");
    if (!problems_.empty()) return std::unexpected(std::move(problems_));
    return std::move(*root_);
  }

 private:
  // A map or list whose end has not been seen.
  struct Open {
    Node node;
    std::optional<Node> key = std::nullopt;  // of a map: the key whose value comes next
    std::unordered_set<std::string> keys = {};
  };

  void refuse(Place place, std::string message, std::string hint) {
    if (problems_.size() < kMostProblems)
      problems_.push_back(
          {std::string(file_), place.line, place.column, {}, std::move(message), std::move(hint)});
  }

  void refuse_number(Place place) {
    refuse(place, "the file has more than " + std::to_string(kMostPolicyValues) + " values",
           "write a smaller policy");
  }

  bool check_characters() {
    Place place{1, 1};
    std::size_t indicators = 0;
    for (std::string_view rest = text_; !rest.empty();) {
      const Utf8Char c = first_utf8_char(rest);
      const std::string_view bytes = rest.substr(0, c.length);
      rest.remove_prefix(c.length);
      if (!c.valid) {
        refuse(place, "the bytes " + quoted(bytes) + " are not UTF-8", "write the file in UTF-8");
        return false;
      }
      const bool line_end = c.code == '\n' || (c.code == '\r' && rest.starts_with('\n'));
      if ((c.code < 0x20 && c.code != '\t' && !line_end) || is_hidden(c.code)) {
        refuse(place, "the character " + quoted(bytes) + " cannot be seen in an editor",
               "take it out, or write it as \"\\uNNNN\" in double quotes");
        return false;
      }
      // libfyaml holds all of a line in brackets at once, at some 350 bytes for each of these.
      if (bytes.find_first_of("[{,&!*") == 0 && ++indicators > kMostPolicyValues) {
        refuse_number(place);
        return false;
      }
      if (c.code == '\n')
        place = {place.line + 1, 1};
      else
        ++place.column;
    }
    return true;
  }

  void read_events() {
    fy_diag_cfg diag_config{};
    fy_diag_cfg_default(&diag_config);
    diag_config.fp = nullptr;
    diag_config.output_fn = [](fy_diag*, void*, const char*, std::size_t) {};  // never to stderr
    const std::unique_ptr<fy_diag, FreeDiag> diag(fy_diag_create(&diag_config));
    if (!diag) return refuse({1, 1}, "there is no memory to read the file", "");
    fy_diag_set_collect_errors(diag.get(), true);

    fy_parse_cfg config{};
    config.flags =
        static_cast<fy_parse_cfg_flags>(FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_DISABLE_MMAP_OPT |
                                        FYPCF_JSON_NONE | FYPCF_DEFAULT_VERSION_1_2);
    config.diag = diag.get();
    const std::unique_ptr<fy_parser, FreeParser> parser(fy_parser_create(&config));
    if (!parser || fy_parser_set_string(parser.get(), text_.data(), text_.size()) != 0)
      return refuse({1, 1}, "there is no memory to read the file", "");

    while (true) {
      const Event event(fy_parser_parse(parser.get()), FreeEvent{parser.get()});
      if (!event) break;
      if (!take(*event)) return;
    }
    if (fy_parser_get_stream_error(parser.get())) refuse_syntax(*diag);
  }

  void refuse_syntax(fy_diag& diag) {
    void* state = nullptr;
    const fy_diag_error* error = fy_diag_errors_iterate(&diag, &state);
    if (!error || !error->msg) return refuse(last_, "this is not YAML", "");
    const Place place = error->line > 0 ? Place{static_cast<unsigned>(error->line),
                                                static_cast<unsigned>(std::max(error->column, 1))}
                                        : last_;
    const std::string_view said = error->msg;
    // Whatever libfyaml makes of a tab, the tab is what is wrong.
    for (const unsigned line : {place.line, place.line + 1})
      if (const auto column = indenting_tab(line))
        return refuse({line, *column}, "a tab indents this line", "indent with spaces");
    for (const SyntaxHint& row : kSyntaxHints)
      if (said.contains(row.said))
        return refuse(place, std::string(row.message), std::string(row.hint));
    refuse(place, "this is not YAML: " + escape_for_terminal(said), "");
  }

  // The column of the first tab before anything else on a line.
  [[nodiscard]] std::optional<unsigned> indenting_tab(unsigned line) const {
    std::string_view rest = text_;
    for (unsigned at = 1; at < line && !rest.empty(); ++at)
      rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
    const std::size_t indent = std::min(rest.find_first_not_of(" \t"), rest.size());
    const std::size_t tab = rest.substr(0, indent).find('\t');
    if (tab == std::string_view::npos) return std::nullopt;
    return static_cast<unsigned>(tab) + 1;
  }

  // Whether reading goes on.
  bool take(fy_event& event) {
    if (const fy_mark* mark = fy_event_start_mark(&event))
      last_ = {static_cast<unsigned>(mark->line) + 1, static_cast<unsigned>(mark->column) + 1};
    switch (event.type) {
      case FYET_DOCUMENT_START:
        return begin_document(event);
      case FYET_SCALAR:
        refuse_decorations(event.scalar.anchor, event.scalar.tag);
        return place_value(scalar(event.scalar.value));
      case FYET_ALIAS:
        return place_value(alias(event));
      case FYET_MAPPING_START:
        refuse_decorations(event.mapping_start.anchor, event.mapping_start.tag);
        return begin({.kind = Node::Kind::map,
                      .place = last_,
                      .flow_map = fy_event_get_node_style(&event) == FYNS_FLOW});
      case FYET_SEQUENCE_START:
        refuse_decorations(event.sequence_start.anchor, event.sequence_start.tag);
        return begin({.kind = Node::Kind::list, .place = last_});
      case FYET_MAPPING_END:
      case FYET_SEQUENCE_END: {
        Node node = std::move(open_.back().node);
        open_.pop_back();
        return place_value(std::move(node));
      }
      default:
        return true;
    }
  }

  bool begin_document(const fy_event& event) {
    fy_document_state* state = event.document_start.document_state;
    if (fy_document_state_version_explicit(state) || fy_document_state_tags_explicit(state)) {
      refuse({1, 1}, "the file has a %-directive", "take the line that begins with '%' out");
      return false;
    }
    if (seen_document_) {
      refuse(last_, "a second document begins here", "write one document to a file");
      return false;
    }
    seen_document_ = true;
    return true;
  }

  void refuse_decorations(fy_token* anchor, fy_token* tag) {
    const auto place_of = [&](fy_token* token) {
      const fy_mark* mark = fy_token_start_mark(token);
      return mark ? Place{static_cast<unsigned>(mark->line) + 1,
                          static_cast<unsigned>(std::max(mark->column, 1))}
                  : last_;
    };
    if (anchor)
      refuse(place_of(anchor), "an anchor (&) is not taken here",
             "write the value out where it is used, or quote a text that begins with '&'");
    if (tag) {
      Place place = place_of(tag);
      if (const fy_mark* mark = fy_token_start_mark(tag))
        place.column = static_cast<unsigned>(mark->column) + 1;
      refuse(place, "a tag (!) is not taken here",
             "write the value without it, or quote a text that begins with '!'");
    }
  }

  Node scalar(fy_token* token) {
    std::size_t length = 0;
    const char* text = fy_token_get_text(token, &length);
    Node node{.place = last_};
    if (text) node.text.assign(text, length);
    const fy_scalar_style style = fy_token_scalar_style(token);
    node.quoted = style != FYSS_PLAIN && style != FYSS_ANY;
    // libfyaml counts from behind the quote, and gives a value that is left out no place.
    if (style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED)
      node.place.column = std::max(node.place.column, 2u) - 1;
    if (!fy_token_start_mark(token) && !open_.empty() && open_.back().key)
      node.place = open_.back().key->place;
    check_escapes(node);
    return node;
  }

  // "\0" ends a text early for the kernel, and "\uD800" is no character to anybody.
  void check_escapes(const Node& node) {
    for (std::string_view rest = node.text; !rest.empty();) {
      const Utf8Char c = first_utf8_char(rest);
      if (!c.valid || c.code == 0)
        return refuse(
            node.place,
            "an escape in this text makes " + std::string(c.valid ? "a NUL" : "no character"),
            "take it out");
      rest.remove_prefix(c.length);
    }
  }

  Node alias(const fy_event& event) {
    std::size_t length = 0;
    const char* name = fy_token_get_text(event.alias.anchor, &length);
    const std::string text = "*" + std::string(name ? name : "", name ? length : 0);
    const Place place{last_.line, std::max(last_.column, 2u) - 1};
    refuse(place, "the bare '*' makes an alias of " + quoted(text) + ", which is not taken here",
           // *.example.com is a pattern; *base may be meant as an alias.
           (text.find_first_of("./*?[", 1) == std::string::npos
                ? "write the value out where it is used, or "
                : "") +
               ("quote this: \"" + escape_for_terminal(text.substr(0, 100)) + "\""));
    return {.place = place, .text = text, .quoted = true};
  }

  bool begin(Node node) {
    if (!open_.empty() && open_.back().node.kind == Node::Kind::map && !open_.back().key) {
      refuse(node.place, "a key must be a name, and this is a list or a mapping",
             "write 'key: value'");
      return false;
    }
    if (open_.size() == kDeepestPolicy) {
      refuse(node.place,
             "lists and mappings are nested deeper than " + std::to_string(kDeepestPolicy),
             "nest them less");
      return false;
    }
    open_.push_back({std::move(node)});
    return true;
  }

  bool place_value(Node node) {
    if (++values_ > kMostPolicyValues) {
      refuse_number(node.place);
      return false;
    }
    if (open_.empty()) {
      root_ = std::move(node);
      return true;
    }
    Open& open = open_.back();
    if (open.node.kind == Node::Kind::list) {
      open.node.items.push_back(std::move(node));
    } else if (!open.key) {
      check_key(open, node);
      open.key = std::move(node);
    } else {
      open.node.entries.push_back({std::move(*open.key), std::move(node)});
      open.key.reset();
    }
    return true;
  }

  void check_key(Open& open, const Node& key) {
    const bool first = open.node.entries.empty() && open.keys.empty();
    // `[read: data]` is a map without braces, which libfyaml places at its ':'.
    const bool no_braces = std::tie(key.place.line, key.place.column) <
                           std::tie(open.node.place.line, open.node.place.column);
    if (first && (no_braces || !open.node.flow_map)) {
      open.node.place = key.place;
      open.node.flow_map = false;
    }
    if (key.text == "<<" && !key.quoted)
      refuse(key.place, "the merge key '<<' is not taken here", "write the keys out");
    else if (!open.keys.insert(key.text).second)
      refuse(key.place, "the key " + quoted(key.text) + " is given twice", "give each key once");
  }

  std::string_view text_, file_;
  std::vector<PolicyProblem> problems_;
  std::vector<Open> open_;
  std::optional<Node> root_;
  Place last_{1, 1};
  std::size_t values_ = 0;
  bool seen_document_ = false;
};

}  // namespace

std::expected<Node, std::vector<PolicyProblem>> parse_yaml(std::string_view text,
                                                           std::string_view file) {
  return Reader(text, file).read();
}

}  // namespace sallyport
