// TLS over another link, at either side of it.
#pragma once

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "base/error.h"
#include "egress/link.h"
#include "egress/openssl_handles.h"

namespace sallyport {

class TlsLink final : public Link {
 public:
  // `session` knows which side it is. `came`: what was read from `below` before.
  TlsLink(Link& below, TlsHandle session, std::string_view came = {});
  TlsLink(std::unique_ptr<Link> below, TlsHandle session);

  // Until both sides trust each other; nothing is read or written before. An error says why they do
  // not, and `below` is as good as ended.
  Task<Result<void>> greet();

  // One read and one write may wait at a time.
  Task<std::size_t> read(std::span<char> room) override;
  Task<bool> write(std::string_view bytes) override;
  Task<void> finish() override;
  void close() override { below_.close(); }
  void reset() override { below_.reset(); }
  [[nodiscard]] bool failed() const override { return failed_ || below_.failed(); }

 private:
  static constexpr std::size_t kPiece = std::size_t{16} << 10;

  void begin(std::string_view came);
  // Until nobody passes on what the session wants to say.
  Task<void> wait_for_flush();
  // Passes it on. Whoever is at it also passes on what others add.
  Task<bool> flush();
  // What the other side says goes to the session; false: it says no more.
  Task<bool> fill();
  [[nodiscard]] std::string fault() const;

  std::unique_ptr<Link> owned_;
  Link& below_;
  TlsHandle session_;
  BIO* in_ = nullptr;   // the session's
  BIO* out_ = nullptr;  // the session's
  std::unique_ptr<std::array<char, kPiece>> room_;
  std::optional<boost::asio::steady_timer> flushed_;  // of a write that waits for its turn
  bool flushing_ = false, failed_ = false;
};

}  // namespace sallyport
