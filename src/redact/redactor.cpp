#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "redact/look.h"
#include "redact/nearly_sorted.h"
#include "redact/places.h"
#include "redact/redact.h"
#include "redact/rule_set.h"

namespace sallyport {
namespace {

using Of = Expression::Of;
using Offset = std::uint64_t;  // from the beginning of the stream

constexpr std::size_t kSlice = 65'536;    // of a long piece, so that the buffer stays small
constexpr std::size_t kLookBehind = 256;  // what a rule may see before its anchor
constexpr std::string_view kWithheld = "\n[output withheld: its redaction failed]\n";

// What the window behind an anchor may have nothing else of.
constexpr CharClass kNoDigit{table_of([](char c) { return !is_digit(c); }), run_of::kNoDigitAhead};
constexpr CharClass kNoLower{table_of([](char c) { return !is_lower(c); }), run_of::kNoLowerAhead};
constexpr CharClass kNoUpper{table_of([](char c) { return !is_upper(c); }), run_of::kNoUpperAhead};

// Where something may be. `begin` is where a find may begin at the earliest.
struct Candidate {
  Offset begin = 0;
  std::uint32_t length = 0;  // from there to the end of the anchor
  std::uint32_t expression : 30 = 0;
  bool own : 1 = false;   // an expression of the own net, not of the built-in one
  bool more : 1 = false;  // a find reached the end of its window here

  [[nodiscard]] Offset end() const { return begin + length; }
  bool operator<(const Candidate& other) const {
    return begin != other.begin ? begin < other.begin : length < other.length;
  }
};

struct Span {
  Offset begin = 0, end = 0;
  const Label* label = nullptr;
  bool more = false;  // goes on with the one before it
  bool own = false;   // the label is of the own net

  bool operator<(const Span& other) const {
    return begin != other.begin ? begin < other.begin : end > other.end;
  }
  // Which of two that overlap names both.
  [[nodiscard]] bool names(const Span& other) const {
    if (label->rank != other.label->rank) return label->rank < other.label->rank;
    if (begin != other.begin) return begin < other.begin;
    if (end != other.end) return end > other.end;
    return label->order < other.label->order;
  }
};

// The last find; none if it is empty. Whatever is found within it changes nothing, unless it names
// it better.
struct Taken {
  Offset begin = 0, end = 0;
  std::uint8_t rank = 0;
  bool goes_on = false;  // with what `kind` goes on with
  RuleKind kind = RuleKind::token;
};

struct CloseStream {
  void operator()(hs_stream_t* stream) const { hs_close_stream(stream, nullptr, nullptr, nullptr); }
};
using Stream = std::unique_ptr<hs_stream_t, CloseStream>;

Stream open_stream(const Net& net) {
  hs_stream_t* stream = nullptr;
  if (!net.database || hs_open_stream(net.database.get(), 0, &stream) != HS_SUCCESS) return nullptr;
  return Stream(stream);
}

}  // namespace

// The stream in three steps, each behind the one before it:
//   scanned  Hyperscan has seen the text; every anchor that ends there is a candidate;
//   front    candidates that begin before it have been looked at: no span can begin there any more;
//   emitted  the text has been given out, with markers for the spans.
struct Redactor::State {
  std::shared_ptr<const Redactions> redactions;
  const Redactions::Parts& parts;
  Scratch scratch;
  Stream built_in, own;
  std::size_t furthest_back;
  std::array<const Expression*, 2> expressions;  // of the built-in net and of the own one

  std::string buffer;  // the text from `base` on
  Offset base = 0, scanned = 0, front = 0, emitted = 0;
  NearlySorted<Candidate> candidates;
  NearlySorted<Candidate> continued;  // those that are `more`: among the others each would be put
                                      // in front of many
  NearlySorted<Span> spans;
  Taken taken;
  Offset ahead = 0;           // before this look_ahead() has tried
  std::optional<Span> open;   // spans that overlap so far; its text is not given out
  std::deque<Found> markers;  // in the text, as offsets
  struct Searched {
    Offset cursor = 0, nothing_until = 0;
  };
  std::vector<Searched> searched;            // by own pattern
  Offset noted_token = 0, noted_cookie = 0;  // where the last find that goes on does so
  std::array<Offset, 3> covered{};    // by way to go on: up to where finds have been followed
  std::vector<Offset> last_begin;     // by built-in expression: one find for many ends
  std::vector<std::uint64_t> counts;  // by label: the built-in ones, then the own ones
  Found last_address;                 // what ip_v6_begin() has seen, as indices into the buffer
  Recall recall;
  Sight sight;  // of the candidate that is looked at
  std::uint64_t looks = 0;
  bool failed = false;
  const Net* scanning = nullptr;

  explicit State(std::shared_ptr<const Redactions> rules)
      : redactions(std::move(rules)),
        parts(redactions->parts()),
        scratch(parts.take_scratch()),
        built_in(open_stream(*parts.built_in)),
        own(open_stream(parts.own)),
        furthest_back(std::max(parts.built_in->furthest_back, parts.own.furthest_back)),
        expressions{parts.built_in->expressions.data(), parts.own.expressions.data()},
        searched(parts.patterns.size()),
        last_begin(parts.built_in->expressions.size(), std::numeric_limits<Offset>::max()),
        counts(parts.built_in->labels.size() + parts.own.labels.size()),
        recall(char_classes()),
        failed(!scratch || !built_in || (parts.own.database && !own)) {
    sight.recall = &recall;
  }

  ~State() { parts.give_back(std::move(scratch)); }

  State(const State&) = delete;
  State& operator=(const State&) = delete;

  static int on_match(unsigned id, unsigned long long, unsigned long long to, unsigned,
                      void* self) {
    static_cast<State*>(self)->add_candidates(id, to);
    return 0;
  }

  [[nodiscard]] std::size_t index(Offset offset) const {
    return static_cast<std::size_t>(offset - base);
  }
  [[nodiscard]] char at(Offset offset) const { return buffer[index(offset)]; }

  void add_candidates(unsigned id, Offset end) {
    do {
      const Expression& expression = scanning->expressions[id];
      add_candidate(expression, id, end);
      id = expression.next;
    } while (id != 0);
  }

  void add_candidate(const Expression& expression, unsigned id, Offset end) {
    if (expression.of == Of::marker) {
      add_marker(end);
      return;
    }
    Offset begin = end - std::min<Offset>(end, expression.width);
    if (expression.of == Of::rule) {
      // What follows may have come with the same piece.
      if (!may_go_on(expression, buffer, index(end))) return;
      if (expression.needs_digit && lacks_something(expression, begin, end)) return;
      const RuleKind kind = expression.kind;
      if (expression.width == 0) {
        if (kind == RuleKind::email) ++end;  // what follows the sign is seen later
        begin = base + variable_begin(kind, index(end));
        if (begin > 0 && goes_on_before(kind, at(begin - 1))) return;
        Offset& last = last_begin[id];
        if (last == begin) return;
        last = begin;
      } else if (kind == RuleKind::card) {
        if (begin > 0 && is_alnum(at(begin - 1))) return;
      } else if ((kind == RuleKind::token || kind == RuleKind::jwt) &&
                 !may_begin(*expression.ready->rule, begin)) {
        return;
      }
    }
    begin -= std::min<Offset>(begin, expression.lead);
    candidates.push({.begin = begin,
                     .length = static_cast<std::uint32_t>(end - begin),
                     .expression = id,
                     .own = scanning == &parts.own});
  }

  // Whether a value behind the anchor, whatever it is, has not what its rule asks of it. Names of
  // secrets are cheap to write again and again; most are told so, without a look.
  [[nodiscard]] bool lacks_something(const Expression& expression, Offset begin, Offset end) {
    const std::size_t window = index(begin + expression.window), from = index(end);
    if (window > buffer.size()) return false;
    const std::string_view text(buffer.data(), window);
    const auto has_only = [&](const CharClass& chars) {
      return recall.run_end(text, from, chars) == window;
    };
    return has_only(kNoDigit) ||
           (expression.needs_cases && (has_only(kNoUpper) || has_only(kNoLower)));
  }

  [[nodiscard]] std::size_t variable_begin(RuleKind kind, std::size_t end) {
    switch (kind) {
      case RuleKind::ip_v4:
        return ip_v4_begin(buffer, end);
      case RuleKind::ip_v6:
        return ip_v6_begin(buffer, end, last_address);
      default:
        return email_begin(buffer, end);
    }
  }

  // The end of something longer, which is seen at once: a run of digits has many such ends.
  [[nodiscard]] static bool goes_on_before(RuleKind kind, char c) {
    return is_alnum(c) || (kind != RuleKind::email && (c == '.' || c == ':' || c == '_'));
  }

  // A token stands where its rule looks for it: at the beginning of a word, behind its command.
  [[nodiscard]] bool may_begin(const RedactionRule& rule, Offset begin) {
    if ((rule.checks & check::kAnywhere) == 0 && !begins_word(begin)) return false;
    return rule.command.empty() || recall.line_has(buffer, index(begin), rule.command);
  }

  // A token does not begin within a word, unless the word is the letter of an escape: \n, %3D.
  [[nodiscard]] bool begins_word(Offset begin) const {
    if (begin == 0 || !is_alnum(at(begin - 1)) || !is_alnum(at(begin))) return true;
    if (begin < 2) return false;
    if (at(begin - 2) == '\\') return std::string_view("nrt").contains(at(begin - 1));
    return begin > 2 && at(begin - 3) == '%' && is_hex(at(begin - 2)) && is_hex(at(begin - 1));
  }

  void add_marker(Offset end) {
    const std::string_view text = std::string_view(buffer).substr(0, index(end));
    const std::size_t begin = text.rfind('[');
    if (begin == std::string_view::npos || !is_marker(text.substr(begin))) return;
    markers.push_back({static_cast<std::size_t>(base + begin), static_cast<std::size_t>(end)});
  }

  void scan(std::string_view text) {
    const std::size_t from = buffer.size();
    buffer.append(text);
    for (const auto& [net, stream] :
         {std::pair{parts.built_in.get(), built_in.get()}, std::pair{&parts.own, own.get()}}) {
      if (stream == nullptr) continue;
      scanning = net;
      if (hs_scan_stream(stream, buffer.data() + from, static_cast<unsigned>(text.size()), 0,
                         scratch.get(), on_match, this) != HS_SUCCESS)
        failed = true;
    }
    scanned += text.size();
  }

  // Some expressions match only when it is known that nothing follows.
  void close() {
    for (const auto& [net, stream] :
         {std::pair{parts.built_in.get(), &built_in}, std::pair{&parts.own, &own}}) {
      if (!*stream) continue;
      scanning = net;
      if (hs_close_stream(stream->release(), scratch.get(), on_match, this) != HS_SUCCESS)
        failed = true;
    }
  }

  [[nodiscard]] const Net& net_of(const Candidate& candidate) const {
    return candidate.own ? parts.own : *parts.built_in;
  }
  [[nodiscard]] const Expression& expression_of(const Candidate& candidate) const {
    return expressions[candidate.own ? 1 : 0][candidate.expression];
  }

  // Where the window behind a candidate ends.
  [[nodiscard]] static Offset window_end(const Candidate& candidate, const Expression& expression) {
    return candidate.begin + (candidate.more ? 0 : expression.lead) + expression.window;
  }

  // Where the anchor begins.
  [[nodiscard]] static Offset anchor_of(const Candidate& candidate, const Expression& expression) {
    return candidate.more || expression.width == 0 ? candidate.begin
                                                   : candidate.end() - expression.width;
  }

  // Where the first marker that ends behind `offset` begins; where the text ends if there is none.
  [[nodiscard]] Offset marker_behind(Offset offset) const {
    if (markers.empty()) return scanned;
    const auto next = std::ranges::upper_bound(markers, offset, {}, &Found::end);
    return next == markers.end() ? scanned : Offset{next->begin};
  }

  // Sets `sight` to what is seen from a candidate. False: it is within a marker.
  [[nodiscard]] bool see(const Candidate& candidate, const Expression& expression, Offset window) {
    const Offset begin = anchor_of(candidate, expression);
    Offset end = std::min(window, scanned);
    sight.marker = sight.after_marker = false;
    if (!markers.empty()) {
      const auto next = std::ranges::upper_bound(markers, begin, {}, &Found::end);
      sight.after_marker = next != markers.begin() && std::prev(next)->end == begin;
      if (next != markers.end()) {
        if (next->begin <= begin) return false;
        if (next->begin <= end) {
          end = next->begin;
          sight.marker = true;
        }
      }
    }
    if (end < candidate.end() && !candidate.more) return false;
    sight.text = {buffer.data(), index(end)};
    sight.at = index(begin);
    sight.after = candidate.more ? index(begin) : index(candidate.end());
    sight.open = !sight.marker && end < scanned;
    // Behind a marker what stood there is not known: it may have been more of a word.
    sight.next = sight.marker ? 'x' : sight.open ? at(end) : '\0';
    sight.taken = 0;
    return true;
  }

  // Whether what a rule finds at the candidate would begin within the last find and not name it.
  [[nodiscard]] bool begins_in_taken(const Candidate& candidate, std::uint8_t rank) const {
    return candidate.begin > taken.begin && candidate.begin < taken.end && rank >= taken.rank &&
           !candidate.more;
  }

  // Whether all that is seen from such a candidate lies within the last find, as that goes on.
  [[nodiscard]] bool all_is_taken(const Candidate& candidate, const Expression& expression,
                                  Offset window) {
    const RuleKind kind = expression.kind;
    if (!taken.goes_on || kind == RuleKind::key_block) return false;
    if (kind == RuleKind::cookie && taken.kind != RuleKind::cookie) return false;
    const Offset seen =
        std::min({window, marker_behind(anchor_of(candidate, expression)), scanned});
    if (seen <= taken.end) return true;
    if (marker_behind(taken.end) < seen) return false;
    const std::string_view text(buffer.data(), index(seen));
    return recall.run_end(text, index(taken.end), goes_on_with(taken.kind)) == text.size();
  }

  void look(const Candidate& candidate, const Expression& expression, Offset window) {
    const bool in_taken = expression.of == Of::rule && begins_in_taken(candidate, expression.rank);
    if (in_taken && all_is_taken(candidate, expression, window)) return;
    ++looks;
    if (expression.of == Of::pattern) {
      search_pattern(candidate, expression);
      return;
    }
    // Many finds may reach the same place, and go on alike.
    if (candidate.more && candidate.begin < covered_of(expression)) return;
    if (!see(candidate, expression, window)) return;
    if (in_taken) sight.taken = index(taken.end);
    std::optional<Found> found;
    if (expression.of == Of::value) {
      found = value_at(sight, parts.forms[expression.number]);
    } else {
      const ReadyRule& ready = *expression.ready;
      found = candidate.more ? more_at(sight, ready) : rule_at(sight, ready);
    }
    if (!found || found->begin >= found->end) return;
    const Span span{.begin = base + found->begin,
                    .end = base + found->end,
                    .label = &net_of(candidate).labels[expression.label],
                    .more = candidate.more,
                    .own = candidate.own};
    spans.push(span);
    if (expression.of != Of::rule) return;
    const bool goes_on = sight.open && found->end == sight.text.size();
    take(span, goes_on, expression.kind);
    if (candidate.more) covered_of(expression) = span.end;
    if (goes_on && (candidate.more || !joins_noted(expression, *found)))
      continued.push({.begin = span.end,
                      .expression = candidate.expression,
                      .own = candidate.own,
                      .more = true});
  }

  [[nodiscard]] bool tries_ahead(const Candidate& candidate, const Expression& expression) const {
    return taken.goes_on && candidate.begin >= ahead && expression.of == Of::rule &&
           expression.kind == RuleKind::assignment && begins_in_taken(candidate, expression.rank);
  }

  // Within what an assignment gives may stand many names, each of which would move its end a
  // little further. The last of them is to be looked at first: if what it finds reaches the end of
  // its window, those before it add nothing. Null: there is none, or it has been tried.
  [[nodiscard, gnu::noinline]] const Candidate* look_ahead(const Candidate& candidate,
                                                           const Expression& expression) {
    constexpr std::ptrdiff_t kFewest = 8;  // so that trying in vain costs little
    constexpr Offset kSign = 8;            // between a name and its value
    if (all_is_taken(candidate, expression, window_end(candidate, expression))) return nullptr;
    const auto waiting = candidates.all();
    auto late = std::ranges::lower_bound(waiting, taken.end, {}, &Candidate::begin);
    ahead = taken.end;
    while (late - waiting.begin() > kFewest) {
      const Expression& its = expression_of(*--late);
      if (its.of != Of::rule || its.kind != RuleKind::assignment || its.rank != taken.rank ||
          late->end() + kSign >= taken.end || window_end(*late, its) + kLongestMarker > scanned)
        continue;
      ahead = late->begin + 1;
      return &*late;
    }
    return nullptr;
  }

  void take(const Span& span, bool goes_on, RuleKind kind) {
    goes_on = goes_on && kind != RuleKind::key_block;
    if (taken.end > 0 && span.more) {
      if (!taken.goes_on || taken.kind != kind || taken.end != span.begin) return;
      taken.end = span.end;
      taken.goes_on = goes_on;
      return;
    }
    // The one that reaches furthest stays, unless the new one names better.
    if (span.begin < taken.end && taken.goes_on >= goes_on &&
        (taken.rank <= span.label->rank || !goes_on)) {
      // They overlap, and are one find that goes on where this one does.
      if (goes_on && span.begin > taken.begin && &goes_on_with(kind) == &goes_on_with(taken.kind))
        taken.end = std::max(taken.end, span.end);
      return;
    }
    taken = {span.begin, span.end, span.label->rank, goes_on, kind};
  }

  // Whether an earlier find, which goes on within this one, will cover what follows it. Notes this
  // one otherwise.
  [[nodiscard]] bool joins_noted(const Expression& expression, const Found& found) {
    const RuleKind kind = expression.kind;
    if (kind == RuleKind::key_block) return false;
    Offset& noted = kind == RuleKind::cookie ? noted_cookie : noted_token;
    const std::string_view text(buffer.data(), found.end);
    if (noted > base + found.begin && noted <= base + found.end) {
      if (recall.run_end(text, index(noted), goes_on_with(kind)) == text.size()) return true;
      // How the earlier one goes on lies within this find: it need not be looked at.
      if (!continued.empty() && continued.back().begin == noted &&
          &covered_of(expression_of(continued.back())) == &covered_of(expression))
        continued.pop_back();
    }
    noted = base + found.end;
    return false;
  }

  [[nodiscard]] Offset& covered_of(const Expression& expression) {
    const RuleKind kind = expression.kind;
    return covered[kind == RuleKind::key_block ? 0 : kind == RuleKind::cookie ? 1 : 2];
  }

  // A match of an own pattern ends at the end of the candidate. Searched for as a global
  // replacement would find it: from the left, each as long as possible, none within another.
  // Text that was searched in vain is not searched again, so that the work is linear.
  void search_pattern(const Candidate& candidate, const Expression& expression) {
    Searched& past = searched[expression.number];
    const OwnPattern& pattern = parts.patterns[expression.number];
    if (candidate.end() <= past.cursor || candidate.end() <= past.nothing_until) return;
    Offset low = std::max(candidate.begin, past.cursor);
    Offset high = std::min<Offset>(candidate.end() + pattern.longest, scanned);
    const auto next = std::ranges::lower_bound(markers, candidate.end(), {}, &Found::end);
    if (next != markers.begin()) low = std::max<Offset>(low, std::prev(next)->end);
    if (next != markers.end()) {
      if (next->begin < candidate.end()) return;
      high = std::min<Offset>(high, next->begin);
    }
    if (low >= high) return;
    // One character behind the end says whether it is the end of a word or a line.
    re2::StringPiece match;
    const re2::StringPiece text(buffer.data(), buffer.size());
    if (!pattern.expression->Match(text, index(low), index(high), RE2::UNANCHORED, &match, 1)) {
      past.nothing_until = high;
      return;
    }
    const Offset begin = base + static_cast<std::size_t>(match.data() - buffer.data());
    if (begin >= candidate.end()) {
      past.nothing_until = begin;
      return;
    }
    past.cursor = begin + match.size();
    spans.push({.begin = begin,
                .end = past.cursor,
                .label = &parts.own.labels[expression.label],
                .own = true});
  }

  // The one with the first candidate; null: there is none.
  [[nodiscard]] NearlySorted<Candidate>* next_queue() {
    if (continued.empty()) return candidates.empty() ? nullptr : &candidates;
    if (candidates.empty() || continued.front() < candidates.front()) return &continued;
    return &candidates;
  }

  void advance(bool last, std::string& out) {
    const Offset settled = last ? scanned : scanned - std::min<Offset>(scanned, furthest_back);
    while (auto* const queue = next_queue()) {
      Candidate candidate = queue->front();
      const Expression* expression = &expression_of(candidate);
      Offset window = window_end(candidate, *expression);
      if (!last && (candidate.begin >= settled || window + kLongestMarker > scanned)) break;
      const Candidate* const late =
          tries_ahead(candidate, *expression) ? look_ahead(candidate, *expression) : nullptr;
      if (late == nullptr) {
        queue->pop();
      } else {
        candidate = *late;  // which has its turn all the same
        expression = &expression_of(candidate);
        window = window_end(candidate, *expression);
      }
      look(candidate, *expression, window);
    }
    front = settled;
    if (const auto* queue = next_queue()) front = std::min(front, queue->front().begin);
    give_out(last, out);
    forget();
  }

  void give_out(bool last, std::string& out) {
    while (true) {
      if (open) {
        while (!spans.empty() && (spans.front().begin < open->end ||
                                  (spans.front().begin == open->end && spans.front().more) ||
                                  (spans.front().begin == open->end &&
                                   spans.front().label->marker == open->label->marker))) {
          const Span span = spans.front();
          spans.pop();
          const Span old = *open;
          if (span.names(old)) {
            open->label = span.label;
            open->own = span.own;
          }
          open->end = std::max(old.end, span.end);
        }
        if (!last && front <= open->end) return;
        out.append(open->label->marker);
        ++counts[open->label->order + (open->own ? parts.built_in->labels.size() : 0)];
        emitted = open->end;
        open.reset();
      }
      if (spans.empty() || (!last && spans.front().begin >= front)) break;
      open = spans.front();
      spans.pop();
      copy_until(open->begin, out);
    }
    copy_until(std::max(front, emitted), out);
  }

  void copy_until(Offset end, std::string& out) {
    if (end <= emitted) return;
    out.append(buffer, index(emitted), static_cast<std::size_t>(end - emitted));
    emitted = end;
  }

  void forget() {
    const Offset needed = open ? front : std::min(front, emitted);
    while (!markers.empty() && markers.front().end + kLongestMarker < needed)
      markers.pop_front();
    const Offset keep = needed - std::min<Offset>(needed, kLookBehind);
    if (keep - base < kSlice) return;
    buffer.erase(0, index(keep));
    base = keep;
    recall.forget();
    last_address = {};
  }
};

Redactor::Redactor(std::shared_ptr<const Redactions> redactions)
    : state_(std::make_unique<State>(std::move(redactions))) {}
Redactor::~Redactor() = default;

void Redactor::feed(std::string_view text, std::string& out) {
  while (!text.empty() && !state_->failed) {
    const std::string_view slice = text.substr(0, kSlice);
    text.remove_prefix(slice.size());
    state_->scan(slice);
    if (!state_->failed) state_->advance(false, out);
  }
}

void Redactor::finish(std::string& out) {
  if (!state_->failed) state_->close();
  if (state_->failed)
    out.append(kWithheld);
  else
    state_->advance(true, out);
}

RedactionCounts Redactor::counts() const {
  RedactionCounts counts;
  const auto& built_in = state_->parts.built_in->labels;
  for (std::size_t i = 0; i < state_->counts.size(); ++i)
    if (state_->counts[i] != 0)
      counts[i < built_in.size() ? built_in[i].id
                                 : state_->parts.own.labels[i - built_in.size()].id] +=
          state_->counts[i];
  return counts;
}
bool Redactor::failed() const {
  return state_->failed;
}
std::uint64_t Redactor::looks() const {
  return state_->looks;
}

std::string redact_all(const std::shared_ptr<const Redactions>& redactions, std::string_view text,
                       RedactionCounts& counts) {
  Redactor redactor(redactions);
  std::string out;
  out.reserve(text.size());
  redactor.feed(text, out);
  redactor.finish(out);
  for (const auto& [id, count] : redactor.counts())
    counts[id] += count;
  return out;
}

}  // namespace sallyport
