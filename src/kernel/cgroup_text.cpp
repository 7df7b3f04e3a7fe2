#include "kernel/cgroup_text.h"

#include <algorithm>
#include <cmath>

#include "base/parse.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::string_view kCellPrefix = "sallyport-";
constexpr std::string_view kSelfPrefix = "sallyport-self-";

// mountinfo writes blanks, newlines, '\\' and '#' as three octal digits.
std::string unescape(std::string_view text) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] <= '3' && is_octal(text[i + 1]) &&
        is_octal(text[i + 2]) && is_octal(text[i + 3])) {
      plain.push_back(static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                        (text[i + 3] - '0')));
      i += 3;
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty())
    if (const std::string_view part = take(text, separator); !part.empty())
      parts.emplace_back(part);
  return parts;
}

std::string_view without_newline(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

// Whether `path` is `directory` or lies below it, decided on whole components.
bool is_within(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

std::string_view parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return "/";
  return path.substr(0, slash);
}

}  // namespace

std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo) {
  std::vector<CgroupMount> mounts;
  while (!mountinfo.empty()) {
    std::string_view line = take(mountinfo, '\n');
    // Between the mount options and the type stands any number of optional fields, closed by a
    // single '-'. No earlier field can contain " - ": blanks in paths are escaped.
    const std::size_t separator = line.find(" - ");
    if (separator == std::string_view::npos) continue;
    std::string_view after = line.substr(separator + 3);
    const std::string_view type = take(after, ' ');
    if (type != "cgroup" && type != "cgroup2") continue;
    take(after, ' ');  // the source, which is any text
    std::string_view before = line.substr(0, separator);
    for (int i = 0; i < 3; ++i)
      take(before, ' ');
    CgroupMount mount{.version = type == "cgroup2" ? CgroupVersion::v2 : CgroupVersion::v1,
                      .root = unescape(take(before, ' ')),
                      .directory = unescape(take(before, ' ')),
                      .controllers = {}};
    if (!mount.root.starts_with('/') || !mount.directory.starts_with('/')) continue;
    if (mount.version == CgroupVersion::v1) mount.controllers = split(after, ',');
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::vector<CgroupMembership> parse_cgroup_memberships(std::string_view text) {
  std::vector<CgroupMembership> memberships;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    const auto hierarchy = whole_number<int>(take(line, ':'));
    const std::string_view controllers = take(line, ':');
    if (!hierarchy || !line.starts_with('/')) continue;
    memberships.push_back({*hierarchy, split(controllers, ','), std::string(line)});
  }
  return memberships;
}

CgroupVersion choose_cgroup_version(const std::vector<CgroupMount>& mounts,
                                    const std::vector<CgroupMembership>& memberships,
                                    bool parent_named) {
  const bool memory_on_v1 = std::ranges::any_of(
      memberships, [](const auto& m) { return contains(m.controllers, "memory"); });
  const bool v2_mounted =
      std::ranges::any_of(mounts, [](const auto& m) { return m.version == CgroupVersion::v2; });
  if (parent_named || (v2_mounted && !memory_on_v1)) return CgroupVersion::v2;
  return memory_on_v1 ? CgroupVersion::v1 : CgroupVersion::none;
}

std::optional<std::string> directory_through(const CgroupMount& mount, std::string_view cgroup) {
  if (!is_within(cgroup, mount.root)) return std::nullopt;
  const std::string_view below = mount.root == "/" ? cgroup : cgroup.substr(mount.root.size());
  // "/.." stands for a group outside of our cgroup namespace, whose name we are not told.
  if (contains(split(below, '/'), "..")) return std::nullopt;
  if (below.empty() || below == "/") return mount.directory;
  return (mount.directory == "/" ? "" : mount.directory) + std::string(below);
}

std::string group_name(const GroupOwner& owner, std::string_view id) {
  std::string name(owner.self ? kSelfPrefix : kCellPrefix);
  name.append(std::to_string(owner.pid)).append("-").append(std::to_string(owner.start_time));
  if (!owner.self) name.append("-").append(id);
  return name;
}

std::optional<GroupOwner> parse_group_name(std::string_view name) {
  const bool self = name.starts_with(kSelfPrefix);
  if (!self && !name.starts_with(kCellPrefix)) return std::nullopt;
  name.remove_prefix(self ? kSelfPrefix.size() : kCellPrefix.size());
  const auto pid = whole_number<pid_t>(take(name, '-'));
  const auto start_time = whole_number<std::uint64_t>(take(name, '-'));
  if (!pid || *pid <= 0 || !start_time || self != name.empty()) return std::nullopt;
  return GroupOwner{*pid, *start_time, self};
}

bool is_group_id(std::string_view id) {
  constexpr std::size_t kLongest = 64;
  return !id.empty() && id.size() <= kLongest && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  // The program chose its own name, which stands in parentheses and may contain any of ") \n".
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  text = without_newline(text.substr(name_end + 1));
  take(text, ' ');
  const std::string_view state = take(text, ' ');
  constexpr int kFieldsBetween = 18;  // the state is field 3, the start time field 22
  for (int i = 0; i < kFieldsBetween; ++i)
    take(text, ' ');
  const auto start_time = whole_number<std::uint64_t>(take(text, ' '));
  if (state.size() != 1 || !start_time) return std::nullopt;
  return ProcessStat{state.front(), *start_time};
}

Result<V2Parent> choose_v2_parent(const V2Situation& situation) {
  if (situation.named) {
    const std::string& named = *situation.named;
    if (!is_within(named, situation.mount) || irregular_component(named))
      return fail(Reason::cannot_enforce,
                  "SALLYPORT_CGROUP_PARENT is " + quoted(named) +
                      ", which is not a plain path below the cgroup v2 tree at " + situation.mount,
                  "set it to a directory below " + situation.mount + ", or unset it");
    return V2Parent{V2Parent::Kind::named, named};
  }
  if (situation.owns_tree) return V2Parent{V2Parent::Kind::top, situation.mount + "/sallyport"};
  if (!situation.own)
    return fail(Reason::cannot_enforce,
                "this process's own cgroup is outside of the tree mounted at " + situation.mount,
                "name a group to use in SALLYPORT_CGROUP_PARENT");
  const std::string& own = *situation.own;
  const auto owner = parse_group_name(std::string_view(own).substr(own.rfind('/') + 1));
  if (owner && owner->self && own != situation.mount)
    return V2Parent{V2Parent::Kind::beside, std::string(parent_of(own))};
  return V2Parent{V2Parent::Kind::own, own};
}

std::string common_directory(std::string_view a, std::string_view b) {
  while (a != "/" && !is_within(b, a))
    a = parent_of(a);
  return std::string(a);
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  return whole_number<std::uint64_t>(without_newline(text));
}

std::optional<std::uint64_t> count_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    if (take(line, ' ') == key) return whole_number<std::uint64_t>(line);
  }
  return std::nullopt;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool has_word(std::string_view line, std::string_view word) {
  line = without_newline(line);
  while (!line.empty())
    if (take(line, ' ') == word) return true;
  return false;
}

std::vector<pid_t> parse_pids(std::string_view text) {
  std::vector<pid_t> pids;
  while (!text.empty())
    if (const auto pid = whole_number<pid_t>(take(text, '\n')); pid && *pid >= 0)
      pids.push_back(*pid);
  return pids;
}

IoBytes parse_blkio_bytes(std::string_view text) {
  IoBytes bytes;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    take(line, ' ');  // the device; the closing "Total" line has none and drops out below
    const std::string_view direction = take(line, ' ');
    const std::uint64_t count = whole_number<std::uint64_t>(line).value_or(0);
    if (direction == "Read") bytes.read += count;
    if (direction == "Write") bytes.write += count;
  }
  return bytes;
}

CpuNanoseconds parse_cpu_usage_all(std::string_view text) {
  CpuNanoseconds sum;
  take(text, '\n');
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    take(line, ' ');
    sum.user += whole_number<std::uint64_t>(take(line, ' ')).value_or(0);
    sum.system += whole_number<std::uint64_t>(line).value_or(0);
  }
  return sum;
}

IoBytes parse_io_stat(std::string_view text) {
  IoBytes bytes;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    while (!line.empty()) {
      std::string_view value = take(line, ' ');
      const std::string_view key = take(value, '=');
      const std::uint64_t count = whole_number<std::uint64_t>(value).value_or(0);
      if (key == "rbytes") bytes.read += count;
      if (key == "wbytes") bytes.write += count;
    }
  }
  return bytes;
}

bool has_swap(std::string_view swaps) {
  take(swaps, '\n');
  return !swaps.empty();
}

std::optional<std::uint64_t> cpu_quota_us(double cpus) {
  constexpr double kFewest = 0.01;
  constexpr double kMost = 1'000'000;
  if (std::isnan(cpus) || cpus < kFewest || cpus > kMost) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(cpus * static_cast<double>(kCpuPeriodUs)));
}

}  // namespace sallyport
