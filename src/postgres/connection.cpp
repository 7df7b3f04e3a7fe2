#include "postgres/connection.h"

#include <sys/random.h>

#include <algorithm>

#include "base/text.h"
#include "credential/scram.h"

namespace sallyport {
namespace {

constexpr std::uint32_t kProtocol = 3 << 16;
constexpr std::uint32_t kTlsRequest = 80877103;
// A row of more is none that anybody could show to a model.
constexpr std::uint32_t kLargestMessage = std::uint32_t{64} << 20;
constexpr std::string_view kMechanism = "SCRAM-SHA-256";

// ---- Messages

void put_number(std::string& text, std::uint32_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    text.push_back(static_cast<char>(value >> shift));
}

void put_text(std::string& text, std::string_view value) {
  text.append(value).push_back('\0');
}

std::string framed(char kind, std::string_view body) {
  std::string message(1, kind);
  put_number(message, static_cast<std::uint32_t>(body.size() + 4), 4);
  return message.append(body);
}

// Reads a body from its beginning; past its end everything is zero, and `good` is not.
class Reader {
 public:
  explicit Reader(std::string_view body) : rest_(body) {}

  std::uint32_t number(int bytes) {
    std::uint32_t value = 0;
    for (const char c : bytes_of(static_cast<std::size_t>(bytes)))
      value = value << 8 | static_cast<unsigned char>(c);
    return value;
  }
  std::string_view bytes_of(std::size_t size) {
    good_ = good_ && size <= rest_.size();
    if (!good_) return {};
    const std::string_view part = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return part;
  }
  std::string text() {
    const std::size_t end = rest_.find('\0');
    good_ = good_ && end != std::string_view::npos;
    if (!good_) return {};
    std::string value(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return value;
  }
  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool good() const { return good_; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

std::unexpected<Error> not_understood() {
  return fail(Reason::unavailable, "the answer of the database server is not understood");
}

PgProblem problem_of(std::string_view body) {
  PgProblem problem;
  Reader reader(body);
  for (char field = 0; reader.good();) {
    const std::string_view kind = reader.bytes_of(1);
    field = kind.empty() ? '\0' : kind[0];
    if (field == '\0') break;
    const std::string value = to_utf8(reader.text());
    if (field == 'C') problem.state = value;
    if (field == 'M') problem.message = value;
    if (field == 'H') problem.hint = value;
  }
  if (problem.state.empty()) problem.state = "XX000";
  return problem;
}

PgProblem problem_of(const Error& error) {
  return {.state = {}, .message = error.message, .hint = error.hint};
}

std::optional<std::vector<PgColumn>> columns_of(std::string_view body) {
  Reader reader(body);
  std::vector<PgColumn> columns(reader.number(2));
  for (PgColumn& column : columns) {
    column.name = reader.text();
    (void)reader.bytes_of(6);  // table and column
    column.type = reader.number(4);
    (void)reader.bytes_of(8);  // size, modifier, format
  }
  if (!reader.good()) return std::nullopt;
  return columns;
}

std::optional<std::vector<PgValue>> row_of(std::string_view body) {
  constexpr std::uint32_t kNull = ~std::uint32_t{0};
  Reader reader(body);
  std::vector<PgValue> row(reader.number(2));
  for (PgValue& value : row)
    if (const std::uint32_t size = reader.number(4); size != kNull)
      value = std::string(reader.bytes_of(size));
  if (!reader.good()) return std::nullopt;
  return row;
}

Result<std::string> make_nonce() {
  unsigned char bytes[18];
  if (::getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
    return fail(Reason::unavailable, "the kernel gives no random bytes");
  std::string nonce;
  for (const unsigned char byte : bytes)
    nonce += "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[byte % 64];
  return nonce;
}

std::string parse_message(std::string_view statement) {
  std::string body;
  put_text(body, "");
  put_text(body, statement);
  put_number(body, 0, 2);  // the server finds out the types of parameters
  return framed('P', body);
}

std::string bind_message(std::span<const PgValue> params) {
  std::string body;
  put_text(body, "");
  put_text(body, "");
  put_number(body, 0, 2);  // all as text
  put_number(body, static_cast<std::uint32_t>(params.size()), 2);
  for (const PgValue& param : params) {
    put_number(body, param ? static_cast<std::uint32_t>(param->size()) : ~std::uint32_t{0}, 4);
    if (param) body += *param;
  }
  put_number(body, 0, 2);  // and so the answer
  return framed('B', body);
}

std::string execute_message(std::uint32_t limit) {
  std::string body;
  put_text(body, "");
  put_number(body, limit, 4);
  return framed('E', body);
}

}  // namespace

Result<PgConnection::Message> PgConnection::receive() {
  for (;;) {
    char head[5];
    if (auto read = channel_.read(head); !read) return std::unexpected(std::move(read.error()));
    Message message{.kind = head[0], .body = {}};
    const std::uint32_t size = Reader({head + 1, 4}).number(4);
    if (size < 4) return not_understood();
    if (size > kLargestMessage)
      return fail(Reason::result_too_large,
                  "a row of " + std::to_string(size) + " bytes is larger than any that comes back",
                  "ask for fewer columns, or for a part of a long one with substr()");
    message.body.resize(size - 4);
    if (auto read = channel_.read(message.body); !read)
      return std::unexpected(std::move(read.error()));
    // Notices, settings and notifications may come at any time.
    if (!std::string_view("NSA").contains(message.kind)) return message;
  }
}

Result<PgConnection> PgConnection::open(Fd socket, const PgLogin& login) {
  PgConnection connection(std::move(socket));
  if (login.tls)
    if (auto asked = connection.ask_for_tls(login); !asked)
      return std::unexpected(std::move(asked.error()));
  if (auto in = connection.log_in(login); !in) return std::unexpected(std::move(in.error()));
  return connection;
}

Result<void> PgConnection::ask_for_tls(const PgLogin& login) {
  std::string request;
  put_number(request, 8, 4);
  put_number(request, kTlsRequest, 4);
  if (auto sent = channel_.write(request); !sent) return sent;
  char answer[1];
  if (auto read = channel_.read(answer); !read) return read;
  if (answer[0] != 'S')
    return fail(Reason::unavailable, "the database server has no TLS",
                "switch it on there; sslmode=disable in the address goes without");
  return channel_.start_tls(login.host, login.certificates);
}

Result<void> PgConnection::log_in(const PgLogin& login) {
  std::string body;
  put_number(body, kProtocol, 4);
  std::vector<std::pair<std::string, std::string>> settings = login.settings;
  settings.insert(settings.begin(), {{"user", login.user},
                                     {"database", login.database},
                                     {"application_name", "sallyport"},
                                     // Whoever may create in another schema could put an operator
                                     // there that ours would find.
                                     {"search_path", "pg_catalog"},
                                     {"client_encoding", "UTF8"}});
  for (const auto& [name, value] : settings) {
    put_text(body, name);
    put_text(body, value);
  }
  body.push_back('\0');
  std::string start;
  put_number(start, static_cast<std::uint32_t>(body.size() + 4), 4);
  if (auto sent = channel_.write(start + body); !sent) return sent;
  bool proved_both_ways = false;
  for (;;) {
    auto message = receive();
    if (!message) return std::unexpected(std::move(message.error()));
    if (message->kind == 'Z' && (proved_both_ways || !login.must_ask)) return {};
    if (message->kind == 'Z')
      return fail(Reason::unavailable,
                  "the database server lets " + quoted(login.user) + " in without its password",
                  "set pg_hba.conf of the server to scram-sha-256 for the roles of Sallyport");
    if (message->kind == 'K') continue;  // for cancelling: the server's own clock does that
    if (message->kind == 'E')
      return fail(Reason::unavailable,
                  "the database server does not let " + quoted(login.user) +
                      " in: " + problem_of(message->body).message,
                  "`sallyport sql prepare` makes the roles of a policy and their passwords");
    if (message->kind != 'R') return not_understood();
    Reader reader(message->body);
    const std::uint32_t way = reader.number(4);
    if (way == 0) continue;
    constexpr std::uint32_t kSasl = 10;
    if (way != kSasl)
      return fail(Reason::unavailable,
                  "the database server asks for the password in a way that gives it away",
                  "set password_encryption and pg_hba.conf to scram-sha-256");
    if (auto proved = prove_password(login, reader.rest()); !proved) return proved;
    proved_both_ways = true;
  }
}

Result<std::string> PgConnection::receive_sasl(std::uint32_t step) {
  auto message = receive();
  if (!message) return std::unexpected(std::move(message.error()));
  if (message->kind == 'E')
    return fail(Reason::unavailable,
                "the database server refuses the login: " + problem_of(message->body).message,
                "`sallyport sql prepare` makes the roles of a policy and their passwords");
  Reader reader(message->body);
  if (message->kind != 'R' || reader.number(4) != step) return not_understood();
  return std::string(reader.rest());
}

Result<void> PgConnection::prove_password(const PgLogin& login, std::string_view mechanisms) {
  constexpr std::uint32_t kContinue = 11, kFinal = 12;
  Reader offered(mechanisms);
  bool known = false;
  for (std::string name; !(name = offered.text()).empty();)
    known = known || name == kMechanism;
  if (!known || login.password.empty())
    return fail(Reason::unavailable,
                known ? "the database server asks for a password, and there is none"
                      : "the database server asks for a password in a way that is not known here",
                "pg_hba.conf of the server says how it knows whom");
  auto nonce = make_nonce();
  if (!nonce) return std::unexpected(std::move(nonce.error()));
  ScramClient scram(login.password, std::move(*nonce));
  std::string first;
  put_text(first, kMechanism);
  const std::string opening = scram.first_message();
  put_number(first, static_cast<std::uint32_t>(opening.size()), 4);
  if (auto sent = channel_.write(framed('p', first + opening)); !sent) return sent;
  const auto challenge = receive_sasl(kContinue);
  if (!challenge) return std::unexpected(challenge.error());
  const auto proof = scram.final_message(*challenge);
  if (!proof) return std::unexpected(proof.error());
  if (auto sent = channel_.write(framed('p', *proof)); !sent) return sent;
  const auto verdict = receive_sasl(kFinal);
  if (!verdict) return std::unexpected(verdict.error());
  return scram.check_server(*verdict);
}

PgConnection::Answer<void> PgConnection::query(std::string_view statement,
                                               std::span<const PgValue> params, const Taker& taker,
                                               std::uint32_t limit) {
  // One statement, whatever its text is: that is how this part of the protocol works.
  if (statement.contains('\0'))
    return std::unexpected(PgProblem{"42601", "the statement has a NUL character in it", {}});
  if (auto sent = channel_.write(parse_message(statement) + bind_message(params) +
                                 framed('D', std::string_view("P\0", 2)) + execute_message(limit) +
                                 framed('S', ""));
      !sent)
    return std::unexpected(problem_of(sent.error()));
  std::optional<PgProblem> problem;
  std::size_t columns = 0;
  for (;;) {
    auto message = receive();
    if (!message) return std::unexpected(problem ? *problem : problem_of(message.error()));
    switch (message->kind) {
      case 'T':
        if (auto described = columns_of(message->body)) {
          columns = described->size();
          taker.columns(std::move(*described));
          break;
        }
        return std::unexpected(problem_of(not_understood().error()));
      case 'D':
        if (auto row = row_of(message->body); row && row->size() == columns) {
          if (!taker.row(std::move(*row))) return {};
          break;
        }
        return std::unexpected(problem_of(not_understood().error()));
      case 'E':
        problem = problem_of(message->body);
        break;
      case 'Z':
        if (problem) return std::unexpected(std::move(*problem));
        return {};
      default:  // parsed, bound, no rows, complete, suspended
        break;
    }
  }
}

PgConnection::Answer<PgRows> PgConnection::query(std::string_view statement,
                                                 std::span<const PgValue> params) {
  PgRows answer;
  const Taker taker{
      .columns = [&](std::vector<PgColumn> columns) { answer.columns = std::move(columns); },
      .row =
          [&](std::vector<PgValue> row) {
            answer.rows.push_back(std::move(row));
            return true;
          }};
  if (auto done = query(statement, params, taker); !done)
    return std::unexpected(std::move(done.error()));
  return answer;
}

}  // namespace sallyport
