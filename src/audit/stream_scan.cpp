#include "audit/stream_scan.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "audit/stream_files.h"
#include "base/private_file.h"
#include "base/text.h"

namespace sallyport {
namespace {

// Whether a text is a time as records have it, or its beginning; a Z at its end is left out.
Result<std::string> time_prefix(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd.dddddd";
  const std::string_view whole = text;
  if (text.ends_with('Z')) text.remove_suffix(1);
  bool fits = text.size() >= 4 && text.size() <= kForm.size();
  for (std::size_t i = 0; fits && i < text.size(); ++i)
    fits = kForm[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == kForm[i];
  if (!fits)
    return fail(Reason::argument, quoted(whole) + " is no time",
                "write it in UTC as 2026-10-04T12:30:00Z, or its beginning");
  return std::string(text);
}

// The number of the record that begins there.
std::optional<std::uint64_t> seq_at(int file, std::uint64_t begin, std::uint64_t end) {
  LineReader reader(file, begin, end);
  std::string_view line;
  if (reader.next(line) != LineReader::Step::line) return std::nullopt;
  const auto view = read_record(line);
  return view ? std::optional(view->seq) : std::nullopt;
}

// The number of the first record of a segment.
std::optional<std::uint64_t> first_seq(int stream, unsigned number) {
  const auto file = open_private_file(stream, segment_name(number).c_str(), O_RDONLY);
  if (!file || !file->valid()) return std::nullopt;
  const auto size = size_of(file->get());
  return size ? seq_at(file->get(), 0, *size) : std::nullopt;
}

// Where the last of `count` parts is that begins at or before a record.
template <class First>
std::size_t part_of(std::size_t count, std::uint64_t seq, First first) {
  std::size_t low = 0, high = count;
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    const std::optional<std::uint64_t> begins = first(middle);  // none: it has no record yet
    if (begins && *begins <= seq)
      low = middle;
    else
      high = middle;
  }
  return low;
}

}  // namespace

Result<LineQuery> LineQuery::from(const AuditQuery& query) {
  LineQuery lines;
  lines.newest_first = query.newest_first;
  const std::string* const values[] = {&query.caller, &query.tool,   &query.reason,
                                       &query.status, &query.record, &query.call_id};
  static_assert(std::size(values) == std::size(kIndexedFields));
  for (std::size_t field = 0; field < std::size(values); ++field)
    if (!values[field]->empty()) lines.wanted.push_back({field, escaped(to_utf8(*values[field]))});
  for (const auto& [text, time] :
       {std::pair(&query.since, &lines.since), std::pair(&query.until, &lines.until)}) {
    if (text->empty()) continue;
    auto prefix = time_prefix(*text);
    if (!prefix) return std::unexpected(std::move(prefix.error()));
    *time = std::move(*prefix);
  }
  return lines;
}

bool LineQuery::matches(const RecordView& view) const {
  return (since.empty() || view.time >= since) && (until.empty() || view.time < until) &&
         std::ranges::all_of(wanted, [&view](const Wanted& each) {
           return view.*kIndexedFields[each.field].value == each.value;
         });
}

StreamScan::StreamScan(Fd directory, const LineQuery& query, std::optional<std::uint64_t> after)
    : directory_(std::move(directory)), query_(query), after_(after), seen_(after) {}

bool StreamScan::is_behind(std::uint64_t seq) const {
  if (!after_) return true;
  return query_.newest_first ? seq < *after_ : seq > *after_;
}

std::optional<std::uint64_t> StreamScan::position() const {
  if (matches_.empty()) return seen_;
  const std::uint64_t next = matches_.front().seq;
  if (query_.newest_first) return next + 1;
  return next == 0 ? std::nullopt : std::optional(next - 1);
}

Result<void> StreamScan::begin() {
  begun_ = true;
  auto numbers = list_segments(directory_.get());
  if (!numbers) return std::unexpected(std::move(numbers.error()));
  segments_ = std::move(*numbers);
  last_segment_ = segments_.empty() ? 0 : segments_.back();
  if (after_ && !segments_.empty()) {
    const std::size_t low = part_of(segments_.size(), *after_, [this](std::size_t i) {
      return first_seq(directory_.get(), segments_[i]);
    });
    if (query_.newest_first)
      segments_.resize(low + 1);
    else
      segments_.erase(segments_.begin(), segments_.begin() + static_cast<long>(low));
  }
  if (!query_.newest_first) std::ranges::reverse(segments_);
  return {};
}

std::vector<IndexBlock> StreamScan::useful_blocks(const SegmentIndex& index) const {
  std::vector<bool> useful(index.blocks().size(), true);
  for (const LineQuery::Wanted& each : query_.wanted) {
    std::vector<bool> has(useful.size());
    for (const std::uint32_t number : index.find(each.field, each.value))
      has[number] = useful[number];
    useful = std::move(has);
  }
  std::vector<IndexBlock> blocks;
  for (std::size_t i = 0; i < useful.size(); ++i) {
    const IndexBlock& block = index.blocks()[i];
    if (!useful[i] || (!query_.since.empty() && block.max_time < query_.since) ||
        (!query_.until.empty() && block.min_time >= query_.until))
      continue;
    if (after_ && query_.newest_first && block.first_seq >= *after_) continue;
    if (after_ && !query_.newest_first && i + 1 < useful.size() &&
        index.blocks()[i + 1].first_seq <= *after_)
      continue;
    blocks.push_back(block);
  }
  return blocks;
}

Result<bool> StreamScan::next_segment() {
  if (segments_.empty()) return false;
  const unsigned number = segments_.back();
  segments_.pop_back();
  auto file = open_private_file(directory_.get(), segment_name(number).c_str(), O_RDONLY);
  if (!file) return std::unexpected(std::move(file.error()));
  file_ = std::move(*file);
  if (!file_) return true;  // it was moved away
  const auto size = size_of(file_.get());
  if (!size) return std::unexpected(size.error());
  const bool narrows = !query_.wanted.empty() || !query_.since.empty() || !query_.until.empty();
  const auto index = narrows && number != last_segment_
                         ? SegmentIndex::of(directory_.get(), number, file_.get(), *size)
                         : std::nullopt;
  blocks_ = index ? useful_blocks(*index) : plain_blocks(file_.get(), *size);
  if (!index && after_ && !blocks_.empty()) {
    const std::size_t low = part_of(blocks_.size(), *after_, [this](std::size_t i) {
      return seq_at(file_.get(), blocks_[i].begin, blocks_[i].end);
    });
    if (query_.newest_first)
      blocks_.resize(low + 1);
    else
      blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<long>(low));
  }
  if (!query_.newest_first) std::ranges::reverse(blocks_);
  return true;
}

Result<void> StreamScan::read_block(const IndexBlock& block) {
  LineReader reader(file_.get(), block.begin, block.end);
  std::string_view line;
  while (true) {
    const LineReader::Step step = reader.next(line);
    if (step == LineReader::Step::failed)
      return fail(Reason::unavailable, SysError{"read", "audit log", errno});
    if (step != LineReader::Step::line) break;
    const auto view = read_record(line);
    if (!view || !is_behind(view->seq)) continue;
    if (!seen_ || (query_.newest_first ? view->seq < *seen_ : view->seq > *seen_))
      seen_ = view->seq;
    if (!query_.matches(*view)) continue;
    Match match{view->seq, std::string(view->time), std::string(line)};
    if (query_.newest_first)
      matches_.push_front(std::move(match));
    else
      matches_.push_back(std::move(match));
  }
  return {};
}

Result<const StreamScan::Match*> StreamScan::look(std::uint64_t& budget) {
  if (!begun_)
    if (auto begun = begin(); !begun) return std::unexpected(std::move(begun.error()));
  while (matches_.empty() && !ended_) {
    if (blocks_.empty()) {
      auto more = next_segment();
      if (!more) return std::unexpected(std::move(more.error()));
      if (!*more) ended_ = true;
      continue;
    }
    if (budget == 0) break;
    const IndexBlock block = blocks_.back();
    blocks_.pop_back();
    const std::optional<std::uint64_t> before = seen_;
    if (auto read = read_block(block); !read) return std::unexpected(std::move(read.error()));
    // A block that held nothing new costs nothing: there is one at most, and a page has to get on.
    if (seen_ != before) budget -= std::min(budget, block.end - block.begin);
  }
  return matches_.empty() ? nullptr : &matches_.front();
}

void StreamScan::take() {
  matches_.pop_front();
}

}  // namespace sallyport
