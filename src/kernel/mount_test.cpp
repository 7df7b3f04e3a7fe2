#include "kernel/mount.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "kernel/child_fixture.h"
#include "kernel/namespace.h"

namespace sallyport {
namespace {

// A child with mounts of its own, which nobody outside sees.
template <class Act>
std::string with_own_mounts(Act act) {
  return in_child([&]() -> std::string {
    CHILD_EXPECT(::unshare(CLONE_NEWNS) == 0);
    CHILD_EXPECT(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
    return act();
  });
}

bool mount_tmpfs(const std::string& path) {
  return ::mount("none", path.c_str(), "tmpfs", 0, nullptr) == 0;
}

bool can_create(int directory, const char* name) {
  return Fd(::openat(directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)).valid();
}

unsigned long flags_of(int fd) {
  struct statvfs status{};
  return ::fstatvfs(fd, &status) == 0 ? status.f_flag : 0;
}

unsigned long flags_at(int directory, const char* path) {
  const Fd fd(::openat(directory, path, O_PATH | O_CLOEXEC));
  return flags_of(fd.get());
}

constexpr unsigned long kReadOnly = ST_RDONLY | ST_NOSUID | ST_NODEV;

// There is no moment in which it could be used otherwise.
TEST(Mount, ANewFileSystemHasItsAttributesBeforeItIsAttached) {
  EXPECT_EQ(
      with_own_mounts([]() -> std::string {
        const auto shown = make_filesystem("tmpfs", {}, Access::read_only);
        CHILD_EXPECT(ok(shown) && (flags_of(shown->get()) & kReadOnly) == kReadOnly);
        CHILD_EXPECT(!can_create(shown->get(), "new") && errno == EROFS);

        const auto writable = make_filesystem("tmpfs", {}, Access::read_write);
        CHILD_EXPECT(ok(writable) && can_create(writable->get(), "new"));
        CHILD_EXPECT((flags_of(writable->get()) & kReadOnly) == (ST_NOSUID | ST_NODEV));

        const auto proc = make_filesystem("proc", {}, Access::read_only_proc);
        CHILD_EXPECT(ok(proc));
        CHILD_EXPECT((flags_of(proc->get()) & (kReadOnly | ST_NOEXEC)) == (kReadOnly | ST_NOEXEC));
        return {};
      }),
      "");
}

TEST(Mount, OptionsAreTakenAndWrongOnesNamed) {
  EXPECT_EQ(with_own_mounts([]() -> std::string {
              const MountOption one_page[] = {{"size", "4096"}};
              const auto small = make_filesystem("tmpfs", one_page, Access::read_write);
              CHILD_EXPECT(ok(small));
              struct statvfs status{};
              CHILD_EXPECT(::fstatvfs(small->get(), &status) == 0);
              CHILD_EXPECT(status.f_blocks * status.f_frsize == 4096);
              return {};
            }),
            "");
  const MountOption wrong[] = {{"no-such-option", "1"}};
  const auto refused = make_filesystem("tmpfs", wrong, Access::read_only);
  ASSERT_FALSE(refused);
  EXPECT_EQ(describe(refused.error()), "fsconfig(no-such-option): Invalid argument");
}

TEST(Mount, ATreeIsReadOnlyBeforeItIsAttached) {
  const SharedDirectory place;
  EXPECT_EQ(with_own_mounts([&]() -> std::string {
              const auto source = open_mount_source(place.path().c_str());
              CHILD_EXPECT(ok(source));
              const auto tree = clone_tree(source->get(), "", Access::read_only);
              CHILD_EXPECT(ok(tree) && (flags_of(tree->get()) & kReadOnly) == kReadOnly);
              CHILD_EXPECT(!can_create(tree->get(), "new") && errno == EROFS);
              CHILD_EXPECT(can_open(place / "new", O_WRONLY | O_CREAT));
              return {};
            }),
            "");
}

// "submounts under a ro bind stay rw", and a production volume below a writable directory.
TEST(Mount, MountsBelowATreeAreReadOnlyWhateverTheTreeIs) {
  const SharedDirectory place;
  place.directory("nested");
  EXPECT_EQ(with_own_mounts([&]() -> std::string {
              CHILD_EXPECT(mount_tmpfs(place / "nested"));
              CHILD_EXPECT(can_open(place / "nested/file", O_WRONLY | O_CREAT));
              const auto source = open_mount_source(place.path().c_str());
              CHILD_EXPECT(ok(source));
              for (const Access access : {Access::read_only, Access::read_write}) {
                const auto tree = clone_tree(source->get(), "", access);
                CHILD_EXPECT(ok(tree));
                CHILD_EXPECT((flags_at(tree->get(), "nested") & kReadOnly) == kReadOnly);
                CHILD_EXPECT(!can_create(tree->get(), "nested/new") && errno == EROFS);
                CHILD_EXPECT(can_create(tree->get(), "new") == (access == Access::read_write));
              }
              return {};
            }),
            "");
}

TEST(Mount, WhatTheHostMountedReadOnlyStaysSo) {
  const SharedDirectory place;
  EXPECT_EQ(with_own_mounts([&]() -> std::string {
              CHILD_EXPECT(mount_tmpfs(place.path()));
              CHILD_EXPECT(::mount(nullptr, place.path().c_str(), nullptr,
                                   MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0);
              const auto source = open_mount_source(place.path().c_str());
              CHILD_EXPECT(ok(source));
              CHILD_EXPECT(fails_with(clone_tree(source->get(), "", Access::read_write), EROFS));
              CHILD_EXPECT(ok(clone_tree(source->get(), "", Access::read_only)));
              return {};
            }),
            "");
}

// "Mount propagation": what the host mounts later is not for the cell.
TEST(Mount, LaterMountsOfTheHostDoNotAppear) {
  const SharedDirectory place;
  for (const char* name : {"host", "host/later", "cell", "twin"})
    place.directory(name);
  EXPECT_EQ(with_own_mounts([&]() -> std::string {
              const std::string host = place / "host";
              CHILD_EXPECT(::mount(host.c_str(), host.c_str(), nullptr, MS_BIND, nullptr) == 0);
              CHILD_EXPECT(::mount(nullptr, host.c_str(), nullptr, MS_SHARED, nullptr) == 0);
              CHILD_EXPECT(
                  ::mount(host.c_str(), (place / "twin").c_str(), nullptr, MS_BIND, nullptr) == 0);
              const auto source = open_mount_source(host.c_str());
              const Fd root(::open(place.path().c_str(), O_PATH | O_CLOEXEC));
              CHILD_EXPECT(ok(source));
              const auto tree = clone_tree(source->get(), "", Access::read_only);
              CHILD_EXPECT(ok(tree) && ok(attach(tree->get(), root.get(), "cell")));

              CHILD_EXPECT(mount_tmpfs(place / "host/later"));
              CHILD_EXPECT(can_open(place / "host/later/secret", O_WRONLY | O_CREAT));
              CHILD_EXPECT(can_open(place / "twin/later/secret", O_RDONLY));
              CHILD_EXPECT(!can_open(place / "cell/later/secret", O_RDONLY) && errno == ENOENT);
              return {};
            }),
            "");
}

TEST(Mount, DevicesWorkOnlyWhereTheMountIsForOne) {
  EXPECT_EQ(with_own_mounts([]() -> std::string {
              const auto devices = open_mount_source("/dev");
              const auto null = open_mount_source("/dev/null");
              CHILD_EXPECT(ok(devices) && ok(null));
              const auto all = clone_tree(devices->get(), "", Access::read_only);
              const auto one = clone_tree(null->get(), "", Access::device_node);
              CHILD_EXPECT(ok(all) && ok(one));
              const auto opens = [](int directory, const char* path) {
                return Fd(::openat(directory, path, O_RDWR | O_CLOEXEC)).valid();
              };
              CHILD_EXPECT(!opens(all->get(), "null") && errno == EACCES);
              const std::string self = "/proc/self/fd/" + std::to_string(one->get());
              CHILD_EXPECT(opens(AT_FDCWD, self.c_str()));
              return {};
            }),
            "");
}

TEST(Mount, AnOwnerIsShownAsAnother) {
  const SharedDirectory place;
  ASSERT_EQ(::chown(place.file("theirs").c_str(), 4321, 4321), 0);
  place.file("roots");
  EXPECT_EQ(with_own_mounts([&]() -> std::string {
              const auto owners = make_idmap_namespace(
                  {.disk_uid = 4321, .shown_uid = 77777, .disk_gid = 4321, .shown_gid = 88888});
              const auto source = open_mount_source(place.path().c_str());
              CHILD_EXPECT(ok(owners) && ok(source));
              const auto tree = clone_tree(source->get(), "", Access::read_only, owners->get());
              CHILD_EXPECT(ok(tree));
              struct stat status{};
              CHILD_EXPECT(::fstatat(tree->get(), "theirs", &status, 0) == 0);
              CHILD_EXPECT(status.st_uid == 77777 && status.st_gid == 88888);
              CHILD_EXPECT(::fstatat(tree->get(), "roots", &status, 0) == 0);
              CHILD_EXPECT(status.st_uid == 65534);
              return {};
            }),
            "");
}

// Whoever can write one component of the path would otherwise choose what is mounted.
TEST(Mount, ASourceBehindASymlinkIsRefused) {
  const SharedDirectory place;
  place.directory("real");
  place.file("real/file");
  std::filesystem::create_directory_symlink(place / "real", place / "link");
  EXPECT_TRUE(open_mount_source((place / "real/file").c_str()));
  for (const char* path : {"link", "link/file"})
    EXPECT_TRUE(fails_with(open_mount_source((place / path).c_str()), ELOOP)) << path;
  EXPECT_TRUE(fails_with(open_mount_source("/proc/self/root"), ELOOP));
}

TEST(Mount, ATargetBehindASymlinkOrOutsideTheRootIsRefused) {
  const SharedDirectory place;
  place.directory("root");
  place.directory("root/real");
  place.directory("outside");
  std::filesystem::create_directory_symlink(place / "outside", place / "root/link");
  EXPECT_EQ(with_own_mounts([&]() -> std::string {
              const Fd root(::open((place / "root").c_str(), O_PATH | O_CLOEXEC));
              const auto made = make_filesystem("tmpfs", {}, Access::read_write);
              CHILD_EXPECT(ok(made) && can_create(made->get(), "mounted"));
              CHILD_EXPECT(fails_with(attach(made->get(), root.get(), "link"), ELOOP));
              CHILD_EXPECT(fails_with(attach(made->get(), root.get(), "../outside"), EXDEV));
              CHILD_EXPECT(fails_with(attach(made->get(), root.get(), "/outside"), EXDEV));
              CHILD_EXPECT(fails_with(attach(made->get(), root.get(), "none"), ENOENT));
              CHILD_EXPECT(ok(attach(made->get(), root.get(), "real")));
              CHILD_EXPECT(can_open(place / "root/real/mounted", O_RDONLY));
              CHILD_EXPECT(!can_open(place / "outside/mounted", O_RDONLY));
              return {};
            }),
            "");
}

TEST(Mount, AccessCanBeTakenAwayLater) {
  EXPECT_EQ(with_own_mounts([]() -> std::string {
              const auto made = make_filesystem("tmpfs", {}, Access::read_write);
              CHILD_EXPECT(ok(made) && can_create(made->get(), "before"));
              CHILD_EXPECT(ok(set_access(made->get(), "", Access::read_only)));
              CHILD_EXPECT(!can_create(made->get(), "after") && errno == EROFS);
              return {};
            }),
            "");
}

TEST(Mount, ABoundMountHasTheAttributesOfTheOneItShows) {
  EXPECT_EQ(with_own_mounts([]() -> std::string {
              const auto root = make_filesystem("tmpfs", {}, Access::read_write);
              CHILD_EXPECT(ok(root) && ok(replace_root(root->get())));
              for (const char* name : {"cover", "place", "part"})
                CHILD_EXPECT(::mkdirat(root->get(), name, 0755) == 0);
              const auto cover = make_filesystem("tmpfs", {}, Access::read_only);
              CHILD_EXPECT(ok(cover) && ok(attach(cover->get(), root->get(), "cover")));

              const auto bound = bind("cover", "place");
              CHILD_EXPECT(ok(bound) && *bound);
              CHILD_EXPECT((flags_at(root->get(), "place") & kReadOnly) == kReadOnly);
              const auto absent = bind("cover", "nowhere");
              CHILD_EXPECT(ok(absent) && !*absent);
              CHILD_EXPECT(fails_with(bind("nowhere", "part"), ENOENT));

              const auto copy = copy_mount(root->get(), "place");
              CHILD_EXPECT(ok(copy) && ok(attach(copy->get(), root->get(), "part")));
              CHILD_EXPECT((flags_at(root->get(), "part") & kReadOnly) == kReadOnly);
              return {};
            }),
            "");
}

// Not chroot, out of which fchdir and ".." lead: the old root is unmounted.
TEST(Mount, NothingOfTheOldRootIsLeft) {
  EXPECT_EQ(with_own_mounts([]() -> std::string {
              const auto root = make_filesystem("tmpfs", {}, Access::read_write);
              CHILD_EXPECT(ok(root) && can_create(root->get(), "here"));
              CHILD_EXPECT(::mkdirat(root->get(), "proc", 0755) == 0);
              const auto proc = make_filesystem("proc", {}, Access::read_only_proc);
              CHILD_EXPECT(ok(proc));
              CHILD_EXPECT(ok(replace_root(root->get())));
              CHILD_EXPECT(ok(attach(proc->get(), root->get(), "proc")));

              CHILD_EXPECT(can_open("/here", O_RDONLY) && can_open("here", O_RDONLY));
              CHILD_EXPECT(can_open("/../../here", O_RDONLY));
              CHILD_EXPECT(!can_open("/usr", O_RDONLY) && errno == ENOENT);
              std::ifstream mounts("/proc/self/mountinfo");
              std::string line;
              int count = 0;
              while (std::getline(mounts, line))
                ++count;
              CHILD_EXPECT(count == 2);
              return {};
            }),
            "");
}

}  // namespace
}  // namespace sallyport
