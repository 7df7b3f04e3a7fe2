// What a command asked for while it ran: notes for the person who writes its policy.
//
// An observed cell is as tight as any other. Its filter tells the supervisor of some calls that it
// lets through anyway (kernel/seccomp_observe.h), and the notes are made from what the call's
// pointers point at. The tool can change that memory while it is read, so nothing is ever decided
// by it. Everything here is bounded: the tool chooses what is noted, and how often.
#pragma once

#include <linux/seccomp.h>
#include <sys/types.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kernel/seccomp_install.h"
#include "kernel/seccomp_profiles.h"

namespace sallyport {

// What was asked of one path; whether it was granted is not known.
struct FileUse {
  bool read = false;
  bool written = false;  // or made, removed, renamed, its mode or times changed
  bool executed = false;
  bool listed = false;  // opened as a directory
};

struct Destination {
  std::string address;  // "203.0.113.7", "2001:db8::1"
  std::uint16_t port = 0;

  friend auto operator<=>(const Destination&, const Destination&) = default;
};

struct Observation {
  static constexpr std::size_t kMostPaths = 10'000;
  static constexpr std::size_t kMostPathBytes = std::size_t{4} << 20;
  static constexpr std::size_t kMostNames = 1'000;
  static constexpr std::size_t kMostDestinations = 1'000;

  // By absolute path in the cell, "." and ".." taken out. Without what is only read of the system
  // and of the cell's own /proc, /dev and /sys.
  std::map<std::string, FileUse> files;
  std::map<std::string, std::set<std::uint16_t>> names;  // looked up, and the ports tried at them
  std::set<Destination> destinations;                    // addresses that no name stood for
  std::set<std::string> refusing_profiles;  // that would have refused a call which was let through
  std::uint64_t peak_scratch_bytes = 0;
  std::uint64_t left_out = 0;    // calls that were not noted, because there were too many
  std::uint64_t unreadable = 0;  // calls whose path or address could not be read

  // Each is left out, and counted, when there is no more room.
  void note_file(std::string path, FileUse use);
  void note_destination(Destination destination);

  // The address by which a name is known in the cell; nullopt when there is no more room. A name
  // keeps its address.
  std::optional<std::uint32_t> address_of(const std::string& name);

 private:
  std::size_t path_bytes_ = 0;
  std::vector<std::string> addressed_;
};

// Reads what observed calls ask for, and notes it.
class CallObserver {
 public:
  // `options` are those of the profile that is in force.
  CallObserver(Observation& notes, ProfileOptions options);

  // Reads the memory and the directories of the waiting thread.
  void look(const WaitingCall& waiting, const RefusalListener& listener);

 private:
  Observation& notes_;
  std::vector<std::pair<std::string, SeccompPolicy>> profiles_;
};

// The memory of a thread, as the kernel would read it for a call: a part that is not there is an
// error, and the text before it is not lost.
[[nodiscard]] bool read_memory(pid_t thread, std::uint64_t address, void* into, std::size_t size);
// A path; nullopt when it cannot be read or is longer than a path can be.
[[nodiscard]] std::optional<std::string> read_path(pid_t thread, std::uint64_t address);

// An absolute path without "." and "..", by the text alone; empty when `path` is not absolute.
[[nodiscard]] std::string plain_path(std::string_view path);

// Whether `path` is `place` or lies below it.
[[nodiscard]] bool lies_in(std::string_view path, std::string_view place);

// Whether every cell shows it: the system, and the cell's own /proc, /dev and /sys.
[[nodiscard]] bool is_shown_anyway(std::string_view path);

}  // namespace sallyport
