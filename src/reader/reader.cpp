#include "reader/reader.h"

#include <fcntl.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdlib>
#include <cstring>
#include <list>
#include <set>

#include "credential/environment.h"
#include "credential/news.h"
#include "reader/directory_watch.h"
#include "reader/secret_command.h"
#include "reader/secret_file.h"
#include "reader/vault.h"

namespace sallyport {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

// A source that is out of order is tried again soon; what it gave is kept for as many refreshes.
constexpr std::chrono::seconds kRetry{5};
constexpr int kRefreshesKept = 10;
constexpr std::chrono::hours kFarAway{24 * 365};
constexpr std::chrono::milliseconds kLeastRefresh{100};
// Where the kernel does not tell of changes, they are seen this often.
constexpr std::chrono::seconds kBetweenLooks{1};
// A directory in which much is going on is not looked at all the time.
constexpr std::chrono::milliseconds kBetweenChanges{5};
constexpr std::chrono::seconds kLastPatience{2};

struct HeldLease {
  VaultLease lease;
  Clock::time_point ends;
};

struct Source {
  Source(asio::io_context& io, CredentialSource of) : from(std::move(of)), timer(io) {}
  CredentialSource from;
  asio::steady_timer timer;  // until it is looked at again
  bool stirred = false;      // it is to be looked at now
  bool revoked = false;
  bool told = false;     // the egress process knows what is here
  bool failing = false;  // it did not give what it should
  Reading variable;      // what was in it when this process began
  std::string value, why;
  Clock::time_point good_until;   // for how long the value is kept when the source fails
  std::vector<HeldLease> leases;  // the last is the value's; those before are of values before it
};

Reading read_variable(const std::string& from) {
  const char* value = ::getenv(from.c_str() + 4);
  if (value == nullptr) return no_secret("the variable " + from.substr(4) + " is not set", true);
  return check_secret(value, "its variable");
}

class Reader {
 public:
  Reader(asio::io_context& io, const ReaderSettings& settings, Fd egress)
      : io_(io),
        revoked_(settings.revoked),
        egress_(io, egress.release()),
        watch_(io),
        vault_(io, settings.vault) {
    for (const CredentialSource& source : settings.sources)
      sources_.emplace_back(io, source);
    for (Source& source : sources_) {
      if (source.from.from.starts_with("env:")) source.variable = read_variable(source.from.from);
      source.from.refresh = std::clamp<Duration>(source.from.refresh, kLeastRefresh, kFarAway);
    }
    forget_secrets(settings);  // commands have no business with them
  }

  void begin();

 private:
  Task<void> follow(Source& source);
  Task<Reading> read(Source& source);
  Task<Reading> read_vault(Source& source);
  Task<void> give_back(Source& source);
  void accept(Source& source, Reading reading);
  [[nodiscard]] Clock::duration pause_of(const Source& source) const;
  void tell(Source& source);

  Task<void> watch_directories();
  Task<void> look_regularly();
  void look_for_revocations();
  void stir(Source& source);

  Task<void> wait_for_end();

  asio::io_context& io_;
  std::string revoked_;
  asio::posix::stream_descriptor egress_;
  DirectoryWatch watch_;
  Vault vault_;
  std::list<Source> sources_;
  std::set<std::pair<int, Source*>> watched_;  // without a source: of revocations
  bool ending_ = false;                        // nothing new is read
};

void Reader::begin() {
  look_for_revocations();
  for (Source& source : sources_)
    asio::co_spawn(io_, follow(source), asio::detached);
  asio::co_spawn(io_, watch_directories(), asio::detached);
  asio::co_spawn(io_, look_regularly(), asio::detached);
  asio::co_spawn(io_, wait_for_end(), asio::detached);
}

// ---- One source

Task<void> Reader::follow(Source& source) {
  while (!ending_) {
    source.stirred = false;
    if (source.revoked) {
      co_await give_back(source);
    } else {
      Reading reading = co_await read(source);
      if (source.revoked || ending_) {
        wipe(reading.value);
        continue;
      }
      accept(source, std::move(reading));
    }
    if (source.stirred) continue;
    source.timer.expires_after(pause_of(source));
    co_await source.timer.async_wait(kTuple);
  }
}

Task<Reading> Reader::read(Source& source) {
  const std::string& from = source.from.from;
  if (from.starts_with("file:")) {
    const std::string path = from.substr(5);
    // Before it is read: what changes afterwards is told.
    watched_.emplace(watch_.add(path.substr(0, std::max<std::size_t>(path.rfind('/'), 1))),
                     &source);
    co_return read_secret_file(path);
  }
  if (from.starts_with("command:")) co_return co_await run_secret_command(io_, from.substr(8));
  if (from.starts_with("vault:")) co_return co_await read_vault(source);
  co_return source.variable;
}

Task<Reading> Reader::read_vault(Source& source) {
  if (!source.leases.empty() && !source.value.empty() && source.leases.back().lease.renewable) {
    const auto began = Clock::now();
    const VaultLease lease = source.leases.back().lease;
    const auto renewed = co_await vault_.renew(lease);
    if (source.revoked || ending_) co_return Reading{};
    if (renewed.count() > 0) {
      source.leases.back().ends = began + renewed;
      co_return Reading{.value = source.value, .why = {}};
    }
  }
  const auto began = Clock::now();
  VaultLease lease;
  Reading reading = co_await vault_.read(source.from.from.substr(6), lease);
  std::erase_if(source.leases, [&](const HeldLease& held) { return held.ends <= began; });
  if (!lease.id.empty() && reading.value.empty())
    co_await vault_.revoke(lease.id);
  else if (!lease.id.empty())
    source.leases.push_back({lease, began + lease.duration});
  co_return reading;
}

Task<void> Reader::give_back(Source& source) {
  for (const HeldLease& held : std::exchange(source.leases, {}))
    if (held.ends > Clock::now()) co_await vault_.revoke(held.lease.id);
}

void Reader::accept(Source& source, Reading reading) {
  const auto now = Clock::now();
  source.failing = reading.value.empty();
  if (!reading.value.empty()) {
    source.good_until = source.leases.empty() ? now + source.from.refresh * kRefreshesKept
                                              : source.leases.back().ends;
  } else if (!reading.gone && !source.value.empty() && now < source.good_until) {
    return;
  }
  if (source.told && source.value == reading.value && source.why == reading.why) {
    wipe(reading.value);
    return;
  }
  wipe(source.value);
  source.value = std::move(reading.value);
  source.why = std::move(reading.why);
  tell(source);
}

Clock::duration Reader::pause_of(const Source& source) const {
  if (source.revoked || source.from.from.starts_with("env:")) return kFarAway;
  const auto now = Clock::now();
  if (source.failing) {
    Clock::duration pause = std::min<Clock::duration>(source.from.refresh, kRetry);
    if (!source.value.empty()) pause = std::min(pause, source.good_until - now);
    return std::max<Clock::duration>(pause, kBetweenChanges);
  }
  if (source.leases.empty()) return source.from.refresh;
  return std::max<Clock::duration>((source.leases.back().ends - now) * 2 / 3, kLeastRefresh);
}

void Reader::tell(Source& source) {
  SecretNews news{.name = source.from.name, .value = source.value, .why = source.why};
  if (!send_news(egress_.native_handle(), news)) io_.stop();
  wipe(news.value);
  source.told = true;
}

void Reader::stir(Source& source) {
  source.stirred = true;
  source.timer.cancel();
}

// ---- Changes

Task<void> Reader::watch_directories() {
  asio::steady_timer pause(io_);
  for (;;) {
    const std::vector<int> changed = co_await watch_.changes();
    if (changed.empty()) co_return;
    const bool all = std::ranges::find(changed, -1) != changed.end();
    const std::set<int> numbers(changed.begin(), changed.end());
    bool look = all;
    for (const auto& [number, source] : watched_) {
      if (!all && !numbers.contains(number)) continue;
      if (source != nullptr)
        stir(*source);
      else
        look = true;
    }
    if (look) look_for_revocations();
    pause.expires_after(kBetweenChanges);
    co_await pause.async_wait(kTuple);
  }
}

Task<void> Reader::look_regularly() {
  asio::steady_timer timer(io_);
  for (;;) {
    timer.expires_after(kBetweenLooks);
    co_await timer.async_wait(kTuple);
    look_for_revocations();
  }
}

// It is told at once, whatever the source is doing at the time.
void Reader::look_for_revocations() {
  if (revoked_.empty() || ending_) return;
  watched_.emplace(watch_.add(revoked_.substr(0, revoked_.rfind('/'))), nullptr);
  watched_.emplace(watch_.add(revoked_), nullptr);
  const Fd directory(::open(revoked_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const int error = directory ? 0 : errno;
  for (Source& source : sources_) {
    struct stat status{};
    const bool there = directory && ::fstatat(directory.get(), source.from.name.c_str(), &status,
                                              AT_SYMLINK_NOFOLLOW) == 0;
    const int why = directory ? errno : error;
    // What cannot be seen is taken to be so.
    const bool revoked = there || why != ENOENT;
    if (revoked == source.revoked) continue;
    source.revoked = revoked;
    source.told = false;
    wipe(source.value);
    source.why =
        there ? "it is revoked"
              : std::string("it cannot be seen whether it is revoked: ") + std::strerror(why);
    if (revoked) tell(source);
    stir(source);
  }
}

// ---- The end

Task<void> Reader::wait_for_end() {
  char byte = 0;
  for (;;) {
    const auto [error] =
        co_await egress_.async_wait(asio::posix::stream_descriptor::wait_read, kTuple);
    const ssize_t size = error ? 0 : ::recv(egress_.native_handle(), &byte, 1, MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) break;
  }
  ending_ = true;
  asio::steady_timer last(io_, kLastPatience);
  last.async_wait([this](const boost::system::error_code&) { io_.stop(); });
  std::size_t left = 1;
  for (Source& source : sources_) {
    if (source.leases.empty()) continue;
    ++left;
    const auto done = [this, &left](const std::exception_ptr&) {
      if (--left == 0) io_.stop();
    };
    asio::co_spawn(io_, give_back(source), done);
  }
  if (--left == 0) io_.stop();
  co_await last.async_wait(kTuple);
}

}  // namespace

void read_sources(const ReaderSettings& settings, Fd egress) {
  // What the machine's OpenSSL is configured for is not ours.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  asio::io_context io(1);
  Reader reader(io, settings, std::move(egress));
  reader.begin();
  io.run();
}

}  // namespace sallyport
