#include "cell/launcher.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <vector>

namespace sallyport {
namespace {

constexpr const char* kNewgidmap = "/usr/bin/newgidmap";

constexpr struct {
  int bit;
  const char* name;
} kNeeded[] = {
    {CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, {CAP_SETUID, "CAP_SETUID"},
    {CAP_SETGID, "CAP_SETGID"},       {CAP_SETPCAP, "CAP_SETPCAP"},
    {CAP_CHOWN, "CAP_CHOWN"},         {CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
    {CAP_NET_ADMIN, "CAP_NET_ADMIN"},
};

std::string read_text(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Whether the user namespace we live in has ids for the whole range.
bool range_is_mapped(const UidRange& range) {
  std::istringstream map(read_text("/proc/self/uid_map"));
  for (std::uint64_t inside = 0, outside = 0, count = 0; map >> inside >> outside >> count;)
    if (range.first >= inside && range.first + std::uint64_t{range.count} <= inside + count)
      return true;
  return false;
}

bool in_first_user_namespace() {
  std::istringstream map(read_text("/proc/self/uid_map"));
  std::uint64_t inside = 1, outside = 1, count = 0;
  map >> inside >> outside >> count;
  return inside == 0 && outside == 0 && count == 4294967295;
}

std::string missing_capabilities() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, sets) != 0) return "capget";
  std::string missing;
  for (const auto& needed : kNeeded)
    if ((sets[needed.bit / 32].effective & (1U << (needed.bit % 32))) == 0)
      missing.append(missing.empty() ? "" : ", ").append(needed.name);
  return missing;
}

bool has_other_groups(gid_t own) {
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> groups(count > 0 ? static_cast<std::size_t>(count) : 0);
  if (count > 0 && ::getgroups(count, groups.data()) != count) return true;
  for (gid_t group : groups)
    if (group != own) return true;
  return false;
}

}  // namespace

// By hand and from the file: the program is linked statically, and name services are loaded
// libraries.
std::string user_name(std::string_view passwd, uid_t uid) {
  std::istringstream lines{std::string(passwd)};
  const std::string number = std::to_string(uid);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name, password, id;
    if (std::getline(fields, name, ':') && std::getline(fields, password, ':') &&
        std::getline(fields, id, ':') && id == number)
      return name;
  }
  return {};
}

std::optional<gid_t> subordinate_gid(std::string_view subgid, std::string_view user, uid_t uid) {
  std::istringstream lines{std::string(subgid)};
  const std::string number = std::to_string(uid);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    if (first == std::string::npos) continue;
    const std::string_view name = std::string_view(line).substr(0, first);
    if (name != user && name != number) continue;
    gid_t start = 0;
    const char* begin = line.data() + first + 1;
    const char* end = line.data() + line.size();
    const auto parsed = std::from_chars(begin, end, start);
    if (parsed.ec == std::errc{} && parsed.ptr != end && *parsed.ptr == ':' && start != 0)
      return start;
  }
  return std::nullopt;
}

Result<gid_t> own_subordinate_gid(uid_t uid) {
  const auto gid =
      subordinate_gid(read_text("/etc/subgid"), user_name(read_text("/etc/passwd"), uid), uid);
  if (!gid) return fail(Reason::cannot_enforce, "this user has no line in /etc/subgid");
  return *gid;
}

Result<Launcher> current_launcher(const UidRange& range) {
  Launcher launcher;
  launcher.identity = {.uid = ::geteuid(), .gid = ::getegid()};
  if (launcher.identity.uid == 0 && (in_first_user_namespace() || range_is_mapped(range))) {
    if (const std::string missing = missing_capabilities(); !missing.empty())
      return fail(Reason::cannot_enforce, "this process is root without " + missing,
                  "run Sallyport as an ordinary user, or give the container these capabilities");
    launcher.privileged = true;
    return launcher;
  }
  launcher.has_other_groups = has_other_groups(launcher.identity.gid);
  if (launcher.has_other_groups)
    launcher.can_map_groups =
        ::access(kNewgidmap, X_OK) == 0 && own_subordinate_gid(launcher.identity.uid).has_value();
  return launcher;
}

Result<void> map_groups(pid_t pid, gid_t own, gid_t subordinate) {
  const std::string arguments[] = {kNewgidmap,
                                   std::to_string(pid),
                                   std::to_string(kInside.gid),
                                   std::to_string(own),
                                   "1",
                                   std::to_string(kInside.gid + 1),
                                   std::to_string(subordinate),
                                   "1"};
  std::vector<char*> argv;
  for (const std::string& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char* const empty[] = {nullptr};
  pid_t child = -1;
  if (const int err = ::posix_spawn(&child, kNewgidmap, nullptr, nullptr, argv.data(), empty);
      err != 0)
    return fail(Reason::cannot_enforce, SysError{"posix_spawn", kNewgidmap, err});
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0)
    return fail(Reason::cannot_enforce, std::string(kNewgidmap) + " did not map the groups");
  return {};
}

}  // namespace sallyport
