#include "cell/doctor_text.h"

#include <algorithm>
#include <sstream>

#include "base/parse.h"

namespace sallyport {
namespace {

// os-release values are written as for a shell.
std::string unquoted(std::string_view value) {
  const bool is_quoted =
      value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0];
  if (is_quoted) value = value.substr(1, value.size() - 2);
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && i + 1 < value.size()) ++i;
    text.push_back(value[i]);
  }
  return text;
}

// Directories that the kernel keeps empty for mounts; covering them hides nothing.
bool is_kept_empty(std::string_view point) {
  return point == "/proc/sys/fs/binfmt_misc" || point == "/proc/fs/nfsd";
}

}  // namespace

std::optional<KernelVersion> parse_kernel_version(std::string_view release) {
  const auto first = whole_number<unsigned>(take(release, '.'));
  const std::size_t digits = std::min(release.find_first_not_of("0123456789"), release.size());
  const auto second = whole_number<unsigned>(release.substr(0, digits));
  if (!first || !second) return std::nullopt;
  return KernelVersion{*first, *second};
}

Distribution parse_os_release(std::string_view text) {
  Distribution distribution;
  while (!text.empty()) {
    std::string_view value = take(text, '\n');
    const std::string_view key = take(value, '=');
    if (key == "ID") distribution.id = unquoted(value);
    if (key == "VERSION_ID") distribution.version = unquoted(value);
    if (key == "PRETTY_NAME") distribution.name = unquoted(value);
  }
  if (distribution.name.empty()) distribution.name = distribution.id;
  return distribution;
}

bool is_tested(const Distribution& distribution) {
  const auto is = [&](std::string_view id, std::string_view version) {
    return distribution.id == id && distribution.version == version;
  };
  return is("debian", "12") || is("ubuntu", "22.04") || is("ubuntu", "24.04");
}

std::vector<std::string> parse_lsm_list(std::string_view text) {
  std::vector<std::string> names;
  std::string_view line = take(text, '\n');
  while (!line.empty())
    if (const std::string_view name = take(line, ','); !name.empty()) names.emplace_back(name);
  return names;
}

std::vector<MountLine> parse_mountinfo(std::string_view text) {
  std::vector<MountLine> mounts;
  while (!text.empty()) {
    std::string_view fields = take(text, '\n');
    // Optional fields stand before a single '-'; a blank in a path is escaped, so nothing earlier
    // can look like it.
    const std::size_t separator = fields.find(" - ");
    if (separator == std::string_view::npos) continue;
    std::string_view behind = fields.substr(separator + 3);
    const auto id = whole_number<std::uint64_t>(take(fields, ' '));
    const auto parent = whole_number<std::uint64_t>(take(fields, ' '));
    take(fields, ' ');  // the device
    const std::string_view root = take(fields, ' ');
    const std::string_view point = take(fields, ' ');
    std::string_view options = take(fields, ' ');
    if (!id || !parent || !point.starts_with('/')) continue;
    mounts.push_back({.id = *id,
                      .parent = *parent,
                      .root = std::string(root),
                      .point = std::string(point),
                      .type = std::string(take(behind, ' ')),
                      .read_only = take(options, ',') == "ro"});
  }
  return mounts;
}

ProcView see_proc(const std::vector<MountLine>& mounts) {
  ProcView view;
  for (const MountLine& proc : mounts) {
    if (proc.type != "proc" || proc.root != "/") continue;
    bool whole = true;
    for (const MountLine& mount : mounts) {
      if (mount.parent != proc.id || mount.id == proc.id || is_kept_empty(mount.point)) continue;
      whole = false;
      if (proc.point == "/proc") view.covered.push_back(mount.point);
    }
    view.whole |= whole;
  }
  return view;
}

bool cgroups_are_read_only(const std::vector<MountLine>& mounts) {
  const auto is_cgroup = [](const MountLine& mount) {
    return mount.type == "cgroup" || mount.type == "cgroup2";
  };
  return std::ranges::any_of(mounts, is_cgroup) &&
         std::ranges::all_of(
             mounts, [&](const MountLine& mount) { return !is_cgroup(mount) || mount.read_only; });
}

std::optional<std::string> enforced_profile(std::string_view label) {
  label = take(label, '\n');
  // "NAME (MODE)"; a bare "unconfined" has no mode.
  const std::size_t mode = label.rfind(" (");
  if (mode == std::string_view::npos) return std::nullopt;
  const std::string_view word = label.substr(mode);
  if (word == " (unconfined)" || word == " (complain)") return std::nullopt;
  return std::string(label.substr(0, mode));
}

bool lists_filesystem(std::string_view filesystems, std::string_view type) {
  while (!filesystems.empty()) {
    std::string_view line = take(filesystems, '\n');
    take(line, '\t');  // "nodev", or nothing
    if (line == type) return true;
  }
  return false;
}

std::uint64_t swap_kib(std::string_view swaps) {
  std::istringstream lines{std::string(swaps)};
  std::string line;
  std::getline(lines, line);  // the headings
  std::uint64_t sum = 0;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string file, type;
    std::uint64_t size = 0;
    if (fields >> file >> type >> size) sum += size;
  }
  return sum;
}

std::uint64_t free_subordinate_id(std::string_view subgid) {
  std::uint64_t next = 100'000;  // where login.defs begins
  while (!subgid.empty()) {
    std::string_view line = take(subgid, '\n');
    take(line, ':');
    const auto first = whole_number<std::uint64_t>(take(line, ':'));
    const auto count = whole_number<std::uint64_t>(line);
    if (first && count) next = std::max(next, *first + *count);
  }
  return next;
}

}  // namespace sallyport
