#include "audit/segment_index.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "audit/stream_files.h"
#include "base/private_file.h"

namespace sallyport {
namespace {

constexpr std::uint64_t kBlock = std::uint64_t{64} << 10;
constexpr std::uint64_t kPlainBlock = std::uint64_t{256} << 10;
constexpr char kMagic[8] = {'S', 'P', 'A', 'X', '0', '0', '0', '1'};
constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 28;

struct Header {
  char magic[8];
  std::uint64_t segment_bytes, blocks, entries;
};

struct BlockRow {
  std::uint64_t begin, end, first_seq;
  char min_time[32], max_time[32];
};

// FNV-1a with a last mix. Whoever chooses values that collide makes searches slower, not wrong.
std::uint64_t hash_of(std::size_t field, std::string_view value) {
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ field;
  for (const char c : value)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  hash ^= hash >> 32;
  return hash * 0x9E3779B97F4A7C15ULL;
}

template <class Row>
void append_row(std::string& bytes, const Row& row) {
  bytes.append(reinterpret_cast<const char*>(&row), sizeof(row));
}

bool read_exactly(int file, void* bytes, std::size_t size, std::uint64_t at) {
  return ::pread(file, bytes, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
}

void set_time(char (&field)[32], std::string_view time) {
  std::memset(field, 0, sizeof(field));
  std::memcpy(field, time.data(), std::min(time.size(), sizeof(field) - 1));
}

std::string time_of(const char (&field)[32]) {
  return {field, ::strnlen(field, sizeof(field))};
}

struct Entry {
  std::uint64_t hash;
  std::uint32_t block;
  bool operator<(const Entry& other) const {
    return hash != other.hash ? hash < other.hash : block < other.block;
  }
};

}  // namespace

std::optional<std::string> SegmentIndex::build(int segment, std::uint64_t size) {
  std::vector<BlockRow> blocks;
  std::vector<Entry> entries;
  std::unordered_set<std::uint64_t> in_block;
  LineReader reader(segment, 0, size);
  std::string_view line;
  std::string min, max;
  const auto close = [&] {
    if (blocks.empty()) return;
    set_time(blocks.back().min_time, min);
    set_time(blocks.back().max_time, max);
    for (const std::uint64_t hash : in_block)
      entries.push_back({hash, static_cast<std::uint32_t>(blocks.size() - 1)});
    in_block.clear();
    min.clear();
    max.clear();
  };
  while (reader.next(line) == LineReader::Step::line) {
    const auto view = read_record(line);
    if (!view) return std::nullopt;  // it is searched as it is
    if (blocks.empty() || reader.offset() - blocks.back().begin >= kBlock) {
      close();
      blocks.push_back({.begin = reader.offset(), .end = 0, .first_seq = view->seq});
    }
    blocks.back().end = reader.offset() + line.size() + 1;
    if (min.empty() || view->time < min) min = view->time;
    if (view->time > max) max = view->time;
    for (std::size_t field = 0; field < std::size(kIndexedFields); ++field)
      if (const std::string_view value = (*view).*kIndexedFields[field].value; !value.empty())
        in_block.insert(hash_of(field, value));
  }
  close();
  std::ranges::sort(entries, std::less<>());
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.segment_bytes = size;
  header.blocks = blocks.size();
  header.entries = entries.size();
  std::string bytes;
  bytes.reserve(sizeof(header) + blocks.size() * sizeof(BlockRow) + entries.size() * 12);
  append_row(bytes, header);
  for (const BlockRow& row : blocks)
    append_row(bytes, row);
  for (const Entry& entry : entries)
    append_row(bytes, entry.hash);
  for (const Entry& entry : entries)
    append_row(bytes, entry.block);
  return bytes;
}

std::optional<SegmentIndex> SegmentIndex::read(Fd file, std::uint64_t segment_size) {
  SegmentIndex index;
  Header header{};
  const auto size = size_of(file.get());
  if (!size || !read_exactly(file.get(), &header, sizeof(header), 0) ||
      std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 ||
      header.segment_bytes != segment_size || header.entries > kMostEntries ||
      header.blocks > segment_size / kBlock + 1 ||
      *size != sizeof(header) + header.blocks * sizeof(BlockRow) + header.entries * 12)
    return std::nullopt;
  std::vector<BlockRow> rows(header.blocks);
  if (!read_exactly(file.get(), rows.data(), rows.size() * sizeof(BlockRow), sizeof(header)))
    return std::nullopt;
  std::uint64_t at = 0;
  for (const BlockRow& row : rows) {
    // Together they are the whole segment; none is larger than a block and its last record.
    if (row.begin != at || row.end <= row.begin || row.end > segment_size ||
        row.end - row.begin > kBlock + kLongestRecord + 1)
      return std::nullopt;
    at = row.end;
    index.blocks_.push_back(
        {row.begin, row.end, row.first_seq, time_of(row.min_time), time_of(row.max_time)});
  }
  index.entries_ = header.entries;
  index.hashes_at_ = sizeof(header) + header.blocks * sizeof(BlockRow);
  index.numbers_at_ = index.hashes_at_ + header.entries * sizeof(std::uint64_t);
  index.file_ = std::move(file);
  return index;
}

std::optional<SegmentIndex> SegmentIndex::of(int stream, unsigned number, int segment,
                                             std::uint64_t size) {
  const std::string name = index_name(number);
  if (auto file = open_private_file(stream, name.c_str(), O_RDONLY); file && file->valid())
    if (auto index = read(std::move(*file), size)) return index;
  const auto bytes = build(segment, size);
  if (!bytes) return std::nullopt;
  // Under a name of our own first: two searches may make the same one.
  const std::string draft = name + "." + std::to_string(::getpid());
  (void)::unlinkat(stream, draft.c_str(), 0);
  auto file = open_private_file(stream, draft.c_str(), O_RDWR | O_CREAT | O_EXCL);
  if (!file || !file->valid()) return std::nullopt;
  const bool whole =
      ::write(file->get(), bytes->data(), bytes->size()) == static_cast<ssize_t>(bytes->size());
  if (!whole || ::renameat(stream, draft.c_str(), stream, name.c_str()) != 0) {
    (void)::unlinkat(stream, draft.c_str(), 0);
    if (!whole) return std::nullopt;
  }
  return read(std::move(*file), size);
}

std::vector<std::uint32_t> SegmentIndex::find(std::size_t field, std::string_view value) const {
  const std::uint64_t wanted = hash_of(field, value);
  std::uint64_t low = 0, high = entries_;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    std::uint64_t hash = 0;
    if (!read_exactly(file_.get(), &hash, sizeof(hash), hashes_at_ + middle * sizeof(hash)))
      return {};
    if (hash < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  std::vector<std::uint32_t> numbers;
  constexpr std::uint64_t kAtOnce = 1024;
  for (std::uint64_t at = low; at < entries_;) {
    std::uint64_t hashes[kAtOnce];
    std::uint32_t blocks[kAtOnce];
    const std::uint64_t count = std::min(kAtOnce, entries_ - at);
    if (!read_exactly(file_.get(), hashes, count * sizeof(hashes[0]),
                      hashes_at_ + at * sizeof(hashes[0])) ||
        !read_exactly(file_.get(), blocks, count * sizeof(blocks[0]),
                      numbers_at_ + at * sizeof(blocks[0])))
      break;
    std::uint64_t i = 0;
    for (; i < count && hashes[i] == wanted; ++i)
      if (blocks[i] < blocks_.size() && (numbers.empty() || blocks[i] > numbers.back()))
        numbers.push_back(blocks[i]);
    if (i < count) break;
    at += count;
  }
  return numbers;
}

std::vector<IndexBlock> plain_blocks(int segment, std::uint64_t size) {
  std::vector<IndexBlock> blocks;
  std::uint64_t begin = 0;
  while (begin < size) {
    std::uint64_t end = std::min(begin + kPlainBlock, size);
    if (end < size) {
      // To the end of the line that it cuts.
      LineReader reader(segment, end, size);
      std::string_view rest;
      const LineReader::Step step = reader.next(rest);
      end = step == LineReader::Step::line ? reader.offset() + rest.size() + 1 : size;
      if (end - begin > kPlainBlock + kLongestRecord + 1) end = begin + kPlainBlock;
    }
    blocks.push_back({.begin = begin, .end = end});
    begin = end;
  }
  return blocks;
}

}  // namespace sallyport
