#include "kernel/cgroup_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sallyport {
namespace {

using Strings = std::vector<std::string>;

TEST(CgroupMounts, AreFoundAmongOtherMountsWithTheirControllers) {
  const auto mounts = parse_cgroup_mounts(
      "23 1 0:20 / /sys rw,nosuid - sysfs sysfs rw\n"
      "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup "
      "rw,cpu,cpuacct\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n");
  ASSERT_EQ(mounts.size(), 2u);
  EXPECT_EQ(mounts[0].version, CgroupVersion::v1);
  EXPECT_EQ(mounts[0].root, "/");
  EXPECT_EQ(mounts[0].directory, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(mounts[0].controllers, (Strings{"rw", "cpu", "cpuacct"}));
  EXPECT_EQ(mounts[1].version, CgroupVersion::v2);
  EXPECT_TRUE(mounts[1].controllers.empty());
}

TEST(CgroupMounts, OptionalFieldsMayBeAnyNumber) {
  for (const char* fields : {"", " shared:1", " shared:1 master:2 propagate_from:3 unbindable"}) {
    const auto mounts = parse_cgroup_mounts("41 31 0:38 /a /b rw" + std::string(fields) +
                                            " - cgroup2 cgroup2 rw\n");
    ASSERT_EQ(mounts.size(), 1u) << fields;
    EXPECT_EQ(mounts[0].root, "/a");
    EXPECT_EQ(mounts[0].directory, "/b");
  }
}

TEST(CgroupMounts, OctalEscapesInPathsAreUndone) {
  const auto mounts = parse_cgroup_mounts(
      "41 31 0:38 /a\\040b /mnt/tab\\011new\\012back\\134hash\\043 rw - cgroup2 x rw\n");
  ASSERT_EQ(mounts.size(), 1u);
  EXPECT_EQ(mounts[0].root, "/a b");
  EXPECT_EQ(mounts[0].directory, "/mnt/tab\tnew\nback\\hash#");
}

TEST(CgroupMounts, WhatOnlyLooksLikeAnEscapeStaysAsItIs) {
  const auto mounts =
      parse_cgroup_mounts("41 31 0:38 / /a\\9bc\\400\\04 rw - cgroup2 cgroup2 rw\n");
  ASSERT_EQ(mounts.size(), 1u);
  EXPECT_EQ(mounts[0].directory, "/a\\9bc\\400\\04");
}

TEST(CgroupMounts, AMountPointCannotPoseAsTheTypeField) {
  // The directory is named "x - cgroup2 y"; the kernel escapes its blanks.
  EXPECT_TRUE(
      parse_cgroup_mounts("41 31 0:38 / /tmp/x\\040-\\040cgroup2\\040y rw - tmpfs tmpfs rw\n")
          .empty());
}

TEST(CgroupMounts, BrokenLinesArePassedOver) {
  const auto mounts = parse_cgroup_mounts(
      "\n"
      "garbage\n"
      " - cgroup2 cgroup2 rw\n"
      "41 31 0:38 - cgroup2 cgroup2 rw\n"
      "41 31 0:38 relative /b rw - cgroup2 cgroup2 rw\n"
      "41 31 0:38 / /b rw cgroup2 cgroup2 rw\n"
      "41 31 0:38 / /good rw - cgroup2");
  ASSERT_EQ(mounts.size(), 1u);
  EXPECT_EQ(mounts[0].directory, "/good");
}

TEST(CgroupMemberships, AreReadWithTheirControllersAndPaths) {
  const auto memberships = parse_cgroup_memberships(
      "9:name=systemd:/\n"
      "4:cpu,cpuacct:/docker/abc\n"
      "0::/user.slice/a:b.scope\n");
  ASSERT_EQ(memberships.size(), 3u);
  EXPECT_EQ(memberships[0].controllers, Strings{"name=systemd"});
  EXPECT_EQ(memberships[1].hierarchy, 4);
  EXPECT_EQ(memberships[1].controllers, (Strings{"cpu", "cpuacct"}));
  EXPECT_EQ(memberships[1].path, "/docker/abc");
  EXPECT_EQ(memberships[2].hierarchy, 0);
  EXPECT_TRUE(memberships[2].controllers.empty());
  EXPECT_EQ(memberships[2].path, "/user.slice/a:b.scope");
}

TEST(CgroupMemberships, BrokenLinesArePassedOver) {
  EXPECT_TRUE(
      parse_cgroup_memberships("\nx:memory:/\n4:memory\n4:memory:relative\n:::\n99999999999::/\n")
          .empty());
}

TEST(CgroupVersionChoice, FollowsTheMemoryController) {
  const auto v1 = parse_cgroup_mounts("1 1 0:1 / /m rw - cgroup c rw,memory\n");
  const auto v2 = parse_cgroup_mounts("1 1 0:1 / /u rw - cgroup2 c rw\n");
  const auto on_v1 = parse_cgroup_memberships("4:memory:/\n0::/\n");
  const auto on_v2 = parse_cgroup_memberships("9:name=systemd:/\n0::/\n");
  EXPECT_EQ(choose_cgroup_version(v2, on_v2, false), CgroupVersion::v2);
  EXPECT_EQ(choose_cgroup_version(v1, on_v1, false), CgroupVersion::v1);
  EXPECT_EQ(choose_cgroup_version(v2, on_v1, false), CgroupVersion::v1) << "a hybrid host";
  EXPECT_EQ(choose_cgroup_version({}, on_v2, false), CgroupVersion::none);
  EXPECT_EQ(choose_cgroup_version(v1, on_v1, true), CgroupVersion::v2) << "a named parent is v2's";
}

TEST(CgroupDirectory, IsFoundThroughTheMountsRoot) {
  const auto through = [](const char* root, const char* directory, const char* cgroup) {
    return directory_through({CgroupVersion::v1, root, directory, {}}, cgroup).value_or("nowhere");
  };
  EXPECT_EQ(through("/", "/sys/fs/cgroup/memory", "/"), "/sys/fs/cgroup/memory");
  EXPECT_EQ(through("/", "/sys/fs/cgroup/memory", "/a/b"), "/sys/fs/cgroup/memory/a/b");
  EXPECT_EQ(through("/docker/abc", "/sys/fs/cgroup/memory", "/docker/abc"),
            "/sys/fs/cgroup/memory");
  EXPECT_EQ(through("/docker/abc", "/sys/fs/cgroup/memory", "/docker/abc/x"),
            "/sys/fs/cgroup/memory/x");
  EXPECT_EQ(through("/", "/", "/a"), "/a");
}

TEST(CgroupDirectory, IsNowhereWhenTheMountDoesNotShowIt) {
  const auto shows = [](const char* root, const char* cgroup) {
    return directory_through({CgroupVersion::v2, root, "/m", {}}, cgroup).has_value();
  };
  EXPECT_FALSE(shows("/docker/abc", "/docker/abcd")) << "a prefix is not a parent";
  EXPECT_FALSE(shows("/docker/abc", "/"));
  EXPECT_FALSE(shows("/..", "/")) << "the mount shows more than our namespace; our name is unknown";
  EXPECT_FALSE(shows("/", "/../other")) << "we were moved out of our namespace";
  EXPECT_FALSE(shows("/..", "/../.."));
  EXPECT_TRUE(shows("/", "/..hidden"));
}

TEST(CgroupName, TellsItsOwner) {
  const GroupOwner cell{.pid = 42, .start_time = 123456, .self = false};
  EXPECT_EQ(group_name(cell, "a-1"), "sallyport-42-123456-a-1");
  const auto parsed = parse_group_name("sallyport-42-123456-a-1");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->pid, 42);
  EXPECT_EQ(parsed->start_time, 123456u);
  EXPECT_FALSE(parsed->self);

  const GroupOwner leaf{.pid = 42, .start_time = 7, .self = true};
  EXPECT_EQ(group_name(leaf, "ignored"), "sallyport-self-42-7");
  ASSERT_TRUE(parse_group_name("sallyport-self-42-7"));
  EXPECT_TRUE(parse_group_name("sallyport-self-42-7")->self);
}

TEST(CgroupName, OfOthersIsNotTakenForOurs) {
  for (const char* name :
       {"", "sallyport", "sallyport-", "sallyport-42", "sallyport-42-7", "sallyport-42-7-",
        "sallyport-x-7-a", "sallyport-42-x-a", "sallyport--42-7-a", "sallyport-0-7-a",
        "sallyport-99999999999-7-a", "sallyport-self-42-7-a", "sallyport-self-42", "docker-42-7-a",
        "my-sallyport-42-7-a"})
    EXPECT_FALSE(parse_group_name(name)) << name;
}

TEST(CgroupId, HasNothingThatCouldLeaveTheDirectory) {
  EXPECT_TRUE(is_group_id("call-7_A"));
  EXPECT_TRUE(is_group_id(std::string(64, 'x')));
  for (const char* id : {"", ".", "..", "a/b", "a.b", "a b", "a\n", "ä"})
    EXPECT_FALSE(is_group_id(id)) << id;
  EXPECT_FALSE(is_group_id(std::string(65, 'x')));
}

TEST(ProcessStatText, IsReadBehindTheNameThatTheProgramChose) {
  const std::string rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 97919 3133440 384\n";
  for (const char* name : {"(cat)", "(a b)", "(x) R 1 2 3)", "())", "(\n)"}) {
    const auto stat = parse_process_stat("5903 " + std::string(name) + rest);
    ASSERT_TRUE(stat) << name;
    EXPECT_EQ(stat->state, 'S');
    EXPECT_EQ(stat->start_time, 97919u);
  }
}

TEST(ProcessStatText, ThatIsCutShortSaysNothing) {
  EXPECT_FALSE(parse_process_stat(""));
  EXPECT_FALSE(parse_process_stat("5903 (cat"));
  EXPECT_FALSE(parse_process_stat("5903 (cat) S 1 2 3"));
}

V2Situation ordinary_user() {
  return {.mount = "/sys/fs/cgroup",
          .own = "/sys/fs/cgroup/user.slice/run-1.scope",
          .owns_tree = false,
          .named = {}};
}

TEST(V2ParentChoice, RootOfTheHostHasADirectoryOfItsOwn) {
  V2Situation situation = ordinary_user();
  situation.owns_tree = true;
  const auto parent = choose_v2_parent(situation);
  ASSERT_TRUE(parent);
  EXPECT_EQ(parent->kind, V2Parent::Kind::top);
  EXPECT_EQ(parent->directory, "/sys/fs/cgroup/sallyport");
}

TEST(V2ParentChoice, OthersUseTheirOwnGroup) {
  const auto parent = choose_v2_parent(ordinary_user());
  ASSERT_TRUE(parent);
  EXPECT_EQ(parent->kind, V2Parent::Kind::own);
  EXPECT_EQ(parent->directory, "/sys/fs/cgroup/user.slice/run-1.scope");
}

TEST(V2ParentChoice, WhoHasSteppedAsideUsesTheGroupAbove) {
  V2Situation situation = ordinary_user();
  situation.own = "/sys/fs/cgroup/user.slice/run-1.scope/sallyport-self-42-7";
  const auto parent = choose_v2_parent(situation);
  ASSERT_TRUE(parent);
  EXPECT_EQ(parent->kind, V2Parent::Kind::beside);
  EXPECT_EQ(parent->directory, "/sys/fs/cgroup/user.slice/run-1.scope");

  situation.own = "/sys/fs/cgroup/user.slice/run-1.scope/sallyport-42-7-cell";
  EXPECT_EQ(choose_v2_parent(situation)->kind, V2Parent::Kind::own) << "inside a cell, not a leaf";
}

TEST(V2ParentChoice, ANamedParentComesFirst) {
  V2Situation situation = ordinary_user();
  situation.owns_tree = true;
  situation.named = "/sys/fs/cgroup/agents.slice";
  const auto parent = choose_v2_parent(situation);
  ASSERT_TRUE(parent);
  EXPECT_EQ(parent->kind, V2Parent::Kind::named);
  EXPECT_EQ(parent->directory, "/sys/fs/cgroup/agents.slice");
}

TEST(V2ParentChoice, ANamedParentOutsideOfTheTreeIsAnError) {
  for (const char* named : {"", "agents", "/tmp", "/sys/fs/cgroup2", "/sys/fs/cgroup/../../tmp",
                            "/sys/fs/cgroup//a", "/sys/fs/cgroup/a/."}) {
    V2Situation situation = ordinary_user();
    situation.named = named;
    const auto parent = choose_v2_parent(situation);
    ASSERT_FALSE(parent) << named;
    EXPECT_EQ(parent.error().reason, Reason::cannot_enforce);
    EXPECT_NE(parent.error().message.find("SALLYPORT_CGROUP_PARENT"), std::string::npos);
  }
}

TEST(V2ParentChoice, AnOwnGroupOutOfSightIsAnError) {
  V2Situation situation = ordinary_user();
  situation.own.reset();
  EXPECT_FALSE(choose_v2_parent(situation));
}

TEST(CommonDirectory, IsTheDeepestOneThatHoldsBoth) {
  EXPECT_EQ(common_directory("/a/b/c", "/a/b/d"), "/a/b");
  EXPECT_EQ(common_directory("/a/b", "/a/b/d"), "/a/b");
  EXPECT_EQ(common_directory("/a/bc", "/a/b"), "/a");
  EXPECT_EQ(common_directory("/a", "/b"), "/");
  EXPECT_EQ(common_directory("/a", "relative"), "/");
}

TEST(Counts, AreWholeNumbersOrNothing) {
  EXPECT_EQ(parse_count("123\n"), 123u);
  EXPECT_EQ(parse_count("18446744073709551615"), std::numeric_limits<std::uint64_t>::max());
  for (const char* text : {"", "\n", "max\n", "-1\n", "12 \n", "1\n2\n", "18446744073709551616\n"})
    EXPECT_FALSE(parse_count(text)) << text;
}

TEST(Counts, AreFoundByTheirWholeKey) {
  const std::string_view text = "oom 3\noom_kill 2\noom_group_kill 1\nbroken\nodd x\nlast 9";
  EXPECT_EQ(count_of(text, "oom_kill"), 2u);
  EXPECT_EQ(count_of(text, "oom"), 3u);
  EXPECT_EQ(count_of(text, "last"), 9u);
  EXPECT_FALSE(count_of(text, "oom_"));
  EXPECT_FALSE(count_of(text, "broken"));
  EXPECT_FALSE(count_of(text, "odd"));
  EXPECT_FALSE(count_of("", "oom"));
}

TEST(Words, AreComparedWhole) {
  EXPECT_TRUE(has_word("cpuset cpu io memory pids\n", "cpu"));
  EXPECT_TRUE(has_word("cpuset cpu io memory pids\n", "pids"));
  EXPECT_FALSE(has_word("cpuset io\n", "cpu"));
  EXPECT_FALSE(has_word("", "cpu"));
}

TEST(Pids, AreReadLineByLine) {
  EXPECT_EQ(parse_pids("12\n0\n34\n"), (std::vector<pid_t>{12, 0, 34}));
  EXPECT_TRUE(parse_pids("").empty());
  EXPECT_TRUE(parse_pids("x\n\n1 2\n").empty());
}

TEST(CgroupText, CpuTimeIsTheSumOfAllProcessors) {
  const CpuNanoseconds sum =
      parse_cpu_usage_all("cpu user system\n0 1000 20\n1 300000000000 4\n2 0 0\n");
  EXPECT_EQ(sum.user, 300000001000U);
  EXPECT_EQ(sum.system, 24U);
  EXPECT_EQ(parse_cpu_usage_all("").user, 0U);
  EXPECT_EQ(parse_cpu_usage_all("cpu user system\n0 x y\n").system, 0U);
}

TEST(IoBytesText, OfV1IsSummedOverDevicesWithoutTheTotals) {
  const IoBytes bytes = parse_blkio_bytes(
      "254:0 Read 4096\n254:0 Write 100\n254:0 Sync 4196\n254:0 Total 4196\n"
      "7:0 Read 4\n7:0 Write x\nTotal 4200\n");
  EXPECT_EQ(bytes.read, 4100u);
  EXPECT_EQ(bytes.write, 100u);
}

TEST(IoBytesText, OfV2IsSummedOverDevices) {
  const IoBytes bytes = parse_io_stat(
      "254:0 rbytes=4096 wbytes=100 rios=1 wios=2 dbytes=7 dios=0\n"
      "7:0 \n"
      "8:0 rbytes=4 wbytes=\n");
  EXPECT_EQ(bytes.read, 4100u);
  EXPECT_EQ(bytes.write, 100u);
}

TEST(Swap, IsThereWhenTheTableHasALine) {
  EXPECT_FALSE(has_swap(""));
  EXPECT_FALSE(has_swap("Filename\tType\tSize\tUsed\tPriority\n"));
  EXPECT_TRUE(has_swap("Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1 0 -2\n"));
}

TEST(CpuQuota, IsAShareOfTheTenthOfASecond) {
  EXPECT_EQ(cpu_quota_us(1), 100'000u);
  EXPECT_EQ(cpu_quota_us(0.5), 50'000u);
  EXPECT_EQ(cpu_quota_us(0.29), 29'000u);
  EXPECT_EQ(cpu_quota_us(0.01), 1'000u);
}

TEST(CpuQuota, ThatNoKernelHoldsToIsRefused) {
  for (const double cpus : {0.0, -1.0, 0.009, 1e9, std::nan(""), HUGE_VAL})
    EXPECT_FALSE(cpu_quota_us(cpus)) << cpus;
}

}  // namespace
}  // namespace sallyport
