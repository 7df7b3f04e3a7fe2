// copy_back against the kernel: whatever ordinary operations make of a real overlay, copying its
// upper directory back must make the host directory equal to what the tool saw.
#include <sys/xattr.h>

#include <random>

#include "cell/copy_back.h"
#include "cell/export_fixture.h"

namespace sallyport {
namespace {

struct Kind {
  const char* name;
  OverlayMarks marks;
  const char* option;
  Owner owner;  // of the tree; also who the tool is, so that permissions bind it
};

class CopyBackOverlay : public testing::TestWithParam<Kind> {};

// A tool that works on a tree with names from a small set, so that its operations often meet.
class RandomTool {
 public:
  RandomTool(fs::path top, unsigned seed) : top_(std::move(top)), random_(seed) {}

  void step() {
    const fs::path path = any_path();
    std::error_code ignored;  // many steps make no sense, as those of a real tool
    switch (pick(11)) {
      case 0:
      case 1:
        return write(path, std::ios::trunc);
      case 2:
        return write(path, std::ios::app);
      case 3:
        return void(fs::remove_all(path, ignored));
      case 4:
        return void(fs::create_directories(path, ignored));
      case 5:
        return move(path, any_path());
      case 6:
        fs::remove_all(path, ignored);
        return write(path, std::ios::trunc);
      case 7:
        fs::remove_all(path, ignored);
        return void(fs::create_directories(path / name(), ignored));
      case 8:
        return fs::create_symlink(name(), path, ignored);
      case 9:
        return fs::create_hard_link(any_path(), path, ignored);
      default:
        const auto type = fs::symlink_status(path, ignored).type();
        if (type == fs::file_type::directory) (void)::chmod(path.c_str(), 0700 | pick(0100));
        if (type == fs::file_type::regular) (void)::chmod(path.c_str(), pick(01000));
    }
  }

 private:
  unsigned pick(unsigned count) { return random_() % count; }
  std::string name() { return std::string(1, static_cast<char>('a' + pick(4))); }
  fs::path any_path() {
    fs::path path = top_;
    for (unsigned depth = 1 + pick(4); depth > 0; --depth)
      path /= name();
    return path;
  }
  void write(const fs::path& path, std::ios::openmode mode) {
    std::ofstream(path, mode) << "text " << random_();
  }
  // As mv does it: a directory of the lower layer cannot be renamed, and is copied.
  void move(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::rename(from, to, error);
    if (error != std::errc::cross_device_link || to.string().starts_with(from.string() + "/"))
      return;
    constexpr auto kAll = fs::copy_options::recursive | fs::copy_options::copy_symlinks;
    fs::remove_all(to, error);
    fs::copy(from, to, kAll, error);
    if (!error) fs::remove_all(from, error);
  }

  const fs::path top_;
  std::mt19937 random_;
};

TEST_P(CopyBackOverlay, MakesTheHostEqualToWhatTheToolSaw) {
  TempTree tree;
  in_private_mounts([&] {
    mount_tmpfs(tree.path());
    const Owner owner = GetParam().owner;
    const auto run_tool = [&](RandomTool tool, unsigned steps) {
      const auto rights = OwnerRights::take(owner);
      const auto acting = rights->act();
      for (unsigned step = 0; step < steps; ++step)
        tool.step();
    };
    std::uint64_t deleted = 0, opaque = 0;
    for (unsigned seed = 0; seed < 300; ++seed) {
      const fs::path round = tree / std::to_string(seed);
      for (const char* part : {"host", "upper", "work", "merged"}) {
        fs::create_directories(round / part);
        ASSERT_EQ(::chown((round / part).c_str(), owner.uid, owner.gid), 0);
      }
      run_tool(RandomTool(round / "host", seed), 40);

      const std::string options =
          "lowerdir=" + (round / "host").string() + ",upperdir=" + (round / "upper").string() +
          ",workdir=" + (round / "work").string() +
          ",redirect_dir=nofollow,metacopy=off,index=off" + GetParam().option;
      ASSERT_EQ(::mount("overlay", (round / "merged").c_str(), "overlay", 0, options.c_str()), 0)
          << std::strerror(errno) << ": " << options;
      run_tool(RandomTool(round / "merged", seed + 1'000'000), 1 + seed % 40);
      const auto seen = snapshot(round / "merged");
      ASSERT_EQ(::umount((round / "merged").c_str()), 0) << std::strerror(errno);

      for (const auto& entry : fs::recursive_directory_iterator(round / "upper"))
        for (const char* mark : {"trusted.overlay.opaque", "user.overlay.opaque"})
          if (::lgetxattr(entry.path().c_str(), mark, nullptr, 0) == 1) ++opaque;
      std::vector<Finding> findings;
      const auto report = copy_back(open_dir(round / "upper").get(), open_dir(round / "host").get(),
                                    owner, GetParam().marks, {.max_bytes = 1 << 20}, findings);
      ASSERT_TRUE(report) << report.error().message;
      ASSERT_TRUE(findings.empty())
          << "seed " << seed << ": " << findings[0].path << ": " << findings[0].why;
      ASSERT_EQ(snapshot(round / "host"), seen) << "seed " << seed;
      deleted += report->deleted;
    }
    // Whether the operations were worth anything.
    EXPECT_GT(deleted, 100u);
    EXPECT_GT(opaque, 20u);
  });
}

INSTANTIATE_TEST_SUITE_P(
    Of, CopyBackOverlay,
    testing::Values(
        Kind{"root", OverlayMarks::trusted, "", {.uid = 0, .gid = 0}},
        Kind{"another_user", OverlayMarks::trusted, "", {.uid = 4242, .gid = 4343}},
        Kind{"with_user_marks", OverlayMarks::user, ",userxattr", {.uid = 4242, .gid = 4343}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace sallyport
