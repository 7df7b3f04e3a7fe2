#include "egress/tls_link.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sallyport {

namespace asio = boost::asio;

TlsLink::TlsLink(Link& below, TlsHandle session, std::string_view came)
    : below_(below), session_(std::move(session)) {
  begin(came);
}

TlsLink::TlsLink(std::unique_ptr<Link> below, TlsHandle session)
    : owned_(std::move(below)), below_(*owned_), session_(std::move(session)) {
  begin({});
}

void TlsLink::begin(std::string_view came) {
  in_ = BIO_new(BIO_s_mem());
  out_ = BIO_new(BIO_s_mem());
  // From here on they belong to the session, whatever they are.
  SSL_set_bio(session_.get(), in_, out_);
  failed_ = in_ == nullptr || out_ == nullptr;
  if (!failed_ && !came.empty())
    failed_ =
        BIO_write(in_, came.data(), static_cast<int>(came.size())) != static_cast<int>(came.size());
}

Task<void> TlsLink::wait_for_flush() {
  while (flushing_) {
    flushed_.emplace(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    co_await flushed_->async_wait(asio::as_tuple(asio::use_awaitable));
    flushed_.reset();
  }
}

Task<bool> TlsLink::flush() {
  flushing_ = true;
  std::string piece;
  while (!failed_ && BIO_ctrl_pending(out_) > 0) {
    piece.resize(BIO_ctrl_pending(out_));
    const int size = BIO_read(out_, piece.data(), static_cast<int>(piece.size()));
    if (size != static_cast<int>(piece.size()) || !co_await below_.write(piece)) failed_ = true;
  }
  flushing_ = false;
  if (flushed_) flushed_->cancel();
  co_return !failed_;
}

Task<bool> TlsLink::fill() {
  if (!room_) room_ = std::make_unique<std::array<char, kPiece>>();
  const std::size_t size = co_await below_.read(*room_);
  if (size == 0) co_return false;
  co_return BIO_write(in_, room_->data(), static_cast<int>(size)) == static_cast<int>(size);
}

std::string TlsLink::fault() const {
  const long verified = SSL_get_verify_result(session_.get());
  if (SSL_is_server(session_.get()) == 1 || verified == X509_V_OK) return openssl_fault();
  ERR_clear_error();
  return std::string("its certificate cannot be trusted: ") +
         X509_verify_cert_error_string(verified);
}

Task<Result<void>> TlsLink::greet() {
  while (!failed_) {
    ERR_clear_error();
    const int result = SSL_do_handshake(session_.get());
    const int wanted = SSL_get_error(session_.get(), result);
    std::string why;
    if (result != 1 && wanted != SSL_ERROR_WANT_READ) why = fault();
    // An alert too: it tells the other side why.
    const bool passed_on = co_await flush();
    if (!why.empty()) {
      failed_ = true;
      co_return fail(Reason::unavailable, std::move(why));
    }
    if (result == 1 && passed_on) co_return Result<void>();
    if (passed_on && !co_await fill()) break;
  }
  failed_ = true;
  co_return fail(Reason::unavailable, "the connection ended in the TLS handshake");
}

Task<std::size_t> TlsLink::read(std::span<char> room) {
  while (!failed_) {
    ERR_clear_error();
    std::size_t count = 0;
    const int result = SSL_read_ex(session_.get(), room.data(), room.size(), &count);
    const int wanted = SSL_get_error(session_.get(), result);
    // Reading may have to say something: that a key was changed, or why it cannot go on.
    if (BIO_ctrl_pending(out_) > 0 && !flushing_ && !co_await flush()) break;
    if (result == 1) co_return count;
    if (wanted == SSL_ERROR_ZERO_RETURN) co_return 0;
    // An end that TLS does not know of may be anybody's.
    if (wanted != SSL_ERROR_WANT_READ || !co_await fill()) failed_ = true;
  }
  co_return 0;
}

Task<bool> TlsLink::write(std::string_view bytes) {
  co_await wait_for_flush();
  if (bytes.empty()) co_return !failed_;
  ERR_clear_error();
  std::size_t count = 0;
  if (failed_ || SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &count) != 1) {
    failed_ = true;
    co_return false;
  }
  co_return co_await flush();
}

Task<void> TlsLink::finish() {
  co_await wait_for_flush();
  ERR_clear_error();
  const bool says = !failed_ && SSL_is_init_finished(session_.get()) == 1 &&
                    (SSL_get_shutdown(session_.get()) & SSL_SENT_SHUTDOWN) == 0;
  if (says && SSL_shutdown(session_.get()) >= 0) co_await flush();
  co_await below_.finish();
}

}  // namespace sallyport
