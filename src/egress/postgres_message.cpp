#include "egress/postgres_message.h"

#include <algorithm>
#include <optional>

#include "egress/byte_reader.h"

namespace sallyport {
namespace {

constexpr std::uint32_t kProtocol = 3 << 16;
constexpr std::uint32_t kCancelRequest = 80877102, kTlsRequest = 80877103, kGssRequest = 80877104;
constexpr std::size_t kCancelKey = 8;
constexpr char kTlsHandshake = 0x16;

PgStart refused(std::string why) {
  PgStart start;
  start.kind = PgStart::Kind::refused;
  start.fault = std::move(why);
  return start;
}

// Up to the next zero, which is taken too; nothing: there is none.
std::optional<std::string_view> take_text(std::string_view& bytes) {
  const std::size_t end = bytes.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view text = bytes.substr(0, end);
  bytes.remove_prefix(end + 1);
  return text;
}

// Why they cannot be taken; empty: they can.
std::string read_parameters(std::string_view rest, PgParameters& parameters) {
  constexpr std::string_view kUnreadable = "the start-up of the connection cannot be read";
  for (;;) {
    const auto name = take_text(rest);
    if (!name) return std::string(kUnreadable);
    if (name->empty()) break;
    const auto value = take_text(rest);
    if (!value) return std::string(kUnreadable);
    // The one that we look at would not have to be the one that the server takes.
    if (std::ranges::find(parameters, *name, &PgParameters::value_type::first) != parameters.end())
      return "the start-up of the connection says twice what one of its parameters is";
    parameters.emplace_back(*name, *value);
  }
  if (!rest.empty()) return std::string(kUnreadable);
  const auto has = [&](auto test) {
    return std::ranges::any_of(parameters, test, &PgParameters::value_type::first);
  };
  if (!has([](const std::string& name) { return name == "user"; }))
    return "the start-up of the connection names no user";
  if (has([](const std::string& name) { return name == "replication"; }))
    return "replication is not served here";
  if (has([](const std::string& name) { return name.starts_with("_pq_."); }))
    return "extensions of the protocol are not served here";
  return {};
}

}  // namespace

PgStart read_pg_start(std::string_view bytes) {
  if (bytes.starts_with(kTlsHandshake)) {
    PgStart start = refused("TLS has to be asked for before it begins (sslnegotiation=postgres)");
    start.is_tls_hello = true;
    return start;
  }
  constexpr std::size_t kHead = 8;
  ByteReader reader(bytes);
  const auto length = reader.number(4);
  if (!length) return {};
  if (*length < kHead || *length > kLongestPgStart)
    return refused("the start-up of the connection has an impossible length");
  const auto code = reader.number(4);
  if (!code) return {};
  PgStart start{.size = *length};
  if (*code == kTlsRequest || *code == kGssRequest || *code == kCancelRequest) {
    if (*length != kHead + (*code == kCancelRequest ? kCancelKey : 0))
      return refused("the start-up of the connection has an impossible length");
    start.kind = *code == kTlsRequest   ? PgStart::Kind::tls
                 : *code == kGssRequest ? PgStart::Kind::gss
                                        : PgStart::Kind::cancel;
  } else if (*code == kProtocol) {
    start.kind = PgStart::Kind::start;
  } else {
    return refused("only version 3.0 of the protocol of PostgreSQL is served here");
  }
  const auto rest = reader.bytes(*length - kHead);
  if (!rest) return {};
  if (start.kind == PgStart::Kind::cancel) start.cancel_key = *rest;
  if (start.kind == PgStart::Kind::start)
    if (std::string fault = read_parameters(*rest, start.parameters); !fault.empty())
      return refused(std::move(fault));
  return start;
}

PgMessage read_pg_message(std::string_view bytes, std::size_t most) {
  ByteReader reader(bytes);
  const auto kind = reader.bytes(1);
  const auto length = reader.number(4);
  PgMessage message;
  if (!kind || !length) return message;
  if (*length < 4 || *length - 4 > most) {
    message.state = PgMessage::State::refused;
    return message;
  }
  const auto body = reader.bytes(*length - 4);
  if (!body) return message;
  return {.state = PgMessage::State::complete,
          .kind = kind->front(),
          .body = *body,
          .size = *length + std::size_t{1}};
}

std::string pg_number(std::uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8)
    text.push_back(static_cast<char>(value >> shift));
  return text;
}

std::string pg_tls_request() {
  return pg_number(8) + pg_number(kTlsRequest);
}

std::string pg_cancel_request(std::string_view key) {
  return pg_number(16) + pg_number(kCancelRequest) + std::string(key);
}

std::string pg_start(const PgParameters& parameters) {
  std::string body = pg_number(kProtocol);
  for (const auto& [name, value] : parameters)
    body.append(name).append(1, '\0').append(value).append(1, '\0');
  body.push_back('\0');
  return pg_number(static_cast<std::uint32_t>(body.size() + 4)) + body;
}

std::string pg_message(char kind, std::string_view body) {
  std::string text(1, kind);
  text.append(pg_number(static_cast<std::uint32_t>(body.size() + 4))).append(body);
  return text;
}

std::string pg_error(std::string_view state, std::string_view message, std::string_view hint) {
  std::string body;
  const auto add = [&](char field, std::string_view text) {
    body.append(1, field).append(text.substr(0, text.find('\0'))).append(1, '\0');
  };
  add('S', "FATAL");
  add('V', "FATAL");
  add('C', state);
  add('M', message);
  if (!hint.empty()) add('H', hint);
  body.push_back('\0');
  return pg_message('E', body);
}

std::string pg_error_state(std::string_view body) {
  constexpr std::string_view kLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  while (const auto field = take_text(body)) {
    if (field->empty()) break;
    const std::string_view state = field->substr(1);
    if (field->front() == 'C' && state.size() == 5 &&
        state.find_first_not_of(kLetters) == std::string_view::npos)
      return std::string(state);
  }
  return "?????";
}

}  // namespace sallyport
