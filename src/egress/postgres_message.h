// The messages with which a PostgreSQL connection begins (protocol 3.0), as bytes from either side,
// neither of which is to be trusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sallyport {

// What a server itself takes.
inline constexpr std::size_t kLongestPgStart = 10'000;

using PgParameters = std::vector<std::pair<std::string, std::string>>;

// The first words of a client, which have no kind of their own.
struct PgStart {
  enum class Kind : std::uint8_t { incomplete, refused, tls, gss, start, cancel };
  Kind kind = Kind::incomplete;
  std::size_t size = 0;       // in bytes; of one that is incomplete or refused: 0
  PgParameters parameters;    // of a start; each name once, and `user` is one of them
  std::string cancel_key;     // of a cancel: the process and its key, 8 bytes
  std::string fault;          // of one that is refused, as a sentence
  bool is_tls_hello = false;  // it is refused because TLS was begun without asking
};
[[nodiscard]] PgStart read_pg_start(std::string_view bytes);

// Every other message: kind, length, body.
struct PgMessage {
  enum class State : std::uint8_t { incomplete, refused, complete };
  State state = State::incomplete;
  char kind = 0;
  std::string_view body;  // in the bytes that it was read from
  std::size_t size = 0;   // of all of it
};
// `most`: bytes of its body.
[[nodiscard]] PgMessage read_pg_message(std::string_view bytes, std::size_t most);

[[nodiscard]] std::string pg_tls_request();
[[nodiscard]] std::string pg_cancel_request(std::string_view key);
[[nodiscard]] std::string pg_start(const PgParameters& parameters);
[[nodiscard]] std::string pg_message(char kind, std::string_view body);
// A number of four bytes, the highest first.
[[nodiscard]] std::string pg_number(std::uint32_t value);

// What a server says when it ends a connection. `state`: five letters, such as "28P01".
[[nodiscard]] std::string pg_error(std::string_view state, std::string_view message,
                                   std::string_view hint = {});
// The five letters in the body of such a message; "?????" if they are not what they should be.
[[nodiscard]] std::string pg_error_state(std::string_view body);

}  // namespace sallyport
