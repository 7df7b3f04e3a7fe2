#include "cell/process_watch.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <string>

#include "base/file.h"

namespace sallyport {
namespace {

// A process may end between two looks; then it says nothing.
std::string read_of(int proc, const std::string& pid, const char* file) {
  return read_at(proc, (pid + "/" + file).c_str()).value_or("");
}

std::uint64_t number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + key.size());
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::uint64_t memory_of(int proc, const std::string& pid) {
  if (const std::string rollup = read_of(proc, pid, "smaps_rollup"); !rollup.empty())
    return number_after(rollup, "\nPss:") * 1024;
  const std::string status = read_of(proc, pid, "status");
  return number_after(status, "\nVmRSS:") * 1024;
}

}  // namespace

StatLine parse_stat_line(std::string_view line) {
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string_view::npos) return {};
  line.remove_prefix(name_end + 1);
  // Fields by their numbers in proc(5): the first after the name is 3.
  constexpr int kUserTime = 14, kSystemTime = 15, kChildUserTime = 16, kChildSystemTime = 17,
                kThreads = 20;
  const std::uint64_t us_per_tick = 1'000'000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  StatLine result;
  for (int field = 3; field <= kThreads; ++field) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const std::string_view word = line.substr(0, line.find(' '));
    std::uint64_t value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    if (field == kUserTime || field == kChildUserTime) result.cpu_user_us += value * us_per_tick;
    if (field == kSystemTime || field == kChildSystemTime)
      result.cpu_system_us += value * us_per_tick;
    if (field == kThreads) result.threads = value;
    line.remove_prefix(word.size());
  }
  return result;
}

WatchedUsage ProcessWatch::look(std::chrono::steady_clock::time_point deadline) const {
  WatchedUsage usage;
  Fd listing(::openat(proc_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!listing) return usage;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(listing.get()), ::closedir);
  if (!entries) return usage;
  static_cast<void>(listing.release());
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string pid = entry->d_name;
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    if (std::chrono::steady_clock::now() >= deadline) break;
    const StatLine line = parse_stat_line(read_of(proc_.get(), pid, "stat"));
    usage.cpu_user_us += line.cpu_user_us;
    usage.cpu_system_us += line.cpu_system_us;
    if (pid == "1") continue;
    usage.processes += line.threads;
    usage.memory_bytes += memory_of(proc_.get(), pid);
  }
  return usage;
}

}  // namespace sallyport
