// Any text is a path below the directory, or is refused; what is opened lies below it.
#include <fcntl.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/text.h"
#include "check.h"
#include "input/path.h"

using namespace sallyport;
namespace fs = std::filesystem;

namespace {

// Short names, so that chance finds them: files a and d/a, a link l to the outside, a link d/u to
// the directory above, a FIFO f.
struct Tree {
  Tree() {
    std::string pattern = fs::temp_directory_path() / "sallyport-fuzz-XXXXXX";
    top = mkdtemp(pattern.data());
    fs::create_directories(top / "b/d");
    fs::create_directories(top / "b-outside");
    std::ofstream(top / "b-outside/a") << "outside";
    std::ofstream(top / "b/a") << "inside";
    std::ofstream(top / "b/d/a") << "inside";
    fs::create_symlink(top / "b-outside", top / "b/l");
    fs::create_symlink("..", top / "b/d/u");
    FUZZ_CHECK(mkfifo((top / "b/f").c_str(), 0600) == 0);
  }
  ~Tree() { fs::remove_all(top); }
  fs::path top;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Tree tree;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  // Half of the texts are put behind the directory's own name, or what looks like it.
  const std::string below = (tree.top / "b").string();
  const std::string text = (data[0] & 1 ? below : "") + std::string(bytes);
  const auto access = static_cast<PathAccess>(data[0] >> 1 & 3);
  const PathRules rules{.below = below,
                        .must_exist = (data[0] & 8) != 0,
                        .allow_hidden = (data[0] & 16) != 0,
                        .read_hard_links = (data[0] & 32) != 0};

  const auto relative = parse_relative_path(text, rules);
  const auto path = open_confined(rules, text, access);
  FUZZ_CHECK(relative || !path);
  if (relative) {
    FUZZ_CHECK(!relative->starts_with('/'));
    FUZZ_CHECK(*relative == "." || !irregular_component(*relative));
    FUZZ_CHECK(*parse_relative_path(*relative, rules) == *relative);
  }
  if (!path) {
    FUZZ_CHECK(!path.error().message.empty());
    FUZZ_CHECK(escape_for_terminal(path.error().message) == path.error().message);
    return 0;
  }
  FUZZ_CHECK(path->relative == *relative);
  if (!path->fd) {
    FUZZ_CHECK(!rules.must_exist && !fs::exists(fs::path(below) / *relative));
    return 0;
  }
  // Where the kernel says it is.
  const std::string real = fs::read_symlink("/proc/self/fd/" + std::to_string(path->fd.get()));
  FUZZ_CHECK(real == (*relative == "." ? below : below + "/" + *relative));
  struct stat status{};
  FUZZ_CHECK(fstat(path->fd.get(), &status) == 0);
  FUZZ_CHECK(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
  return 0;
}
