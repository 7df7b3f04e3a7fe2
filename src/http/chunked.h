// A body that comes in chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/parse.h"

namespace sallyport {

// Reads chunks that arrive in any number of pieces, as strictly as the head: sizes of at most eight
// digits, short extensions (which are ignored), CRLF only. Trailers of a request are refused:
// whoever reads them as the beginning of the next one reads another request than the one that was
// judged. Those of an answer may be dropped.
class ChunkedDecoder {
 public:
  enum class Trailers { refuse, drop };
  static constexpr std::size_t kLongestExtension = 64, kLongestTrailers = std::size_t{8} << 10;

  // A body of more than `most` bytes is refused with 413.
  explicit ChunkedDecoder(std::size_t most, Trailers trailers = Trailers::refuse)
      : most_(most), trailers_(trailers) {}

  // Appends what `bytes` holds of the body to `body`. Returns how many bytes belong to it: fewer
  // than all only when it is done or refused.
  std::size_t feed(std::string_view bytes, std::string& body);

  [[nodiscard]] bool done() const { return state_ == State::done; }
  [[nodiscard]] const HttpRefusal& refusal() const { return refusal_; }

 private:
  enum class State {
    size,
    extension,
    size_lf,
    piece,
    piece_cr,
    piece_lf,
    last_cr,
    last_lf,
    trailer,
    trailer_lf,
    done,
    refused
  };
  void refuse(unsigned status, std::string_view sentence);
  void step(char c, std::size_t body_size);

  std::size_t most_;
  Trailers trailers_;
  State state_ = State::size;
  HttpRefusal refusal_;
  std::uint64_t left_ = 0;  // of the chunk
  unsigned digits_ = 0;     // of the size
  std::size_t extension_ = 0, trailer_ = 0;
};

}  // namespace sallyport
