// The body of an answer, as it comes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "egress/http_head.h"
#include "http/chunked.h"

namespace sallyport {

// What has come of a body, until it is whole or there is more than enough.
class FetchBody {
 public:
  FetchBody(const Framing& framing, std::uint64_t most)
      : framing_(framing),
        most_(static_cast<std::size_t>(std::min<std::uint64_t>(most, SIZE_MAX - 1))),
        chunks_(SIZE_MAX, ChunkedDecoder::Trailers::drop) {}

  // False: it cannot be read.
  [[nodiscard]] bool add(std::string_view bytes) {
    if (framing_.kind == Framing::Kind::chunked) {
      chunks_.feed(bytes, kept_);
      if (chunks_.refusal().status != 0) return false;
    } else {
      const std::uint64_t wanted =
          framing_.kind == Framing::Kind::length ? framing_.length - kept_.size() : bytes.size();
      kept_.append(bytes.substr(0, std::min<std::uint64_t>(wanted, bytes.size())));
    }
    return true;
  }
  [[nodiscard]] bool is_whole() const {
    switch (framing_.kind) {
      case Framing::Kind::none:
        return true;
      case Framing::Kind::length:
        return kept_.size() == framing_.length;
      case Framing::Kind::chunked:
        return chunks_.done();
      case Framing::Kind::until_end:
        return false;
    }
    return true;
  }
  [[nodiscard]] bool is_enough() const { return kept_.size() > most_; }
  [[nodiscard]] bool ends_with_connection() const {
    return framing_.kind == Framing::Kind::until_end;
  }
  // At most as much of it as was wanted.
  [[nodiscard]] std::string take() {
    kept_.resize(std::min(kept_.size(), most_));
    return std::move(kept_);
  }

 private:
  Framing framing_;
  std::size_t most_;
  ChunkedDecoder chunks_;
  std::string kept_;
};

}  // namespace sallyport
