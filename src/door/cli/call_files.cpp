#include "door/cli/call_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/fd.h"
#include "base/glob.h"
#include "base/text.h"
#include "door/cli/put_file.h"
#include "sallyport/units.h"

namespace sallyport {
namespace {

// A request is made in memory; what does not fit belongs into a directory that the policy grants.
constexpr std::size_t kMostInput = std::size_t{64} << 20;

Result<std::string> read_all(int fd, const std::string& what) {
  std::string text;
  char block[1 << 16];
  for (;;) {
    const ssize_t size = ::read(fd, block, sizeof(block));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fail(Reason::argument, what + " cannot be read: " + std::strerror(errno));
    if (size == 0) return text;
    if (text.size() + static_cast<std::size_t>(size) > kMostInput)
      return fail(Reason::argument, what + " is larger than " + to_text(ByteSize{kMostInput}),
                  "large files belong into a directory that the policy grants");
    text.append(block, static_cast<std::size_t>(size));
  }
}

}  // namespace

Result<CallFile> read_call_file(const InputFile& input) {
  const Fd file(::open(input.host.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0)
    return fail(Reason::argument,
                quoted(input.host) + " cannot be opened: " + std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return fail(Reason::argument, quoted(input.host) + " is not a regular file");
  auto content = read_all(file.get(), quoted(input.host));
  if (!content) return std::unexpected(content.error());
  return CallFile{input.name, std::move(*content)};
}

Result<std::string> read_standard_input() {
  return read_all(STDIN_FILENO, "standard input");
}

bool put_files(std::span<const std::string> globs, CallResult& result) {
  const Fd here(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  bool all = true;
  for (const auto& [name, content] : result.collected) {
    const auto matches = [&name](const std::string& text) {
      const auto glob = Glob::parse(text);
      return glob && glob->matches(name);
    };
    if (std::ranges::none_of(globs, matches)) continue;
    const auto put = put_new_file(here.get(), name, content);
    if (put) continue;
    result.findings.push_back({"not_exported", name, put.error().message});
    all = false;
  }
  return all;
}

}  // namespace sallyport
