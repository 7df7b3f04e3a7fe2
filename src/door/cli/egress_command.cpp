#include "door/cli/egress_command.h"

#include <unistd.h>

#include <array>
#include <string_view>

#include "credential/environment.h"
#include "door/cli/audit_command.h"
#include "door/cli/process.h"
#include "egress/child.h"
#include "egress/process.h"
#include "reader/reader.h"

namespace sallyport {

int egress_command(std::span<const char* const> words) {
  const std::string_view verb = words.empty() ? "" : words[0];
  if (verb == "log") return egress_log_command(words.subspan(1));
  if (verb == "--help" || verb == "help")
    return egress_log_command(std::array<const char*, 1>{"--help"});
  print_error(
      {Reason::argument, "egress takes one verb: log", "`sallyport egress log --help` says more"});
  return kWrongUsage;
}

namespace {

Result<Fd> start_own_reader() {
  const Fd file(kReaderSettings);
  std::string bytes(kLargestSettings, '\0');
  const ssize_t size = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  if (size < 0) return fail(Reason::unavailable, SysError{"pread", "credentials", errno});
  bytes.resize(static_cast<std::size_t>(size));
  auto settings = read_wire<ReaderSettings>(bytes, kLargestSettings, "a list of credentials");
  if (!settings) return std::unexpected(std::move(settings.error()));
  auto started = start_reader(*settings);
  forget_environment(*settings);  // this process is told what it needs
  return started;
}

}  // namespace

int egress_process_command(std::span<const char* const> words) {
  const bool with_credentials = words.size() == 1 && std::string_view(words[0]) == kWithCredentials;
  const auto first_closed =
      static_cast<unsigned>(with_credentials ? kReaderSettings : kEgressDoor) + 1;
  // What the caller's own parent left open is no business of a process that speaks with strangers.
  if (::close_range(first_closed, ~0U, 0) != 0) {
    print_error({Reason::cannot_enforce, describe(SysError{"close_range", "", errno}), {}});
    return kCouldNotStart;
  }
  Fd reader;
  if (with_credentials) {
    auto started = start_own_reader();
    if (!started) {
      print_error(started.error());
      return kCouldNotStart;
    }
    reader = std::move(*started);
  }
  if (auto served = serve_egress(Fd(kEgressDoor), std::move(reader)); !served) {
    print_error(served.error());
    return kCouldNotStart;
  }
  return 0;
}

}  // namespace sallyport
