#include "cell/trust.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/text.h"
#include "egress/system_roots.h"
#include "kernel/syscalls.h"

namespace sallyport {
namespace {

// With a root of the user's /etc is the user's, and nothing of it is written to.
constexpr const char* kWithSystem = "etc/ssl/sallyport-ca.crt";
constexpr const char* kInOwnRoot = ".sallyport-ca.crt";
constexpr std::size_t kLargest = std::size_t{2}
                                 << 20;  // the cell's root has room for twice as much

Sys<void> write_at(int file, std::string_view text, off_t at) {
  while (!text.empty()) {
    const ssize_t size = ::pwrite(file, text.data(), text.size(), at);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return sys_fail("pwrite", "certificates");
    text.remove_prefix(static_cast<std::size_t>(size));
    at += size;
  }
  return {};
}

// The text of a regular file without a symlink on the way, which in a root of the user's could lead
// anywhere. Nothing: there is none.
std::optional<std::string> read_plain(const std::string& path) {
  const Fd file(sys::openat2(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC,
                             RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::size_t>(status.st_size) > kLargest)
    return std::nullopt;
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t size = ::read(file.get(), text.data() + done, text.size() - done);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return std::nullopt;
    done += static_cast<std::size_t>(size);
  }
  return text;
}

}  // namespace

Result<void> lay_out_trust(Plan& plan, const std::string& root) {
  plan.trust_place = root.empty() ? kWithSystem : kInOwnRoot;
  auto text = read_plain(root + kSystemRoots);
  plan.covers_system_trust = text.has_value();
  if (!text) text = system_roots();
  if (!text->empty() && !text->ends_with('\n')) text->push_back('\n');
  if (text->size() > kLargest)
    return fail(Reason::cannot_enforce,
                "the certificate authorities of this machine are too many for a cell");
  plan.trust = Fd(::memfd_create("sallyport", MFD_CLOEXEC));
  if (!plan.trust)
    return fail(Reason::unavailable, SysError{"memfd_create", "certificates", errno});
  if (auto done = write_at(plan.trust.get(), *text, 0); !done)
    return fail(Reason::unavailable, done.error());
  return {};
}

void add_trust_variables(const Plan& plan,
                         std::vector<std::pair<std::string, std::string>>& environment) {
  const std::string path = "/" + plan.trust_place;
  for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
                           "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "PIP_CERT", "CARGO_HTTP_CAINFO",
                           "AWS_CA_BUNDLE", "DENO_CERT", "NIX_SSL_CERT_FILE"})
    environment.emplace_back(name, path);
}

Sys<void> complete_trust(const Plan& plan, std::string_view authority) {
  struct stat status{};
  if (::fstat(plan.trust.get(), &status) != 0) return sys_fail("fstat", "certificates");
  return write_at(plan.trust.get(), authority, status.st_size);
}

Sys<void> write_trust(Launch& launch) {
  Plan& plan = launch.plan;
  if (!plan.trust) return {};
  const char* place = plan.trust_place.c_str();
  Fd file(::openat(launch.root.get(), place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file) return sys_fail("openat", place);
  struct stat status{};
  if (::fstat(plan.trust.get(), &status) != 0) return sys_fail("fstat", place);
  for (off_t at = 0; at < status.st_size;) {
    // A place of its own: the one of the file is also the supervisor's.
    const ssize_t sent = ::sendfile(file.get(), plan.trust.get(), &at,
                                    static_cast<std::size_t>(status.st_size - at));
    if (sent < 0) return sys_fail("sendfile", place);
    if (sent == 0) return sys_fail("sendfile", place, EIO);
  }
  plan.trust.reset();
  return {};
}

Sys<void> cover_system_trust(Launch& launch) {
  const Plan& plan = launch.plan;
  if (!plan.covers_system_trust) return {};
  const char* place = plan.trust_place.c_str();
  Fd file(::openat(launch.root.get(), place, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return sys_fail("openat", place);
  auto tree = clone_tree(file.get(), place, Access::read_only);
  if (!tree) return std::unexpected(tree.error());
  return attach(tree->get(), launch.root.get(), kSystemRoots + 1);
}

}  // namespace sallyport
