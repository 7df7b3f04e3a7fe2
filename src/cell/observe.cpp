#include "cell/observe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>

#include "base/file.h"
#include "base/parse.h"
#include "cell/init.h"
#include "cell/observe_names.h"
#include "kernel/seccomp_calls.h"

namespace sallyport {
namespace {

constexpr std::uint64_t kPage = 4096;

constexpr std::string_view kShownAnyway[] = {"/usr",   "/bin",    "/sbin", "/lib", "/lib32",
                                             "/lib64", "/libx32", "/proc", "/dev", "/sys"};

// One path argument of a call.
struct PathArgument {
  std::uint64_t path = 0;
  int directory = AT_FDCWD;
  FileUse use;
  bool may_be_empty = false;  // then it means the directory itself
};

FileUse use_of_open(std::uint64_t flags) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
  const bool listed = (flags & O_DIRECTORY) != 0;
  if ((flags & O_PATH) != 0) return {.read = !listed, .listed = listed};
  if (listed && !writes) return {.listed = true};
  return {.read = (flags & O_ACCMODE) != O_WRONLY, .written = writes};
}

// The paths that a call names. Two at most: rename and link.
std::vector<PathArgument> paths_of(const seccomp_data& call) {
  const auto* args = call.args;
  const auto directory = [&](int i) { return static_cast<int>(args[i]); };
  constexpr FileUse kRead{.read = true}, kWritten{.written = true}, kExecuted{.executed = true};
  switch (call.nr) {
    case call::open:
      return {{.path = args[0], .use = use_of_open(args[1])}};
    case call::openat:
      return {{.path = args[1], .directory = directory(0), .use = use_of_open(args[2])}};
    case call::execve:
      return {{.path = args[0], .use = kExecuted}};
    case call::execveat:
      return {{.path = args[1],
               .directory = directory(0),
               .use = kExecuted,
               .may_be_empty = (args[4] & AT_EMPTY_PATH) != 0}};
    case call::creat:
    case call::truncate:
    case call::mkdir:
    case call::rmdir:
    case call::unlink:
    case call::mknod:
    case call::chmod:
      return {{.path = args[0], .use = kWritten}};
    case call::mkdirat:
    case call::unlinkat:
    case call::mknodat:
    case call::fchmodat:
    case call::utimensat:
      return {{.path = args[1], .directory = directory(0), .use = kWritten}};
    case call::rename:
      return {{.path = args[0], .use = kWritten}, {.path = args[1], .use = kWritten}};
    case call::link:
      return {{.path = args[0], .use = kRead}, {.path = args[1], .use = kWritten}};
    case call::renameat:
    case call::renameat2:
      return {{.path = args[1], .directory = directory(0), .use = kWritten},
              {.path = args[3], .directory = directory(2), .use = kWritten}};
    case call::linkat:
      return {{.path = args[1], .directory = directory(0), .use = kRead},
              {.path = args[3], .directory = directory(2), .use = kWritten}};
    case call::symlink:
      return {{.path = args[1], .use = kWritten}};
    case call::symlinkat:
      return {{.path = args[2], .directory = directory(1), .use = kWritten}};
    default:
      return {};
  }
}

// What /proc of this machine says about a directory of the thread: its path as the cell sees it.
std::optional<std::string> directory_of(pid_t thread, int directory) {
  const std::string link = "/proc/" + std::to_string(thread) +
                           (directory == AT_FDCWD ? "/cwd" : "/fd/" + std::to_string(directory));
  char target[PATH_MAX];
  const ssize_t size = ::readlink(link.c_str(), target, sizeof(target));
  if (size <= 0 || target[0] != '/') return std::nullopt;
  return std::string(target, static_cast<std::size_t>(size));
}

// nullopt: it cannot be read. Empty: the kernel will refuse it, or it names no file.
std::optional<std::string> resolve(pid_t thread, const PathArgument& argument) {
  if (argument.path == 0) return std::string();  // utimensat on a descriptor
  auto path = read_path(thread, argument.path);
  if (!path) return std::nullopt;
  if (path->empty() && !argument.may_be_empty) return std::string();
  if (!path->starts_with('/')) {
    auto base = directory_of(thread, argument.directory);
    if (!base) return std::string();
    *path = base->append("/").append(*path);
  }
  return plain_path(*path);
}

// nullopt: it cannot be read. A destination without a port: not one of the network.
std::optional<Destination> read_destination(pid_t thread, std::uint64_t address,
                                            std::uint64_t size) {
  sockaddr_storage storage{};
  size = std::min<std::uint64_t>(size, sizeof(storage));
  if (size < sizeof(sockaddr_in)) return Destination{};
  if (!read_memory(thread, address, &storage, size)) return std::nullopt;
  char text[INET6_ADDRSTRLEN] = {};
  if (storage.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &storage, sizeof(v4));
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
    return Destination{text, ntohs(v4.sin_port)};
  }
  if (storage.ss_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &storage, sizeof(v6));
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
      ::inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text, sizeof(text));
    else
      ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text));
    return Destination{text, ntohs(v6.sin6_port)};
  }
  return Destination{};
}

// Of sendmmsg the first message only: programs send many datagrams to one place.
std::optional<Destination> destination_of(const WaitingCall& waiting) {
  const auto* args = waiting.call.args;
  switch (waiting.call.nr) {
    case call::connect:
      return read_destination(waiting.thread, args[1], static_cast<std::uint32_t>(args[2]));
    case call::sendto:
      return read_destination(waiting.thread, args[4], static_cast<std::uint32_t>(args[5]));
    case call::sendmsg:
    case call::sendmmsg: {
      msghdr header{};
      if (!read_memory(waiting.thread, args[1], &header, sizeof(header))) return std::nullopt;
      if (header.msg_name == nullptr) return Destination{};
      return read_destination(waiting.thread, reinterpret_cast<std::uint64_t>(header.msg_name),
                              header.msg_namelen);
    }
    default:
      return Destination{};
  }
}

// Until the tool is executed its process shares the memory of the cell's init, which nobody without
// root may look into. A tool that takes the name hides nothing but that something was unreadable.
bool is_init(pid_t thread) {
  return read_file(("/proc/" + std::to_string(thread) + "/comm").c_str()) ==
         std::string(kInitName) + "\n";
}

}  // namespace

// ---- Notes

void Observation::note_file(std::string path, FileUse use) {
  if (path.empty() || (is_shown_anyway(path) && !use.executed && !lies_in(path, "/dev/shm")))
    return;
  auto known = files.find(path);
  if (known == files.end()) {
    if (files.size() >= kMostPaths || path_bytes_ + path.size() > kMostPathBytes) {
      ++left_out;
      return;
    }
    path_bytes_ += path.size();
    known = files.emplace(std::move(path), FileUse{}).first;
  }
  FileUse& whole = known->second;
  whole.read |= use.read;
  whole.written |= use.written;
  whole.executed |= use.executed;
  whole.listed |= use.listed;
}

void Observation::note_destination(Destination destination) {
  if (destination.port == 0 || destination.address.empty()) return;
  // The cell's own name server, which is ours.
  if (destination == Destination{kNameServerAddress, kNameServerPort}) return;
  in_addr address{};
  if (::inet_pton(AF_INET, destination.address.c_str(), &address) == 1) {
    const std::uint32_t index = ntohl(address.s_addr) - kFirstNamedAddress;
    if (index < addressed_.size()) {
      names[addressed_[index]].insert(destination.port);
      return;
    }
  }
  if (destinations.size() >= kMostDestinations && !destinations.contains(destination)) {
    ++left_out;
    return;
  }
  destinations.insert(std::move(destination));
}

std::optional<std::uint32_t> Observation::address_of(const std::string& name) {
  const auto known = std::ranges::find(addressed_, name);
  const auto index = static_cast<std::uint32_t>(known - addressed_.begin());
  if (known == addressed_.end()) {
    if (addressed_.size() >= kMostNames) {
      ++left_out;
      return std::nullopt;
    }
    addressed_.push_back(name);
    names.try_emplace(name);
  }
  return kFirstNamedAddress + index;
}

// ---- Calls

CallObserver::CallObserver(Observation& notes, ProfileOptions options) : notes_(notes) {
  for (const ProfileText& text : profile_texts())
    if (auto profile = make_profile(text.name, options))
      profiles_.emplace_back(text.name, std::move(*profile));
}

void CallObserver::look(const WaitingCall& waiting, const RefusalListener& listener) {
  for (const auto& [name, profile] : profiles_)
    if (!lets_through(profile.decide(waiting.call))) notes_.refusing_profiles.insert(name);

  bool readable = true;
  std::vector<std::pair<std::string, FileUse>> files;
  for (const PathArgument& argument : paths_of(waiting.call)) {
    if (auto path = resolve(waiting.thread, argument))
      files.emplace_back(std::move(*path), argument.use);
    else
      readable = false;
  }
  auto destination = destination_of(waiting);
  if (!destination) readable = false;

  // Whose memory it was is known only now: a thread that was killed meanwhile has left its number
  // to another one, which may not even be of the cell.
  if (!listener.still_waits(waiting.id)) return;
  if (!readable && !is_init(waiting.thread)) ++notes_.unreadable;
  for (auto& [path, use] : files)
    notes_.note_file(std::move(path), use);
  if (destination) notes_.note_destination(std::move(*destination));
}

bool read_memory(pid_t thread, std::uint64_t address, void* into, std::size_t size) {
  const iovec local{.iov_base = into, .iov_len = size};
  const iovec remote{.iov_base = reinterpret_cast<void*>(address), .iov_len = size};
  return ::process_vm_readv(thread, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

std::optional<std::string> read_path(pid_t thread, std::uint64_t address) {
  std::string path;
  std::array<char, kPage> part{};
  // Page by page: behind the end of the text there may be nothing.
  while (path.size() < PATH_MAX) {
    const std::uint64_t at = address + path.size();
    const std::size_t size = std::min<std::uint64_t>(kPage - at % kPage, PATH_MAX - path.size());
    if (!read_memory(thread, at, part.data(), size)) return std::nullopt;
    const auto end = std::find(part.begin(), part.begin() + size, '\0');
    path.append(part.begin(), end);
    if (end != part.begin() + size) return path;
  }
  return std::nullopt;
}

// ---- Paths

std::string plain_path(std::string_view path) {
  if (!path.starts_with('/')) return {};
  std::vector<std::string_view> names;
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view name = take(rest, '/');
    if (name.empty() || name == ".") continue;
    if (name != "..")
      names.push_back(name);
    else if (!names.empty())
      names.pop_back();
  }
  std::string plain;
  for (const std::string_view name : names)
    plain.append("/").append(name);
  return plain.empty() ? "/" : plain;
}

bool lies_in(std::string_view path, std::string_view place) {
  if (place == "/") return path.starts_with('/');
  return path == place || (path.starts_with(place) && path[place.size()] == '/');
}

bool is_shown_anyway(std::string_view path) {
  return std::ranges::any_of(kShownAnyway,
                             [&](std::string_view place) { return lies_in(path, place); });
}

}  // namespace sallyport
