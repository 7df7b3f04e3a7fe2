#include "egress/tls_link.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace sallyport {

namespace asio = boost::asio;
// More than the heads and tails of the records that one write is made of.
constexpr std::size_t kAroundRecords = 1024;

// OpenSSL's own BIO in memory copies once more each way, and keeps its largest size for good.
struct TlsLink::Border {
  static TlsLink& of(BIO* bio) { return *static_cast<TlsLink*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* room, std::size_t size, std::size_t* count) {
    TlsLink& link = of(bio);
    BIO_clear_retry_flags(bio);
    *count = std::min(size, link.in_.size() - link.used_);
    if (*count == 0) BIO_set_retry_read(bio);
    link.in_.copy(room, *count, link.used_);
    link.used_ += *count;
    return *count > 0 ? 1 : 0;
  }

  static int write(BIO* bio, const char* bytes, std::size_t size, std::size_t* count) {
    of(bio).out_.append(bytes, size);
    *count = size;
    return 1;
  }

  static long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

  static BIO* make(TlsLink& link) {
    static BIO_METHOD* const method = [] {
      BIO_METHOD* const made =
          BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "a link of TLS");
      if (made != nullptr) {
        BIO_meth_set_read_ex(made, read);
        BIO_meth_set_write_ex(made, write);
        BIO_meth_set_ctrl(made, control);
      }
      return made;
    }();
    BIO* const bio = method != nullptr ? BIO_new(method) : nullptr;
    if (bio == nullptr) return nullptr;
    BIO_set_data(bio, &link);
    BIO_set_init(bio, 1);
    return bio;
  }
};

TlsLink::TlsLink(Link& below, TlsHandle session, std::string_view came)
    : below_(below), session_(std::move(session)), in_(came) {
  begin();
}

TlsLink::TlsLink(std::unique_ptr<Link> below, TlsHandle session)
    : owned_(std::move(below)), below_(*owned_), session_(std::move(session)) {
  begin();
}

void TlsLink::begin() {
  BIO* const border = Border::make(*this);
  failed_ = border == nullptr;
  SSL_set_bio(session_.get(), border, border);  // whose it is from here on
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
  while (!failed_ && !out_.empty()) {
    const std::string piece = std::exchange(out_, {});
    if (!co_await below_.write(piece)) failed_ = true;
  }
  flushing_ = false;
  if (flushed_) flushed_->cancel();
  co_return !failed_;
}

Task<bool> TlsLink::fill() {
  const std::size_t room = room_after(came_last_);
  if (room == kLittleRoom) {
    std::string().swap(in_);
    co_await below_.wait();
  }
  resize_for_reading(in_, room);
  used_ = room;  // nothing of it is there yet
  const std::size_t size = co_await below_.read(in_);
  in_.resize(size);
  used_ = 0;
  came_last_ = size;
  co_return size > 0;
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

Task<void> TlsLink::wait() {
  if (failed_ || has_come() || SSL_has_pending(session_.get()) != 0) co_return;
  std::string().swap(in_);  // nobody has to hold any while nothing comes
  used_ = 0;
  co_await below_.wait();
}

Task<std::size_t> TlsLink::read(std::span<char> room) {
  while (!failed_) {
    ERR_clear_error();
    std::size_t count = 0;
    int result = 0;
    // A record at a time; an error behind some that were good is met again by the next read.
    do {
      std::size_t more = 0;
      result = SSL_read_ex(session_.get(), room.data() + count, room.size() - count, &more);
      count += more;
    } while (result == 1 && count < room.size());
    const int wanted = count > 0 ? SSL_ERROR_NONE : SSL_get_error(session_.get(), result);
    // Reading may have to say something: that a key was changed, or why it cannot go on.
    if (!out_.empty() && !flushing_ && !co_await flush()) break;
    if (wanted == SSL_ERROR_NONE) co_return count;
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
  out_.reserve(bytes.size() + kAroundRecords);
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
