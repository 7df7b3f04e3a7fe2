// What all connections of one server share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "http/allowed_hosts.h"
#include "http/byte_budget.h"
#include "http/peer.h"
#include "http/server.h"
#include "http/tls.h"

namespace sallyport {

struct HttpService {
  explicit HttpService(const HttpLimits& of_client) : limits(of_client) {}

  const HttpLimits limits;
  AllowedHosts hosts;
  TrustedProxies proxies;
  std::shared_ptr<const TlsContext> tls;  // null: no listener needs it
  HttpHandler handler;
  HttpProblem problem;
  std::function<BodyTerms(const HttpRequest&)> body_terms;  // may be empty

  ByteBudget buffered{limits.buffered_bytes};
  ByteBudgets shares{limits.share_bytes};
  std::atomic<std::uint64_t> connections = 0, accepted = 0, requests = 0, refused = 0, failed = 0;
};

}  // namespace sallyport
