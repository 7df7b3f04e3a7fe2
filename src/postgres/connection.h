// A client of PostgreSQL: its protocol, version 3, as much as is needed to log in and to run one
// statement at a time. It works on a socket that somebody else has connected, which libpq cannot:
// in a cell there is no way to a server but the one that was opened outside.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "postgres/channel.h"
#include "sallyport/error.h"

namespace sallyport {

struct PgLogin {
  std::string user, database;
  std::string password;  // empty: the server must know us by other means
  // A server that lets us in without asking for it may be another one, or let anybody in.
  bool must_ask = false;
  bool tls = false;
  std::string host, certificates;                             // for TLS
  std::vector<std::pair<std::string, std::string>> settings;  // of the session
};

// An error that the server reports.
struct PgProblem {
  std::string state;  // five letters, "42501"; empty: it is the connection that failed
  std::string message;
  std::string hint;
};

struct PgColumn {
  std::string name;
  std::uint32_t type = 0;  // the OID
};

using PgValue = std::optional<std::string>;  // as text; none: NULL

struct PgRows {
  std::vector<PgColumn> columns;
  std::vector<std::vector<PgValue>> rows;

  // Empty for NULL, and for what a server that is none leaves out.
  [[nodiscard]] std::string text(std::size_t row, std::size_t column) const {
    return row < rows.size() && column < rows[row].size() ? rows[row][column].value_or("") : "";
  }
};

class PgConnection {
 public:
  template <class T>
  using Answer = std::expected<T, PgProblem>;

  [[nodiscard]] static Result<PgConnection> open(Fd socket, const PgLogin& login);

  // Rows as they come; `row` answers whether more are wanted. After it did not want more, the
  // connection is good for nothing but being closed. At most `limit` rows, 0: all.
  struct Taker {
    std::function<void(std::vector<PgColumn> columns)> columns;
    std::function<bool(std::vector<PgValue> row)> row;
  };
  [[nodiscard]] Answer<void> query(std::string_view statement, std::span<const PgValue> params,
                                   const Taker& taker, std::uint32_t limit = 0);

  // All rows at once, for small answers.
  [[nodiscard]] Answer<PgRows> query(std::string_view statement,
                                     std::span<const PgValue> params = {});

 private:
  struct Message {
    char kind = 0;
    std::string body;
  };
  explicit PgConnection(Fd socket) : channel_(std::move(socket)) {}
  [[nodiscard]] Result<void> ask_for_tls(const PgLogin& login);
  [[nodiscard]] Result<void> log_in(const PgLogin& login);
  [[nodiscard]] Result<void> prove_password(const PgLogin& login, std::string_view mechanisms);
  [[nodiscard]] Result<Message> receive();
  [[nodiscard]] Result<std::string> receive_sasl(std::uint32_t step);

  Channel channel_;
};

}  // namespace sallyport
