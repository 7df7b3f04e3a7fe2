#include "cell/trust.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/text.h"
#include "cell/java_store.h"
#include "egress/system_roots.h"
#include "kernel/syscalls.h"

namespace sallyport {
namespace {

// With a root of the user's /etc is the user's, and nothing of it is written to.
constexpr const char* kWithSystem = "etc/ssl/sallyport-ca";
constexpr const char* kInOwnRoot = ".sallyport-ca";
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

Result<Fd> as_file(std::string_view text) {
  Fd file(::memfd_create("sallyport", MFD_CLOEXEC));
  if (!file) return fail(Reason::unavailable, SysError{"memfd_create", "certificates", errno});
  if (auto done = write_at(file.get(), text, 0); !done)
    return fail(Reason::unavailable, done.error());
  return file;
}

// Appends to one that as_file() made.
Sys<void> add_to(int file, std::string_view text) {
  struct stat status{};
  if (::fstat(file, &status) != 0) return sys_fail("fstat", "certificates");
  return write_at(file, text, status.st_size);
}

// From one of the plan's files into one of the cell's. It does not allocate.
Sys<void> write_file_of(Fd& source, int root, const char* place) {
  Fd file(::openat(root, place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file) return sys_fail("openat", place);
  struct stat status{};
  if (::fstat(source.get(), &status) != 0) return sys_fail("fstat", place);
  for (off_t at = 0; at < status.st_size;) {
    // A place of its own: the one of the file is also the supervisor's.
    const ssize_t sent =
        ::sendfile(file.get(), source.get(), &at, static_cast<std::size_t>(status.st_size - at));
    if (sent < 0) return sys_fail("sendfile", place);
    if (sent == 0) return sys_fail("sendfile", place, EIO);
  }
  source.reset();
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
  const std::string place = root.empty() ? kWithSystem : kInOwnRoot;
  plan.trust_place = place + ".crt";
  plan.java_place = place + ".jks";
  auto text = read_plain(root + kSystemRoots);
  plan.covers_system_trust = text.has_value();
  if (!text) text = system_roots();
  if (!text->empty() && !text->ends_with('\n')) text->push_back('\n');
  if (text->size() > kLargest)
    return fail(Reason::cannot_enforce,
                "the certificate authorities of this machine are too many for a cell");
  auto certificates = as_file(*text), store = as_file(begin_java_store(*text));
  if (!certificates) return std::unexpected(std::move(certificates.error()));
  if (!store) return std::unexpected(std::move(store.error()));
  plan.trust = std::move(*certificates);
  plan.java_trust = std::move(*store);
  return {};
}

void add_trust_variables(const Plan& plan,
                         std::vector<std::pair<std::string, std::string>>& environment) {
  const std::string path = "/" + plan.trust_place;
  for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
                           "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "PIP_CERT", "CARGO_HTTP_CAINFO",
                           "AWS_CA_BUNDLE", "DENO_CERT", "NIX_SSL_CERT_FILE"})
    environment.emplace_back(name, path);
  environment.emplace_back("JAVA_TOOL_OPTIONS", "-Djavax.net.ssl.trustStore=/" + plan.java_place +
                                                    " -Djavax.net.ssl.trustStoreType=JKS");
}

Sys<void> complete_trust(const Plan& plan, std::string_view authority) {
  if (auto done = add_to(plan.trust.get(), authority); !done) return done;
  return add_to(plan.java_trust.get(), java_entry(authority));
}

Sys<void> write_trust(Launch& launch) {
  Plan& plan = launch.plan;
  if (!plan.trust) return {};
  if (auto done = write_file_of(plan.trust, launch.root.get(), plan.trust_place.c_str()); !done)
    return done;
  return write_file_of(plan.java_trust, launch.root.get(), plan.java_place.c_str());
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
