#include "cell/doctor_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

namespace sallyport {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Verdict = Check::Verdict;

// A Debian 12 on which nothing is amiss for an ordinary user.
HostFacts healthy() {
  HostFacts host;
  host.uid = 1000;
  host.user = "alice";
  host.executable = "/usr/bin/sallyport";
  host.distribution = {"debian", "12", "Debian GNU/Linux 12 (bookworm)"};
  host.kernel = "6.1.0-18-amd64";
  host.landlock_abi = 2;
  host.lsms = {{"lockdown", "capability", "landlock", "yama", "apparmor"}};
  host.max_user_namespaces = 15000;
  host.unprivileged_userns_clone = 1;
  host.proc.whole = true;
  host.cgroups.version = CgroupVersion::v2;
  host.cgroups.usable = true;
  host.cgroups.parent = "/sys/fs/cgroup/sallyport";
  host.cgroups.controllers = {"memory", "pids", "cpu"};
  return host;
}

HostFacts healthy_root() {
  HostFacts host = healthy();
  host.uid = 0;
  host.user = "root";
  host.launcher->privileged = true;
  host.idmaps = {{"/srv", "ext4", 0}, {"/tmp", "tmpfs", 0}};
  return host;
}

Check check(const HostFacts& host, const std::string& name) {
  const auto checks = judge(host);
  const auto found = std::ranges::find(checks, name, &Check::name);
  EXPECT_NE(found, checks.end()) << name;
  return found == checks.end() ? Check{} : *found;
}

TEST(DoctorChecks, NothingIsToMendOnAHealthyHost) {
  for (const HostFacts& host : {healthy(), healthy_root()})
    for (const Check& each : judge(host)) {
      EXPECT_TRUE(each.verdict == Verdict::good || each.verdict == Verdict::note) << each.name;
      EXPECT_EQ(each.fix, "") << each.name;
      EXPECT_NE(each.found, "") << each.name;
    }
}

// What `doctor` promises: whatever is not good comes with what mends it.
TEST(DoctorChecks, EverythingThatIsNotGoodHasAFix) {
  HostFacts host = healthy();
  host.launcher = fail(Reason::cannot_enforce, "this process is root without CAP_SYS_ADMIN", "x");
  host.landlock_abi = 0;
  host.lsms = std::nullopt;
  host.user_namespace_err = EPERM;
  host.user_notification = host.overlay = false;
  host.cell_works = false;
  host.apparmor_profile = "docker-default";
  host.proc = {};
  host.cgroups = {.usable = false, .why_not = "no", .fix = "mount it"};
  host.idmaps = {{"/srv", "fuse", EINVAL}};
  int bad = 0;
  for (const Check& each : judge(host)) {
    if (each.verdict != Verdict::weaker && each.verdict != Verdict::missing) continue;
    ++bad;
    EXPECT_NE(each.fix, "") << each.name;
  }
  EXPECT_EQ(bad, 9);
}

TEST(DoctorChecks, Ubuntu2204sFirstKernelIsTooOldAndItsNewerOneIsNamed) {
  HostFacts host = healthy();
  host.distribution = {"ubuntu", "22.04", "Ubuntu 22.04.4 LTS"};
  host.kernel = "5.15.0-91-generic";
  host.landlock_abi = 1;
  for (const char* name : {"kernel", "Landlock"}) {
    EXPECT_EQ(check(host, name).verdict, Verdict::missing);
    EXPECT_THAT(check(host, name).fix, HasSubstr("apt-get install -y linux-generic-hwe-22.04"));
  }
}

TEST(DoctorChecks, AnOldKernelWithLandlockPortedBackIsGood) {
  HostFacts host = healthy();
  host.kernel = "5.14.0-427.el9.x86_64";
  host.landlock_abi = 5;
  EXPECT_EQ(check(host, "kernel").verdict, Verdict::good);
}

TEST(DoctorChecks, LandlockThatWasLeftOutAtBootIsPutInFrontOfTheOthers) {
  HostFacts host = healthy();
  host.landlock_abi = 0;
  host.lsms = {{"lockdown", "capability", "yama", "apparmor"}};
  const Check landlock = check(host, "Landlock");
  EXPECT_EQ(landlock.verdict, Verdict::missing);
  EXPECT_THAT(landlock.fix, AllOf(HasSubstr(" lsm=landlock,lockdown,yama,apparmor\""),
                                  HasSubstr("update-grub"), HasSubstr("/etc/default/grub.d/")));
}

TEST(DoctorChecks, UserNamespacesThatASettingTurnsOffAreTurnedOnByIt) {
  HostFacts host = healthy();
  host.user_namespace_err = ENOSPC;
  host.max_user_namespaces = 0;
  EXPECT_EQ(check(host, "user namespaces").verdict, Verdict::missing);
  EXPECT_THAT(check(host, "user namespaces").fix, HasSubstr("user.max_user_namespaces=15000"));

  host = healthy();
  host.user_namespace_err = EPERM;
  host.unprivileged_userns_clone = 0;
  EXPECT_THAT(check(host, "user namespaces").fix, HasSubstr("kernel.unprivileged_userns_clone=1"));
}

TEST(DoctorChecks, TwoSettingsThatBothTurnThemOffAreBothMended) {
  HostFacts host = healthy();
  host.user_namespace_err = EPERM;
  host.max_user_namespaces = 0;
  host.unprivileged_userns_clone = 0;
  EXPECT_THAT(check(host, "user namespaces").fix,
              AllOf(HasSubstr("user.max_user_namespaces=15000"),
                    HasSubstr("\necho kernel.unprivileged_userns_clone=1")));
}

HostFacts ubuntu_2404() {
  HostFacts host = healthy();
  host.distribution = {"ubuntu", "24.04", "Ubuntu 24.04.2 LTS"};
  host.kernel = "6.8.0-51-generic";
  host.landlock_abi = 4;
  host.apparmor_restricts_userns = 1;
  host.user_namespace_err = EPERM;
  host.cell_works = false;
  return host;
}

TEST(DoctorChecks, OnUbuntu2404TheFixIsAProfileForThisProgramAlone) {
  const Check found = check(ubuntu_2404(), "user namespaces");
  EXPECT_EQ(found.verdict, Verdict::missing);
  EXPECT_EQ(found.fix,
            "printf '%s\\n' 'abi <abi/4.0>,' 'include <tunables/global>' "
            "'profile sallyport \"/usr/bin/sallyport\" flags=(unconfined) {' '  userns,' '}' "
            "> /etc/apparmor.d/sallyport\n"
            "apparmor_parser -r /etc/apparmor.d/sallyport");
  EXPECT_EQ(check(ubuntu_2404(), "container").verdict, Verdict::good);
}

TEST(DoctorChecks, TheProfileMatchesAPathWithOddCharactersAndNoOther) {
  HostFacts host = ubuntu_2404();
  host.executable = "/home/al's/[b]*/sallyport";
  EXPECT_THAT(check(host, "user namespaces").fix,
              HasSubstr(R"("/home/al'\''s/\[b\]\*/sallyport")"));
}

TEST(DoctorChecks, AppArmorsRestrictionDoesNotTouchRootNorAProgramWithAProfile) {
  HostFacts host = ubuntu_2404();
  host.user_namespace_err = 0;
  EXPECT_EQ(check(host, "user namespaces").verdict, Verdict::good);
  HostFacts root = healthy_root();
  root.apparmor_restricts_userns = 1;
  EXPECT_EQ(check(root, "user namespaces").verdict, Verdict::good);
  EXPECT_THAT(check(root, "user namespaces").found, HasSubstr("ordinary users"));
}

// `docker run --user 1000` with nothing else, on Ubuntu.
HostFacts docker_user() {
  HostFacts host = healthy();
  host.container = "docker";
  host.refused_calls = {"clone3", "unshare", "keyctl"};
  host.apparmor_profile = "docker-default";
  host.user_namespace_err = EPERM;
  host.proc = {.whole = false, .covered = {"/proc/kcore", "/proc/sys"}};
  host.cgroups_read_only = true;
  host.cgroups = {.version = CgroupVersion::v2,
                  .usable = false,
                  .why_not = "the cgroup /sys/fs/cgroup is not delegated",
                  .fix = "systemd-run",
                  .parent = "/sys/fs/cgroup"};
  host.cell_works = false;
  return host;
}

TEST(DoctorChecks, ADefaultDockerContainerNeedsAllFourFlagsInOneLine) {
  const HostFacts host = docker_user();
  const std::string line =
      "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
      "--security-opt systempaths=unconfined --security-opt writable-cgroups=true IMAGE";
  for (const char* name : {"container", "user namespaces", "/proc"}) {
    EXPECT_EQ(check(host, name).verdict, Verdict::missing) << name;
    EXPECT_THAT(check(host, name).fix, StartsWith(line)) << name;
  }
  EXPECT_EQ(check(host, "cgroup").verdict, Verdict::weaker);
  EXPECT_THAT(check(host, "cgroup").fix,
              AllOf(StartsWith(line), HasSubstr("\nchown -R alice /sys/fs/cgroup"),
                    Not(HasSubstr("systemd-run"))));
}

TEST(DoctorChecks, FlagsThatAreNotNeededAreNotAskedFor) {
  HostFacts host = docker_user();
  host.refused_calls.clear();
  host.apparmor_profile.reset();
  host.user_namespace_err = 0;
  host.cgroups_read_only = false;
  EXPECT_EQ(check(host, "container").verdict, Verdict::good);
  EXPECT_THAT(check(host, "/proc").fix,
              StartsWith("docker run --security-opt systempaths=unconfined IMAGE"));
}

TEST(DoctorChecks, AProfileUnderWhichACellWorksIsLeftAlone) {
  HostFacts host = docker_user();
  host.cell_works = true;
  host.refused_calls.clear();
  EXPECT_EQ(check(host, "container").verdict, Verdict::good);
  EXPECT_THAT(check(host, "cgroup").fix, Not(HasSubstr("apparmor")));
}

TEST(DoctorChecks, AProfileOutsideOfAContainerIsLeftByStartingUnconfined) {
  HostFacts host = healthy();
  host.cell_works = false;
  host.apparmor_profile = "snap.shell";
  EXPECT_EQ(check(host, "container").verdict, Verdict::missing);
  EXPECT_THAT(check(host, "container").found, HasSubstr("snap.shell"));
  EXPECT_EQ(check(host, "container").fix, "aa-exec -p unconfined -- sallyport doctor");
}

TEST(DoctorChecks, RootInAContainerNeedsItsCapabilitiesAndNoUnmaskedProc) {
  HostFacts host = docker_user();
  host.uid = 0;
  host.launcher = fail(Reason::cannot_enforce,
                       "this process is root without CAP_SYS_ADMIN, CAP_NET_ADMIN", "as a user");
  const Check launcher = check(host, "launcher");
  EXPECT_EQ(launcher.verdict, Verdict::missing);
  EXPECT_THAT(launcher.fix,
              StartsWith("docker run --cap-add SYS_ADMIN --cap-add NET_ADMIN "
                         "--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
                         "--security-opt writable-cgroups=true IMAGE"));
  EXPECT_EQ(check(host, "/proc").verdict, Verdict::good);
}

TEST(DoctorChecks, RootWithoutCapabilitiesOutsideOfAContainerGetsTheLaunchersHint) {
  HostFacts host = healthy_root();
  host.launcher = fail(Reason::cannot_enforce, "this process is root without CAP_SYS_ADMIN",
                       "run as an ordinary user");
  EXPECT_EQ(check(host, "launcher").fix, "run as an ordinary user");
}

TEST(DoctorChecks, PodmanHasOneFlagForMaskedPathsAndCgroups) {
  HostFacts host = docker_user();
  host.container = "podman";
  host.apparmor_profile.reset();
  EXPECT_THAT(check(host, "/proc").fix, StartsWith("podman run --security-opt seccomp=unconfined "
                                                   "--security-opt unmask=ALL IMAGE"));
}

TEST(DoctorChecks, AMissingProcIsNotTakenForAMaskedOne) {
  HostFacts host = healthy();
  host.proc = {};
  EXPECT_EQ(check(host, "/proc").fix, "mount -t proc proc /proc");
}

TEST(DoctorChecks, AnUnusableCgroupIsWeakerAndBringsItsOwnFix) {
  HostFacts host = healthy();
  host.cgroups = {.version = CgroupVersion::v2,
                  .usable = false,
                  .why_not = "not delegated",
                  .fix = "systemd-run --user --scope",
                  .parent = "/sys/fs/cgroup/user.slice"};
  const Check cgroup = check(host, "cgroup");
  EXPECT_EQ(cgroup.verdict, Verdict::weaker);
  EXPECT_EQ(cgroup.found, "not delegated");
  EXPECT_EQ(cgroup.fix, "systemd-run --user --scope");
}

TEST(DoctorChecks, GroupsThatCannotBeDroppedNeedNewgidmapAndARange) {
  HostFacts host = healthy();
  host.launcher->has_other_groups = true;
  host.free_subordinate_gid = 231072;
  const Check groups = check(host, "groups");
  EXPECT_EQ(groups.verdict, Verdict::weaker);
  EXPECT_EQ(groups.fix, "apt-get install -y uidmap\necho alice:231072:65536 >> /etc/subgid");
  host.newgidmap = true;
  EXPECT_EQ(check(host, "groups").fix, "echo alice:231072:65536 >> /etc/subgid");
  host.launcher->can_map_groups = true;
  EXPECT_EQ(check(host, "groups").verdict, Verdict::good);
}

TEST(DoctorChecks, AFileSystemWithoutIdmappedMountsIsNamed) {
  HostFacts host = healthy_root();
  host.idmaps[0] = {"/mnt/share", "fuse", EINVAL};
  const Check idmaps = check(host, "idmapped mounts");
  EXPECT_EQ(idmaps.verdict, Verdict::weaker);
  EXPECT_THAT(idmaps.found, AllOf(HasSubstr("/mnt/share (fuse)"), Not(HasSubstr("/tmp"))));
}

TEST(DoctorChecks, KvmIsNeverMoreThanANote) {
  HostFacts host = healthy();
  for (const int err : {ENOENT, EACCES}) {
    host.kvm_err = err;
    EXPECT_EQ(check(host, "KVM").verdict, Verdict::note);
  }
}

}  // namespace
}  // namespace sallyport
