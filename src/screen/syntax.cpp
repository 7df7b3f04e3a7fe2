#include "screen/syntax.h"

#include <parse_memory.h>
#include <tree_sitter.h>
#include <tree_walk.h>

#include <algorithm>
#include <array>
#include <ctime>

extern "C" {
const TSLanguage* tree_sitter_python();
const TSLanguage* tree_sitter_javascript();
const TSLanguage* tree_sitter_bash();
}

namespace sallyport {
namespace {

// Deeper than people write. Evaluation recurses along the tree.
constexpr std::size_t kDeepest = 500;
// tree-sitter reports every hundred steps. After a syntax error it tries to mend the text, at a
// cost that is quadratic in the worst case: it gets this many reports to find a cheap way.
constexpr unsigned kReportsAfterError = 40;
// The backstop, in time of the processor and linear in the length: ten times what code takes.
constexpr double kSecondsToRead = 0.5, kSecondsPerByte = 2e-6;
constexpr unsigned kReportsPerTime = 16;
// Within one token nothing is reported: a scanner of a grammar may look ahead to the end of the
// text from every byte of it. So the text is given in pieces, and a piece only so often.
constexpr std::uint32_t kPiece = 4096;
constexpr std::uint64_t kPiecesToRead = 64, kReadingsPerPiece = 32;

const TSLanguage* grammar_of(Language language) {
  switch (language) {
    case Language::python:
      return tree_sitter_python();
    case Language::javascript:
      return tree_sitter_javascript();
    case Language::shell:
      return tree_sitter_bash();
  }
  return nullptr;
}

// What the numbers of a grammar mean.
struct Vocabulary {
  std::vector<NodeKind> kinds;
  std::vector<NodeField> fields;

  explicit Vocabulary(const TSLanguage* grammar) {
    for (std::uint32_t i = 0; i < ts_language_symbol_count(grammar); ++i) {
      const auto symbol = static_cast<TSSymbol>(i);
      kinds.push_back(kind_of(ts_language_symbol_name(grammar, symbol),
                              ts_language_symbol_type(grammar, symbol) == TSSymbolTypeRegular));
    }
    for (std::uint32_t i = 0; i <= ts_language_field_count(grammar); ++i) {
      const char* name = ts_language_field_name_for_id(grammar, static_cast<TSFieldId>(i));
      fields.push_back(field_of(name == nullptr ? "" : name));
    }
  }

  static NodeKind kind_of(std::string_view name, bool regular) {
    if (!regular) return NodeKind::token;
#define SALLYPORT_NODE_TEXT(enumerator, text) \
  if (name == (text)) return NodeKind::enumerator;
    SALLYPORT_NODES(SALLYPORT_NODE_TEXT)
#undef SALLYPORT_NODE_TEXT
    return NodeKind::other;
  }

  static NodeField field_of(std::string_view name) {
#define SALLYPORT_FIELD_TEXT(enumerator) \
  if (name == #enumerator) return NodeField::enumerator;
    SALLYPORT_NODE_FIELDS(SALLYPORT_FIELD_TEXT)
#undef SALLYPORT_FIELD_TEXT
    return NodeField::none;
  }
};

const Vocabulary& vocabulary_of(Language language) {
  static const std::array<Vocabulary, 3> kAll = {Vocabulary(tree_sitter_python()),
                                                 Vocabulary(tree_sitter_javascript()),
                                                 Vocabulary(tree_sitter_bash())};
  return kAll[static_cast<std::size_t>(language)];
}

struct Reading {
  std::string_view code;
  double deadline = 0;            // in processor time
  std::uint64_t pieces_left = 0;  // that are given; then the text ends
  unsigned reports = 0;           // so far
  unsigned after_error = 0;       // reports since the first error
  std::uint32_t error_at = 0;
};

const char* give_code(void* payload, std::uint32_t at, TSPoint, std::uint32_t* count) {
  auto& reading = *static_cast<Reading*>(payload);
  *count = 0;
  if (at >= reading.code.size() || reading.pieces_left == 0) return "";
  --reading.pieces_left;
  // Pieces lie at fixed places: going back a little does not begin another.
  std::size_t end = std::min(reading.code.size(), (std::size_t{at} / kPiece + 1) * kPiece);
  // Nor do they end within a character: the half of it would be an error.
  for (int i = 0; i < 3 && end < reading.code.size() && (reading.code[end] & 0xC0) == 0x80; ++i)
    ++end;
  *count = static_cast<std::uint32_t>(end - at);
  return reading.code.data() + at;
}

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// True stops the reading.
bool watch(TSParseState* state) {
  auto& reading = *static_cast<Reading*>(state->payload);
  // Every way to read the text had an error: from here on, it stays one.
  if (state->has_error && reading.after_error == 0) {
    reading.error_at = state->current_byte_offset;
    reading.after_error = 1;
  }
  if (reading.after_error > kReportsAfterError) return true;
  if (reading.after_error != 0)
    ++reading.after_error;
  else
    reading.error_at = state->current_byte_offset;
  // Asking for the time is a system call, and takes as long as some tokens.
  const bool asks_time = ++reading.reports % kReportsPerTime == 0;
  return reading.pieces_left == 0 || (asks_time && cpu_seconds() > reading.deadline);
}

// While it lives, the trees that are made on this thread do.
struct ParseMemory {
  ParseMemory() { parse_memory_begin(); }
  ~ParseMemory() { parse_memory_end(); }
  ParseMemory(const ParseMemory&) = delete;
  ParseMemory& operator=(const ParseMemory&) = delete;
};

// Makes the flat list while the tree is walked.
struct Flattening {
  const Vocabulary& words;
  std::vector<SyntaxNode>& nodes;
  std::optional<std::uint32_t>& error_at;
  std::vector<NodeId> path = {};  // the last node at every depth
  bool too_deep = false;

  static bool visit(void* self, const WalkedNode* node) {
    return static_cast<Flattening*>(self)->add(*node);
  }

  bool add(const WalkedNode& node) {
    const auto id = static_cast<NodeId>(nodes.size());
    const bool first = node.depth >= path.size();  // among its siblings
    if (first) {
      if (node.depth > kDeepest) {
        too_deep = true;
        return false;
      }
      path.push_back(id);
    } else {
      nodes[path[node.depth]].next = id;
      path.resize(node.depth + 1);
      path.back() = id;
    }
    const NodeId parent = node.depth == 0 ? kNoNode : path[node.depth - 1];
    if (first && parent != kNoNode) nodes[parent].first = id;
    SyntaxNode flat{
        .kind = node.symbol < words.kinds.size() ? words.kinds[node.symbol] : NodeKind::error,
        .field = node.field < words.fields.size() ? words.fields[node.field] : NodeField::none,
        .named = node.named,
        .has_error = node.has_error,
        .begin = node.begin,
        .end = node.end,
        .parent = parent};
    if ((flat.kind == NodeKind::error || node.missing) && !error_at) error_at = flat.begin;
    if (flat.kind == NodeKind::comment) flat.named = false;
    nodes.push_back(flat);
    return true;
  }
};

}  // namespace

Result<SyntaxTree> SyntaxTree::parse(std::string_view code, Language language) {
  SyntaxTree result;
  result.code_ = code;
  const Vocabulary& words = vocabulary_of(language);
  const ParseMemory memory;
  Reading reading{.code = code,
                  .deadline = cpu_seconds() + kSecondsToRead +
                              kSecondsPerByte * static_cast<double>(code.size()),
                  .pieces_left = kPiecesToRead + kReadingsPerPiece * (code.size() / kPiece + 1)};
  const TSInput input{
      .payload = &reading, .read = give_code, .encoding = TSInputEncodingUTF8, .decode = nullptr};
  const TSTree* const tree =
      parse_text(grammar_of(language), input, {.payload = &reading, .progress_callback = watch});
  if (reading.pieces_left == 0 || (tree == nullptr && reading.after_error == 0))
    return fail(Reason::screen, "the code cannot be read in reasonable time",
                "write plainer code, or less of it");
  if (tree == nullptr) {
    result.nodes_.push_back({.end = static_cast<std::uint32_t>(code.size())});
    result.error_at_ = reading.error_at;
    return result;
  }

  result.nodes_.reserve(ts_node_descendant_count(ts_tree_root_node(tree)));
  Flattening flattening{.words = words, .nodes = result.nodes_, .error_at = result.error_at_};
  if (!walk_tree(tree, Flattening::visit, &flattening))
    return fail(Reason::internal, "there is no memory for the syntax tree");
  if (flattening.too_deep)
    return fail(Reason::screen,
                "the code is nested more than " + std::to_string(kDeepest) + " levels deep",
                "write it flatter");
  if (!result.error_at_ && result.nodes_[0].has_error) result.error_at_ = 0;
  return result;
}

std::string_view SyntaxTree::text(NodeId id) const {
  if (id == kNoNode) return {};
  return code_.substr(nodes_[id].begin, nodes_[id].end - nodes_[id].begin);
}

NodeId SyntaxTree::child(NodeId id, NodeField field) const {
  if (id == kNoNode) return kNoNode;
  for (NodeId at = nodes_[id].first; at != kNoNode; at = nodes_[at].next)
    if (nodes_[at].field == field) return at;
  return kNoNode;
}

std::vector<NodeId> SyntaxTree::named(NodeId id) const {
  std::vector<NodeId> list;
  if (id == kNoNode) return list;
  for (NodeId at = nodes_[id].first; at != kNoNode; at = nodes_[at].next)
    if (nodes_[at].named) list.push_back(at);
  return list;
}

}  // namespace sallyport
