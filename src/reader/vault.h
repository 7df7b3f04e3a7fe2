// The requests that credentials need of a Vault. Each has a connection of its own, whose
// certificate is checked strictly.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <string>

#include "credential/settings.h"
#include "egress/link.h"
#include "egress/name_lookup.h"
#include "input/url.h"
#include "reader/reading.h"
#include "reader/vault_answer.h"

namespace sallyport {

class Vault {
 public:
  // Takes the token from the environment now, if that is where it is.
  Vault(boost::asio::io_context& io, VaultSettings settings);

  // `from`: "PATH#FIELD", or "PATH#FIELD:FIELD". A lease may come with it, even
  // where there is no value.
  Task<Reading> read(std::string from, VaultLease& lease);
  // How long it is good for now; none: it is not renewed, and so is as it was.
  Task<std::chrono::seconds> renew(VaultLease lease);
  // Best effort.
  Task<void> revoke(std::string lease_id);

 private:
  struct Reply {
    unsigned status = 0;  // 0: there is no answer, see `body`
    std::string body;
  };
  Task<Reply> ask(std::string method, std::string path, std::string body);
  Task<Reply> exchange(Link& link, std::string text);
  Task<Reply> ask_at(const Url& url, std::string text);
  [[nodiscard]] Reading token() const;

  boost::asio::io_context& io_;
  VaultSettings settings_;
  LookupSettings lookups_;
  std::string token_;  // of the environment
};

}  // namespace sallyport
