// Where things are: the state directory has `audit/STREAM/` for each tenant.
//
//   000001.jsonl …   the records; only the last segment grows
//   000001.index …   for searches, of segments that are closed; can be made anew
//   checkpoints      signed, oldest first
//   head             where the last checkpoint stands in the log, to open it without reading it
//   lock             locked for the time of one write
//   listed           the stream of nobody has a record of this one
//
// The stream of nobody holds a record of each other stream, so that none can be taken away whole;
// and `audit/writers`, of which each process that writes holds a byte locked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

// The stream of records that belong to no tenant: a name that no tenant can have.
constexpr std::string_view kNobody = "0-nobody";

[[nodiscard]] std::string segment_name(unsigned number);
[[nodiscard]] std::string index_name(unsigned number);

// Whether a directory may have this name: letters, digits, '_' and '-', at most 64.
[[nodiscard]] bool is_stream_name(std::string_view name);

// The directory below another, made with mode 0700 if asked for. Without that, an invalid Fd when
// there is none. What is a link, or can be written by others, is refused as `unavailable`.
[[nodiscard]] Result<Fd> open_directory(int parent, const std::string& name, bool make);

// The names of all streams, in order; `audit` is the open directory.
[[nodiscard]] Result<std::vector<std::string>> list_streams(int audit);

// The numbers of all segments of a stream, in order.
[[nodiscard]] Result<std::vector<unsigned>> list_segments(int stream);

// Reads the lines of a part of a file, with one buffer, however large the file is.
class LineReader {
 public:
  enum class Step {
    line,      // `line` is one, without its line end; it is good until the next step
    end,       // all is read
    torn,      // the rest has no line end; `line` is its beginning
    too_long,  // a line that is no record
    failed,    // errno says why
  };
  LineReader(int file, std::uint64_t begin, std::uint64_t end)
      : file_(file), at_(begin), end_(end) {}

  [[nodiscard]] Step next(std::string_view& line);
  // Where the line of the last step begins in the file.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

 private:
  int file_;
  std::uint64_t at_, end_;  // what is still to be read
  std::uint64_t offset_ = 0;
  std::string buffer_;
  std::size_t used_ = 0, size_ = 0;
};

[[nodiscard]] Result<std::uint64_t> size_of(int file);

}  // namespace sallyport
