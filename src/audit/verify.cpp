#include "audit/verify.h"

#include <fcntl.h>
#include <unistd.h>

#include "audit/chain_checker.h"
#include "audit/record_line.h"
#include "audit/stream_files.h"
#include "audit/stream_state.h"
#include "base/private_file.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr const char* kCheckpoints = "checkpoints";

constexpr std::chrono::seconds kLockPatience{5};

// How far a stream had been written at one moment. A service may go on writing while it is read,
// and a checkpoint must not be held against records that were looked for before it was made.
struct Extent {
  Fd notes;  // invalid: there are none
  std::uint64_t note_bytes = 0;
  std::vector<std::pair<unsigned, std::uint64_t>> segments;  // number, bytes
};

Result<Extent> extent_of(int directory) {
  // Between two writes. A log that is kept elsewhere may have no lock, or none that we may take;
  // nobody writes to it.
  const auto lock = lock_private_file(directory, "lock", O_RDONLY, kLockPatience);
  Extent extent;
  // Records are written before the checkpoint that covers them, so this is the order even so.
  auto notes = open_private_file(directory, kCheckpoints, O_RDONLY);
  if (!notes) return std::unexpected(std::move(notes.error()));
  extent.notes = std::move(*notes);
  if (extent.notes) {
    const auto size = size_of(extent.notes.get());
    if (!size) return std::unexpected(size.error());
    extent.note_bytes = *size;
  }
  const auto numbers = list_segments(directory);
  if (!numbers) return std::unexpected(numbers.error());
  for (const unsigned number : *numbers) {
    const auto file = open_private_file(directory, segment_name(number).c_str(), O_RDONLY);
    if (!file) return std::unexpected(file.error());
    const auto size = file->valid() ? size_of(file->get()) : Result<std::uint64_t>(0);
    if (!size) return std::unexpected(size.error());
    extent.segments.emplace_back(number, *size);
  }
  return extent;
}

// The notes of a stream, one after the other.
class NoteReader {
 public:
  NoteReader(Fd file, std::uint64_t size) : file_(std::move(file)), size_(size) {}

  enum class Step { note, end, torn, failed };
  Step next(std::string& note) {
    while (true) {
      std::string_view rest = std::string_view(buffer_).substr(used_);
      const std::size_t before = rest.size();
      if (const std::string_view found = take_note(rest); !found.empty()) {
        note = found;
        used_ += before - rest.size();
        ++number_;
        return Step::note;
      }
      buffer_.erase(0, std::exchange(used_, 0));
      if (buffer_.size() > 4 * kLongestNote) return Step::torn;
      char chunk[16384];
      const std::size_t wanted = std::min<std::uint64_t>(sizeof(chunk), size_ - at_);
      const ssize_t got =
          wanted > 0 ? ::pread(file_.get(), chunk, wanted, static_cast<off_t>(at_)) : 0;
      if (got < 0) return Step::failed;
      if (got == 0) return buffer_.empty() ? Step::end : Step::torn;
      at_ += static_cast<std::uint64_t>(got);
      buffer_.append(chunk, static_cast<std::size_t>(got));
    }
  }
  [[nodiscard]] std::uint64_t number() const { return number_; }

 private:
  Fd file_;
  std::uint64_t size_;  // what is to be read of it
  std::string buffer_;
  std::size_t used_ = 0;
  std::uint64_t at_ = 0, number_ = 0;
};

class StreamVerifier {
 public:
  StreamVerifier(int directory, std::string name, const VerifyingKey& key, Extent extent)
      : directory_(directory),
        key_(key),
        notes_(std::move(extent.notes), extent.note_bytes),
        segments_(std::move(extent.segments)) {
    report_.stream = std::move(name);
  }

  // The streams that this one lists: name and hash of the first record, in hexadecimal.
  using Listed = std::vector<std::pair<std::string, std::string>>;

  Result<StreamReport> run(const std::vector<Checkpoint>& outside, Listed& listed) {
    listed_ = &listed;
    for (const Checkpoint& checkpoint : outside)
      if (checkpoint.stream == report_.stream) checker_.expect(checkpoint);
    if (auto read = take_checkpoints(); !read) return std::unexpected(std::move(read.error()));
    if (auto read = read_segments(); !read) return std::unexpected(std::move(read.error()));
    report_.records = checker_.size();
    report_.covered = checker_.covered();
    report_.covered_at = checker_.covered_at();
    if (!report_.bad) report_.bad = checker_.bad();
    if (!report_.bad && report_.checkpoints == 0 && report_.records > 1)
      report_.bad = BadPlace{.file = kCheckpoints, .what = "the checkpoints of the log are gone"};
    return std::move(report_);
  }

 private:
  // The checkpoints up to the first that is ahead of the log.
  Result<void> take_checkpoints() {
    while (!report_.bad && ahead_ <= checker_.size()) {
      const NoteReader::Step step = notes_.next(note_);
      if (step == NoteReader::Step::failed)
        return fail(Reason::unavailable, SysError{"read", kCheckpoints, errno});
      if (step == NoteReader::Step::end) {
        ahead_ = UINT64_MAX;
        return {};
      }
      if (step == NoteReader::Step::torn) return bad_note(notes_.number() + 1, "is no whole note");
      const std::uint64_t number = notes_.number();
      const auto checkpoint = Checkpoint::open_note(note_, &key_);
      if (!checkpoint) return bad_note(number, "was changed: " + checkpoint.error().message);
      if (checkpoint->stream != report_.stream)
        return bad_note(number, "is one of the stream " + quoted(checkpoint->stream));
      if (checkpoint->previous != previous_)
        return bad_note(number, "does not follow the one before it: one is missing, or was moved");
      if (checkpoint->size < last_size_) return bad_note(number, "is about fewer records");
      previous_ = note_hash(note_);
      last_size_ = ahead_ = checkpoint->size;
      ++report_.checkpoints;
      checker_.expect(*checkpoint);
    }
    return {};
  }

  Result<void> bad_note(std::uint64_t number, const std::string& what) {
    report_.bad = BadPlace{.file = kCheckpoints,
                           .line = number,
                           .what = "checkpoint " + std::to_string(number) + " " + what};
    return {};
  }

  Result<void> read_segments() {
    std::string name = segment_name(1);
    std::uint64_t line_number = 1;
    unsigned expected = 1;
    for (const auto& [number, size] : segments_) {
      name = segment_name(number);
      if (number != expected++) {
        checker_.refuse(segment_name(expected - 1), 0,
                        "record " + std::to_string(checker_.size()) + " is missing: the file " +
                            segment_name(expected - 1) + " is gone");
        return {};
      }
      auto more = read_segment(name, size, number == segments_.back().first, line_number);
      if (!more) return std::unexpected(std::move(more.error()));
      if (!*more) return {};
      ++report_.segments;
    }
    checker_.finish(name, line_number);
    return {};
  }

  // False: something is bad.
  Result<bool> read_segment(const std::string& name, std::uint64_t size, bool last,
                            std::uint64_t& number) {
    auto file = open_private_file(directory_, name.c_str(), O_RDONLY);
    if (!file) return std::unexpected(std::move(file.error()));
    if (!file->valid()) return checker_.refuse(name, 0, name + " is gone"), false;
    (void)::posix_fadvise(file->get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    LineReader reader(file->get(), 0, size);
    std::string_view line;
    for (number = 1; true; ++number) {
      const LineReader::Step step = reader.next(line);
      if (step == LineReader::Step::failed)
        return fail(Reason::unavailable, SysError{"read", name.c_str(), errno});
      if (step == LineReader::Step::end) return true;
      if (step == LineReader::Step::torn && last) {
        report_.torn_bytes = line.size();
        return true;
      }
      if (step != LineReader::Step::line) {
        checker_.refuse(name, number,
                        "record " + std::to_string(checker_.size()) + " is not whole any more");
        return false;
      }
      if (!checker_.feed(line, name, number)) return false;
      if (report_.stream == kNobody) note_listed(line);
      report_.bytes += line.size() + 1;
      if (checker_.size() >= ahead_)
        if (auto read = take_checkpoints(); !read) return std::unexpected(std::move(read.error()));
      if (report_.bad || checker_.bad()) return false;
    }
  }

  void note_listed(std::string_view line) {
    const auto view = read_record(line);
    if (!view || view->record != "stream") return;
    const auto value = parse_json(line);
    if (!value) return;
    const auto text = [&](const char* key) {
      const json::value* field = value->as_object().if_contains(key);
      return field != nullptr && field->is_string() ? std::string(field->get_string()) : "";
    };
    listed_->emplace_back(text("stream"), text("first"));
  }

  int directory_;
  Listed* listed_ = nullptr;
  const VerifyingKey& key_;
  NoteReader notes_;
  std::vector<std::pair<unsigned, std::uint64_t>> segments_;
  ChainChecker checker_;
  StreamReport report_;
  std::string note_;
  Hash previous_{};
  std::uint64_t last_size_ = 0;
  std::uint64_t ahead_ = 0;  // the size of the last checkpoint that was read
};

// Whether every stream that was ever begun is there, and is the one that was begun.
void check_listed(int audit, const StreamVerifier::Listed& listed, VerifyReport& report) {
  const auto report_of = [&report](std::string_view name) -> StreamReport& {
    const auto found = std::ranges::find(report.streams, name, &StreamReport::stream);
    if (found != report.streams.end()) return *found;
    return report.streams.emplace_back(StreamReport{.stream = std::string(name)});
  };
  const auto refuse = [](StreamReport& stream, std::string what) {
    if (!stream.bad)
      stream.bad = BadPlace{.file = stream.stream, .seq = 0, .what = std::move(what)};
  };
  // One that has nothing but its beginning may not have been listed yet.
  if (std::ranges::any_of(report.streams, [](const auto& each) { return each.records > 1; }) &&
      report_of(kNobody).records == 0)
    refuse(report_of(kNobody), "the whole stream is gone, with its list of all others");
  for (const auto& [name, first] : listed) {
    StreamReport& stream = report_of(name);
    if (stream.records == 0) {
      refuse(stream, "the whole stream is gone");
      continue;
    }
    const auto directory = open_directory(audit, name, false);
    const auto now = directory && directory->valid() ? first_leaf(directory->get()) : std::nullopt;
    if (!now || to_hex(*now) != first)
      refuse(stream,
             "the stream was taken away and begun anew: its first record is not the one "
             "that was listed");
  }
}

}  // namespace

bool VerifyReport::good() const {
  return std::ranges::none_of(streams,
                              [](const StreamReport& each) { return each.bad.has_value(); });
}

Result<std::vector<std::string>> split_notes(std::string_view text) {
  std::vector<std::string> notes;
  std::string with_end;
  // A single note may come without the blank line that stands between two.
  if (!text.ends_with("\n\n")) text = with_end = std::string(text) + "\n";
  while (!text.empty()) {
    const std::string_view note = take_note(text);
    if (note.empty())
      return fail(Reason::argument, "this is not a file of checkpoints",
                  "give the notes as they were sent, with a blank line between them");
    notes.emplace_back(note);
  }
  return notes;
}

Result<VerifyReport> verify_audit(int state_directory, const VerifyOptions& options) {
  auto key = options.key ? Result<VerifyingKey>(*options.key) : read_verifying_key(state_directory);
  if (!key) return std::unexpected(std::move(key.error()));
  std::vector<Checkpoint> outside;
  for (const std::string& note : options.outside) {
    auto checkpoint = Checkpoint::open_note(note, &*key);
    if (!checkpoint)
      return fail(Reason::argument,
                  "a checkpoint from outside cannot be used: " + checkpoint.error().message,
                  "its key must be the one of the log");
    outside.push_back(std::move(*checkpoint));
  }
  const auto audit = open_directory(state_directory, "audit", false);
  if (!audit) return std::unexpected(audit.error());
  auto names = audit->valid() ? list_streams(audit->get()) : std::vector<std::string>();
  if (!names) return std::unexpected(std::move(names.error()));
  // A stream that is only known from outside is one that is gone.
  for (const Checkpoint& checkpoint : outside)
    if (std::ranges::find(*names, checkpoint.stream) == names->end())
      names->push_back(checkpoint.stream);
  if (!options.stream.empty())
    std::erase_if(*names, [&](const std::string& name) { return name != options.stream; });
  if (!options.stream.empty() && names->empty())
    return fail(Reason::argument, "there is no stream " + quoted(options.stream));

  VerifyReport report;
  StreamVerifier::Listed listed;
  for (const std::string& name : *names) {
    if (!is_stream_name(name))
      return fail(Reason::argument, quoted(name) + " is no name of a stream");
    const auto directory =
        audit->valid() ? open_directory(audit->get(), name, false) : Result<Fd>(Fd());
    if (!directory) return std::unexpected(directory.error());
    if (!directory->valid()) {
      report.streams.push_back(
          {.stream = name,
           .bad = BadPlace{.file = name, .seq = 0, .what = "the whole stream is gone"}});
      continue;
    }
    auto extent = extent_of(directory->get());
    if (!extent) return std::unexpected(std::move(extent.error()));
    StreamVerifier verifier(directory->get(), name, *key, std::move(*extent));
    auto stream = verifier.run(outside, listed);
    if (!stream) return std::unexpected(std::move(stream.error()));
    report.streams.push_back(std::move(*stream));
  }
  if (options.stream.empty() && audit->valid()) check_listed(audit->get(), listed, report);
  return report;
}

}  // namespace sallyport
