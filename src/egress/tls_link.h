// TLS over another link, at either side of it.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "egress/link.h"
#include "egress/openssl_handles.h"

namespace sallyport {

class TlsLink final : public Link {
 public:
  // `session` knows which side it is. `came`: what was read from `below` before.
  TlsLink(Link& below, TlsHandle session, std::string_view came = {});
  TlsLink(std::unique_ptr<Link> below, TlsHandle session);
  TlsLink(const TlsLink&) = delete;  // the session knows where it is
  TlsLink& operator=(const TlsLink&) = delete;

  // Until both sides trust each other; nothing is read or written before. An error says why they do
  // not, and `below` is as good as ended.
  Task<Result<void>> greet();

  [[nodiscard]] const SSL* session() const { return session_.get(); }

  // One read and one write may wait at a time.
  Task<void> wait() override;
  Task<std::size_t> read(std::span<char> room) override;
  Task<bool> write(std::string_view bytes) override;
  Task<void> finish() override;
  void close() override { below_.close(); }
  void reset() override { below_.reset(); }
  [[nodiscard]] bool failed() const override { return failed_ || below_.failed(); }

 private:
  // How the session reads what came and says what is to be passed on.
  struct Border;

  void begin();
  // Until nobody passes on what the session wants to say.
  Task<void> wait_for_flush();
  // Passes it on. Whoever is at it also passes on what others add.
  Task<bool> flush();
  // More of what the other side says; false: it says no more.
  Task<bool> fill();
  [[nodiscard]] bool has_come() const { return used_ < in_.size(); }
  [[nodiscard]] std::string fault() const;

  std::unique_ptr<Link> owned_;
  Link& below_;
  TlsHandle session_;
  std::string in_;        // what came last
  std::size_t used_ = 0;  // of it
  std::size_t came_last_ = 0;
  std::string out_;                                   // what is to be passed on
  std::optional<boost::asio::steady_timer> flushed_;  // of a write that waits for its turn
  bool flushing_ = false, failed_ = false;
};

}  // namespace sallyport
