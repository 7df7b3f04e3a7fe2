// A program beside the file tools that swaps files and directories for links to a secret, as fast
// as it can, while they work.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>

#include "base/fd.h"
#include "tool/file_fixture.h"

namespace sallyport {
namespace {

constexpr int kIterations = 100'000;

using Pair = std::pair<std::string, std::string>;

// Exchanges the names of each pair until it is told to stop: at every moment either stands for one
// of the two.
class Swapper {
 public:
  explicit Swapper(std::vector<Pair> pairs)
      : pairs_(std::move(pairs)), thread_([this] {
          while (!stop_.load(std::memory_order_relaxed)) {
            for (const auto& [one, other] : pairs_)
              ::syscall(SYS_renameat2, AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(),
                        RENAME_EXCHANGE);
            ++rounds_;
          }
        }) {}
  ~Swapper() {
    stop_ = true;
    thread_.join();
  }
  Swapper(const Swapper&) = delete;
  Swapper& operator=(const Swapper&) = delete;
  [[nodiscard]] int rounds() const { return rounds_; }

 private:
  const std::vector<Pair> pairs_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> rounds_ = 0;
  std::thread thread_;
};

// data/d is a directory with a plain file; data/d2 a link to the directory of the secret. The same
// with data/f, a file, and data/f2, a link to the secret itself.
class FileRace : public FilePlaceTest {
 protected:
  // In memory: a disk would make a race of seconds one of minutes.
  FileRace() : FilePlaceTest("/dev/shm") {
    tree.write("outside/x", "MARKER");
    tree.write("data/d/x", "plain");
    tree.link("../outside", "data/d2");
    tree.write("data/f", "plain");
    tree.link("../outside/x", "data/f2");
  }

  // What a tool that checks first and opens then would do.
  std::string naive_read(const std::string& path) {
    struct stat status{};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
    char buffer[64];
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const ssize_t size = file ? ::read(file.get(), buffer, sizeof(buffer)) : 0;
    return {buffer, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

  struct Seen {
    int good = 0, refused = 0, leaked = 0;
  };
  void note(Seen& seen, const Result<json::object>& answer) {
    if (!answer) {
      ++seen.refused;
      if (answer.error().message.contains("MARKER") || answer.error().hint.contains("MARKER"))
        ++seen.leaked;
      return;
    }
    ++seen.good;
    if (canonical_json(*answer).contains("MARKER")) ++seen.leaked;
  }
};

TEST_F(FileRace, ShowsTheSecretToAReaderWhoOpensByPath) {
  const Swapper swapper({{tree / "data/d", tree / "data/d2"}, {tree / "data/f", tree / "data/f2"}});
  bool leaked = false;
  for (int i = 0; i < 20 * kIterations && !leaked; ++i)
    leaked = naive_read(tree / "data/d/x") == "MARKER" || naive_read(tree / "data/f") == "MARKER";
  EXPECT_TRUE(leaked) << "the race below would prove nothing";
}

TEST_F(FileRace, NeverLeadsTheFileToolsAstrayInAHundredThousandRounds) {
  const Swapper swapper({{tree / "data/d", tree / "data/d2"}, {tree / "data/f", tree / "data/f2"}});
  Seen reads, lists, searches, edits, writes;
  for (int i = 0; i < kIterations; ++i) {
    const char* const path = i % 2 == 0 ? "d/x" : "f";
    switch (i % 10) {
      case 0:
      case 1:
        note(lists, list(i % 4 == 0 ? "d" : ""));
        break;
      case 2:
      case 3:
        note(searches, search(i % 4 == 2 ? "d" : "", "."));
        break;
      case 4:
      case 5:
        // Both ways, so that there is always something to do.
        note(edits, edit(path, i % 3 == 0 ? "l" : "L", i % 3 == 0 ? "L" : "l"));
        break;
      case 6:
      case 7:
        note(writes, write(path, "plain"));
        break;
      default:
        note(reads, read(path));
    }
  }
  for (const Seen* seen : {&reads, &lists, &searches, &edits, &writes})
    EXPECT_EQ(seen->leaked, 0);
  EXPECT_EQ(tree.read("outside/x"), "MARKER");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(tree / "outside"), {}), 1)
      << "nothing was made outside";
  // The race was one: both faces of the names were met.
  EXPECT_GT(reads.good, 0);
  EXPECT_GT(reads.refused, 0);
  EXPECT_GT(searches.good, 0);
  EXPECT_GT(swapper.rounds(), 1000);
}

// A link that the race puts in the place of a file is replaced by a write, and never followed.
TEST_F(FileRace, NeverLetsAWriteReachTheSecret) {
  const Swapper swapper({{tree / "data/f", tree / "data/f2"}});
  for (int i = 0; i < 2000; ++i) {
    (void)write("f", "OWNED");
    order.append = i % 2 == 0;
  }
  EXPECT_EQ(tree.read("outside/x"), "MARKER");
}

}  // namespace
}  // namespace sallyport
