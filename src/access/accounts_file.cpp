#include "access/accounts_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/accounts_format.h"
#include "base/private_file.h"

namespace sallyport {
namespace {

constexpr const char *kState = "ledger", *kNewState = "ledger.new", *kLock = "ledger.lock";

std::unexpected<Error> unusable(const std::string& why) {
  return fail(Reason::unavailable,
              "what has been used cannot be known: the file '" + std::string(kState) +
                  "' in the state directory " + why,
              "put back a good copy, or move it away to count from zero");
}

}  // namespace

Result<Fd> lock_accounts(int directory, std::chrono::milliseconds patience) {
  auto lock = lock_private_file(directory, kLock, O_RDWR | O_CREAT, patience);
  if (!lock)
    return fail(Reason::unavailable,
                "what has been used cannot be counted: " + lock.error().message,
                "a service that runs has its state directory for itself; call through it, or use "
                "another directory");
  return lock;
}

Result<std::unique_ptr<Accounts>> read_accounts(int directory, const LedgerOptions& options) {
  const auto file = open_private_file(directory, kState, O_RDONLY);
  if (!file) return std::unexpected(file.error());
  if (!file->valid()) return std::make_unique<Accounts>(options);
  struct stat status{};
  if (::fstat(file->get(), &status) != 0)
    return fail(Reason::unavailable, SysError{"fstat", kState, errno});
  // The bytes are fewer than what they take in memory.
  if (static_cast<std::uint64_t>(status.st_size) > 2 * options.max_memory + 4096)
    return unusable("is larger than its bound on memory allows");
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file->get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Reason::unavailable, SysError{"read", kState, errno});
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  auto accounts = AccountsFormat::read(bytes, options);
  if (!accounts) return unusable(accounts.error());
  return std::move(*accounts);
}

Result<void> write_accounts(int directory, const Accounts& accounts) {
  return write_accounts(directory, AccountsFormat::write(accounts));
}

Result<void> write_accounts(int directory, std::string_view bytes) {
  const auto file = open_private_file(directory, kNewState, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file) return std::unexpected(file.error());
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = ::write(file->get(), bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0)
      return fail(Reason::unavailable, SysError{"write", kNewState, errno},
                  "make room on the disk of the state directory");
    done += static_cast<std::size_t>(wrote);
  }
  if (::renameat(directory, kNewState, directory, kState) != 0)
    return fail(Reason::unavailable, SysError{"rename", kNewState, errno});
  return {};
}

}  // namespace sallyport
