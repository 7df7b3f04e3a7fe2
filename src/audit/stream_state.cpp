#include "audit/stream_state.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/stream_files.h"
#include "base/file.h"
#include "base/private_file.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr const char *kHead = "head", *kNewHead = "head.new", *kCheckpoints = "checkpoints";
constexpr std::size_t kTail = 8 * kLongestNote;
constexpr std::size_t kLongestHead = std::size_t{16} << 20;
constexpr std::size_t kMostEnded = 128;  // more than calls go through at once

std::unexpected<Error> damaged(const std::string& what) {
  return fail(Reason::unavailable, "the audit log is not what was written: " + what,
              "`sallyport audit verify` says more; to begin a new log, move the directory of the "
              "stream away and keep it");
}

// The rest of a segment from a line on that is no record.
Result<TornTail> torn_tail(int file, std::uint64_t begin, std::uint64_t end) {
  TornTail torn{.bytes = end - begin, .digest = {}};
  std::string bytes(std::min<std::uint64_t>(torn.bytes, kLongestRecord), '\0');
  const ssize_t got = ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(begin));
  if (got < 0) return fail(Reason::unavailable, SysError{"read", "audit log", errno});
  bytes.resize(static_cast<std::size_t>(got));
  torn.digest = sha256_hex(bytes);
  return torn;
}

// The end of the checkpoint file.
Result<std::string> checkpoints_tail(int stream) {
  const auto file = open_private_file(stream, kCheckpoints, O_RDONLY);
  if (!file) return std::unexpected(file.error());
  if (!file->valid()) return std::string();
  const auto size = size_of(file->get());
  if (!size) return std::unexpected(size.error());
  std::string tail(std::min<std::uint64_t>(*size, kTail), '\0');
  const ssize_t got =
      ::pread(file->get(), tail.data(), tail.size(), static_cast<off_t>(*size - tail.size()));
  if (got < 0) return fail(Reason::unavailable, SysError{"read", kCheckpoints, errno});
  tail.resize(static_cast<std::size_t>(got));
  return tail;
}

std::optional<Checkpoint> take_last(std::string& tail) {
  const NotePlace place = last_note(tail);
  if (place.end == 0) return std::nullopt;
  auto checkpoint = Checkpoint::open_note(
      std::string_view(tail).substr(place.begin, place.end - place.begin - 1), nullptr);
  tail.resize(place.begin);
  if (!checkpoint) return std::nullopt;
  return *checkpoint;
}

// Whether one of the last checkpoints is about this tree.
bool is_known(int stream, const MerkleTree& tree) {
  auto tail = checkpoints_tail(stream);
  if (!tail) return false;
  while (const auto checkpoint = take_last(*tail))
    if (checkpoint->size == tree.size()) return checkpoint->root == tree.root();
  return false;
}

StreamState head_from(const json::object& head) {
  StreamState state;
  std::vector<Hash> subtrees;
  for (const json::value& text : head.at("subtrees").as_array())
    subtrees.push_back(hash_from_hex(text.as_string()).value());
  state.tree =
      MerkleTree::from(json::value_to<std::uint64_t>(head.at("size")), std::move(subtrees)).value();
  state.last = hash_from_hex(head.at("last").as_string()).value();
  state.segment = json::value_to<unsigned>(head.at("segment"));
  state.offset = json::value_to<std::uint64_t>(head.at("offset"));
  state.closed = head.at("closed").as_bool();
  for (const json::value& each : head.at("open").as_array()) {
    const json::object& intent = each.as_object();
    state.open.emplace(intent.at("call_id").as_string(),
                       OpenIntent{.segment = json::value_to<unsigned>(intent.at("segment")),
                                  .offset = json::value_to<std::uint64_t>(intent.at("offset")),
                                  .writer = std::string(intent.at("writer").as_string())});
  }
  return state;
}

}  // namespace

void StreamState::add(std::size_t size, const RecordView& view, const Hash& leaf) {
  if (view.record == "intent" && !view.call_id.empty())
    add_open(view);
  else if (view.record == "outcome")
    if (const auto intent = open.find(view.call_id); intent != open.end()) end_open(intent);
  if (view.record == "rotated") closed = true;
  tree.append(leaf);
  last = leaf;
  offset += size + 1;
}

void StreamState::add_open(const RecordView& intent) {
  if (ended.empty()) {
    open.insert_or_assign(std::string(intent.call_id),
                          OpenIntent{segment, offset, std::string(intent.writer)});
    return;
  }
  Open::node_type node = std::move(ended.back());
  ended.pop_back();
  node.key() = intent.call_id;
  node.mapped().segment = segment;
  node.mapped().offset = offset;
  node.mapped().writer = intent.writer;
  auto placed = open.insert(std::move(node));
  if (!placed.inserted) placed.position->second = std::move(placed.node.mapped());
}

void StreamState::end_open(Open::iterator intent) {
  if (ended.size() < kMostEnded)
    ended.push_back(open.extract(intent));
  else
    open.erase(intent);
}

void StreamState::begin_next_segment() {
  ++segment;
  offset = 0;
  closed = false;
}

Result<std::optional<TornTail>> catch_up(int stream, Fd& file, StreamState& state) {
  while (true) {
    const std::string name = segment_name(state.segment);
    if (!file) {
      auto opened = open_private_file(stream, name.c_str(), O_RDWR);
      if (!opened) return std::unexpected(std::move(opened.error()));
      file = std::move(*opened);
      if (!file) {
        if (state.offset > 0) return damaged(name + " is gone");
        return std::nullopt;
      }
    }
    // By its name: a file that was moved away or replaced is not the log any more.
    struct stat named{}, opened{};
    if (::fstatat(stream, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
        ::fstat(file.get(), &opened) != 0 || named.st_ino != opened.st_ino)
      return damaged(name + " was moved away");
    const auto size = static_cast<std::uint64_t>(opened.st_size);
    if (size < state.offset) return damaged(name + " was cut back");
    if (size > state.offset) {
      LineReader reader(file.get(), state.offset, size);
      std::string_view line;
      LineReader::Step step{};
      while ((step = reader.next(line)) == LineReader::Step::line) {
        const auto view = read_record(line);
        if (!view || view->seq != state.tree.size() || view->prev != to_hex(state.last)) {
          // What a lost write leaves on a disk is zeros; we never write one.
          if (line.find('\0') != std::string_view::npos) {
            step = LineReader::Step::torn;
            break;
          }
          return damaged("record " + std::to_string(state.tree.size()) + " in " + name);
        }
        if (state.closed) return damaged(name + " goes on behind its end");
        state.add(line.size(), *view, leaf_hash(line));
        if (state.open.size() > 2 * kMostOpen) return damaged("too many calls without an outcome");
      }
      if (step == LineReader::Step::failed)
        return fail(Reason::unavailable, SysError{"read", name.c_str(), errno});
      if (step == LineReader::Step::too_long)
        return damaged("record " + std::to_string(state.tree.size()) + " in " + name);
      if (step == LineReader::Step::torn) {
        auto torn = torn_tail(file.get(), state.offset, size);
        if (!torn) return std::unexpected(std::move(torn.error()));
        return *torn;
      }
    }
    if (!state.closed) return std::nullopt;
    auto next = open_private_file(stream, segment_name(state.segment + 1).c_str(), O_RDWR);
    if (!next) return std::unexpected(std::move(next.error()));
    if (!next->valid()) return std::nullopt;
    state.begin_next_segment();
    file = std::move(*next);
  }
}

Result<std::optional<Checkpoint>> last_checkpoint(int stream) {
  auto tail = checkpoints_tail(stream);
  if (!tail) return std::unexpected(std::move(tail.error()));
  return take_last(*tail);
}

std::optional<StreamState> read_head(int stream) try {
  const auto file = open_private_file(stream, kHead, O_RDONLY);
  if (!file || !file->valid()) return std::nullopt;
  const auto size = size_of(file->get());
  if (!size || *size > kLongestHead) return std::nullopt;
  const auto text = read_at(stream, kHead);
  if (!text) return std::nullopt;
  const auto value = parse_json(*text);
  if (!value || !value->is_object()) return std::nullopt;
  StreamState state = head_from(value->get_object());
  if (state.segment == 0 || !is_known(stream, state.tree)) return std::nullopt;
  return state;
} catch (const std::exception&) {  // a field is missing, or of another kind
  return std::nullopt;
}

Result<void> write_head(int stream, const StreamState& state) {
  json::array subtrees, open;
  for (const Hash& hash : state.tree.subtrees())
    subtrees.emplace_back(to_hex(hash));
  for (const auto& [call_id, intent] : state.open)
    open.push_back(json::object{{"call_id", call_id},
                                {"segment", intent.segment},
                                {"offset", intent.offset},
                                {"writer", intent.writer}});
  const std::string text = json::serialize(json::object{{"size", state.tree.size()},
                                                        {"subtrees", std::move(subtrees)},
                                                        {"last", to_hex(state.last)},
                                                        {"segment", state.segment},
                                                        {"offset", state.offset},
                                                        {"closed", state.closed},
                                                        {"open", std::move(open)}});
  const auto file = open_private_file(stream, kNewHead, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return std::unexpected(file.error());
  if (::write(file->get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::renameat(stream, kNewHead, stream, kHead) != 0) {
    const int err = errno;
    (void)::unlinkat(stream, kNewHead, 0);
    return fail(Reason::unavailable, SysError{"write", kHead, err});
  }
  return {};
}

std::optional<Hash> first_leaf(int stream) {
  const auto file = open_private_file(stream, segment_name(1).c_str(), O_RDONLY);
  if (!file || !file->valid()) return std::nullopt;
  const auto size = size_of(file->get());
  if (!size) return std::nullopt;
  LineReader reader(file->get(), 0, *size);
  std::string_view line;
  if (reader.next(line) != LineReader::Step::line) return std::nullopt;
  return leaf_hash(line);
}

std::optional<json::object> read_intent(int stream, const OpenIntent& intent) {
  const auto file = open_private_file(stream, segment_name(intent.segment).c_str(), O_RDONLY);
  if (!file || !file->valid()) return std::nullopt;
  const auto size = size_of(file->get());
  if (!size || intent.offset >= *size) return std::nullopt;
  LineReader reader(file->get(), intent.offset, *size);
  std::string_view line;
  if (reader.next(line) != LineReader::Step::line) return std::nullopt;
  auto value = parse_json(line, {.max_depth = 256});
  if (!value || !value->is_object()) return std::nullopt;
  return std::move(value->get_object());
}

}  // namespace sallyport
