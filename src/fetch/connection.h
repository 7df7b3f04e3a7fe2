// A connection out of the cell: a name asked of the cell's own name server, TCP, and TLS for https.
// It blocks, and gives up at a point in time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "egress/name_lookup.h"
#include "input/url.h"

struct ssl_st;
struct ssl_ctx_st;

namespace sallyport {

// What is around the program; as a cell has it, unless a test says otherwise.
struct FetchPlaces {
  NameServer names;
  std::string certificates = "/etc/ssl/certs/ca-certificates.crt";  // who may vouch for a server
};

class FetchConnection {
 public:
  // `allowed` is for hints. An error is a sentence for a model: what happened, and what would be
  // allowed.
  [[nodiscard]] static Result<FetchConnection> open(const Url& url, std::int64_t deadline_ns,
                                                    const FetchPlaces& places,
                                                    const std::vector<std::string>& allowed);

  // As much of it as the other side takes: it may have answered already.
  [[nodiscard]] Result<void> write(std::string_view bytes);

  // The next bytes are appended to `into`, at least one; false: the other side has ended.
  [[nodiscard]] Result<bool> read(std::string& into);

 private:
  struct Free {
    void operator()(ssl_st* ssl) const;
    void operator()(ssl_ctx_st* context) const;
  };
  FetchConnection(std::string host, std::int64_t deadline_ns)
      : host_(std::move(host)), deadline_ns_(deadline_ns) {}
  [[nodiscard]] Result<void> dial(const IpAddress& address, std::uint16_t port,
                                  const std::vector<std::string>& allowed);
  [[nodiscard]] Result<void> start_tls(const std::string& name, const std::string& certificates,
                                       const std::vector<std::string>& allowed);
  [[nodiscard]] Result<void> wait(short events) const;
  // After a call of TLS that did not succeed: false, it has ended; an error, it has failed; true,
  // it can be made again.
  [[nodiscard]] Result<bool> after_tls(int result);

  std::string host_;
  std::int64_t deadline_ns_;
  Fd socket_;
  std::unique_ptr<ssl_ctx_st, Free> context_;
  std::unique_ptr<ssl_st, Free> ssl_;
};

}  // namespace sallyport
