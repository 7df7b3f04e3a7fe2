#include "cell/launcher.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/file.h"
#include "base/parse.h"

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

struct IdRange {
  std::uint64_t inside, outside, count;
};

// The lines of /proc/self/uid_map.
std::vector<IdRange> own_uid_map() {
  std::vector<IdRange> ranges;
  const std::string text = read_file("/proc/self/uid_map").value_or("");
  for (std::string_view rest = text; !rest.empty();) {
    std::uint64_t numbers[3] = {};
    std::string_view line = take(rest, '\n');
    for (std::uint64_t& number : numbers) {
      line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
      number = whole_number<std::uint64_t>(take(line, ' ')).value_or(0);
    }
    ranges.push_back({numbers[0], numbers[1], numbers[2]});
  }
  return ranges;
}

// Whether the user namespace we live in has ids for the whole range.
bool is_mapped(const std::vector<IdRange>& map, const UidRange& range) {
  return std::ranges::any_of(map, [&](const IdRange& part) {
    return range.first >= part.inside &&
           range.first + std::uint64_t{range.count} <= part.inside + part.count;
  });
}

bool is_first_user_namespace(const std::vector<IdRange>& map) {
  return map.size() == 1 && map[0].inside == 0 && map[0].outside == 0 && map[0].count == 4294967295;
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
  while (!passwd.empty()) {
    std::string_view line = take(passwd, '\n');
    const std::string_view name = take(line, ':');
    take(line, ':');  // the password
    if (whole_number<uid_t>(take(line, ':')) == uid) return std::string(name);
  }
  return {};
}

std::optional<gid_t> subordinate_gid(std::string_view subgid, std::string_view user, uid_t uid) {
  while (!subgid.empty()) {
    std::string_view line = take(subgid, '\n');
    const std::string_view owner = take(line, ':');
    if ((owner != user || user.empty()) && whole_number<uid_t>(owner) != uid) continue;
    const auto first = whole_number<gid_t>(take(line, ':'));
    const auto count = whole_number<gid_t>(line);
    if (first && *first != 0 && count && *count != 0) return first;
  }
  return std::nullopt;
}

Result<gid_t> own_subordinate_gid(uid_t uid) {
  const auto gid = subordinate_gid(read_file("/etc/subgid").value_or(""),
                                   user_name(read_file("/etc/passwd").value_or(""), uid), uid);
  if (!gid) return fail(Reason::cannot_enforce, "this user has no line in /etc/subgid");
  return *gid;
}

Result<Launcher> current_launcher(const UidRange& range) {
  Launcher launcher;
  launcher.identity = {.uid = ::geteuid(), .gid = ::getegid()};
  const std::vector<IdRange> map = own_uid_map();
  if (launcher.identity.uid == 0 && (is_first_user_namespace(map) || is_mapped(map, range))) {
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

Result<Launcher> root_launcher() {
  return Launcher{.privileged = true, .identity = {.uid = ::geteuid(), .gid = ::getegid()}};
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
