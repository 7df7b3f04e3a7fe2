#include "http/chunked.h"

#include <algorithm>

#include "http/characters.h"

namespace sallyport {

namespace {

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
}

}  // namespace

void ChunkedDecoder::refuse(unsigned status, std::string_view sentence) {
  refusal_ = {status, sentence};
  state_ = State::refused;
}

std::size_t ChunkedDecoder::feed(std::string_view bytes, std::string& body) {
  std::size_t used = 0;
  while (used < bytes.size() && state_ != State::done && state_ != State::refused) {
    if (state_ == State::piece) {
      const std::size_t part = std::min<std::uint64_t>(left_, bytes.size() - used);
      body.append(bytes, used, part);
      used += part;
      left_ -= part;
      if (left_ == 0) state_ = State::piece_cr;
    } else {
      step(bytes[used++], body.size());
    }
  }
  return used;
}

void ChunkedDecoder::step(char c, std::size_t body_size) {
  const auto expect = [&](char wanted, State next) {
    if (c != wanted) return refuse(400, "A chunk does not end where it should.");
    state_ = next;
  };
  switch (state_) {
    case State::size:
      if (const int digit = hex_value(c); digit >= 0) {
        if (++digits_ > 8) return refuse(400, "The size of a chunk has too many digits.");
        left_ = left_ * 16 + static_cast<unsigned>(digit);
        return;
      }
      if (digits_ == 0 || (c != ';' && c != '\r'))
        return refuse(400, "The size of a chunk is not a hexadecimal number.");
      if (left_ > most_ - std::min(most_, body_size)) return refuse(413, "The body is too large.");
      extension_ = 0;
      state_ = c == ';' ? State::extension : State::size_lf;
      return;
    case State::extension:
      if (c == '\r') {
        state_ = State::size_lf;
        return;
      }
      if (!is_value_char(c)) return refuse(400, "An extension of a chunk holds a control byte.");
      if (++extension_ > kLongestExtension)
        return refuse(400, "An extension of a chunk is too long.");
      return;
    case State::size_lf:
      digits_ = 0;
      return expect('\n', left_ == 0 ? State::last_cr : State::piece);
    case State::piece_cr:
      return expect('\r', State::piece_lf);
    case State::piece_lf:
      return expect('\n', State::size);
    case State::last_cr:
      if (c == '\r') {
        state_ = State::last_lf;
        return;
      }
      if (trailers_ == Trailers::refuse)
        return refuse(400, "Headers behind the last chunk are not taken.");
      state_ = State::trailer;
      [[fallthrough]];
    case State::trailer:
      if (c == '\r') {
        state_ = State::trailer_lf;
        return;
      }
      if (is_control(c)) return refuse(400, "A header behind the last chunk holds a control byte.");
      if (++trailer_ > kLongestTrailers)
        return refuse(400, "The headers behind the last chunk are too long.");
      return;
    case State::trailer_lf:
      return expect('\n', State::last_cr);
    case State::last_lf:
      return expect('\n', State::done);
    case State::piece:
    case State::done:
    case State::refused:
      return;
  }
}

}  // namespace sallyport
