#include "cell/doctor_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kDebian12 = R"~(PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
NAME="Debian GNU/Linux"
VERSION_ID="12"
VERSION="12 (bookworm)"
VERSION_CODENAME=bookworm
ID=debian
HOME_URL="https://www.debian.org/"
)~";

constexpr const char* kUbuntu2404 = R"~(PRETTY_NAME="Ubuntu 24.04.2 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
VERSION="24.04.2 LTS (Noble Numbat)"
ID=ubuntu
ID_LIKE=debian
)~";

// A Docker container on a host with cgroup v2.
constexpr const char* kDockerMountinfo =
    R"~(1021 879 0:63 / / rw,relatime master:320 - overlay overlay rw,lowerdir=/a:/b
1022 1021 0:66 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
1023 1021 0:67 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
1025 1021 0:69 / /sys ro,nosuid,nodev,noexec,relatime - sysfs sysfs ro
1026 1025 0:30 / /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw,nsdelegate
880 1022 0:66 /bus /proc/bus ro,nosuid,nodev,noexec,relatime - proc proc rw
884 1022 0:66 /sys /proc/sys ro,nosuid,nodev,noexec,relatime - proc proc rw
886 1022 0:70 / /proc/acpi ro,relatime - tmpfs tmpfs ro
887 1022 0:67 /null /proc/kcore rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
)~";

constexpr const char* kHostMountinfo = R"~(22 27 0:21 / /proc rw,relatime shared:13 - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:41 / /proc/sys/fs/binfmt_misc rw,relatime shared:20 - autofs systemd-1 rw,fd=29
31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate
)~";

TEST(DoctorText, TheKernelVersionIsReadFromItsReleaseName) {
  EXPECT_EQ(parse_kernel_version("6.1.0-18-amd64"), (KernelVersion{6, 1}));
  EXPECT_EQ(parse_kernel_version("5.15.0-91-generic"), (KernelVersion{5, 15}));
  EXPECT_EQ(parse_kernel_version("6.9-rc1"), (KernelVersion{6, 9}));
  EXPECT_EQ(parse_kernel_version("linux"), std::nullopt);
  EXPECT_EQ(parse_kernel_version(""), std::nullopt);
  EXPECT_LT((KernelVersion{5, 19}), (KernelVersion{6, 1}));
  EXPECT_LT((KernelVersion{5, 4}), (KernelVersion{5, 19})) << "as numbers, not as text";
}

TEST(DoctorText, ADistributionIsKnownByItsIdAndVersion) {
  const Distribution debian = parse_os_release(kDebian12);
  EXPECT_EQ(debian.id, "debian");
  EXPECT_EQ(debian.version, "12");
  EXPECT_EQ(debian.name, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_TRUE(is_tested(debian));
  EXPECT_TRUE(is_tested(parse_os_release(kUbuntu2404)));
  EXPECT_TRUE(is_tested(parse_os_release("ID=ubuntu\nVERSION_ID='22.04'\n")));
}

TEST(DoctorText, ADistributionThatIsOnlyLikeATestedOneIsNotTested) {
  EXPECT_FALSE(is_tested(parse_os_release("ID=linuxmint\nID_LIKE=ubuntu\nVERSION_ID=\"22\"\n")));
  EXPECT_FALSE(is_tested(parse_os_release("ID=debian\nVERSION_ID=\"11\"\n")));
  EXPECT_FALSE(is_tested(parse_os_release("")));
  EXPECT_EQ(parse_os_release("ID=arch\n").name, "arch") << "without a PRETTY_NAME";
}

TEST(DoctorText, QuotesAndEscapesOfOsReleaseAreTakenOff) {
  EXPECT_EQ(parse_os_release(R"(PRETTY_NAME="A \"B\" \$C")").name, "A \"B\" $C");
  EXPECT_EQ(parse_os_release("PRETTY_NAME=\"").name, "\"") << "a lone quote is text";
}

TEST(DoctorText, TheSecurityModulesAreListedInOrder) {
  EXPECT_THAT(parse_lsm_list("lockdown,capability,landlock,yama,apparmor\n"),
              ElementsAre("lockdown", "capability", "landlock", "yama", "apparmor"));
  EXPECT_THAT(parse_lsm_list("\n"), IsEmpty());
}

TEST(DoctorText, TheProcOfADockerContainerIsNotWhole) {
  const ProcView proc = see_proc(parse_mountinfo(kDockerMountinfo));
  EXPECT_FALSE(proc.whole);
  EXPECT_THAT(proc.covered, ElementsAre("/proc/bus", "/proc/sys", "/proc/acpi", "/proc/kcore"));
}

TEST(DoctorText, MountsOnDirectoriesThatAreAlwaysEmptyHideNothing) {
  const ProcView proc = see_proc(parse_mountinfo(kHostMountinfo));
  EXPECT_TRUE(proc.whole);
  EXPECT_THAT(proc.covered, IsEmpty());
}

TEST(DoctorText, AWholeProcElsewhereIsEnoughForTheKernel) {
  const std::string text =
      std::string(kDockerMountinfo) + "2000 1021 0:66 / /mnt/proc rw,relatime - proc proc rw\n";
  EXPECT_TRUE(see_proc(parse_mountinfo(text)).whole);
}

TEST(DoctorText, APartOfProcMountedElsewhereIsNotAWholeOne) {
  const std::string text =
      std::string(kDockerMountinfo) + "2000 1021 0:66 /sys /mnt/sys rw,relatime - proc proc rw\n";
  EXPECT_FALSE(see_proc(parse_mountinfo(text)).whole);
}

TEST(DoctorText, LinesOfMountinfoThatMakeNoSenseArePassedOver) {
  EXPECT_THAT(parse_mountinfo("\n1 2 3\nx y 0:1 / / rw - ext4 a rw\n7 1 0:1 / nowhere rw - a b\n"),
              IsEmpty());
}

TEST(DoctorText, CgroupsAreReadOnlyWhenEveryMountOfThemIs) {
  EXPECT_TRUE(cgroups_are_read_only(parse_mountinfo(kDockerMountinfo)));
  EXPECT_FALSE(cgroups_are_read_only(parse_mountinfo(kHostMountinfo)));
  EXPECT_FALSE(cgroups_are_read_only({})) << "there are none";
  const std::string both = std::string(kDockerMountinfo) +
                           "2000 1025 0:90 / /sys/fs/cgroup/x rw - cgroup cgroup rw,memory\n";
  EXPECT_FALSE(cgroups_are_read_only(parse_mountinfo(both)));
}

TEST(DoctorText, OnlyAnEnforcedProfileHoldsAProcess) {
  EXPECT_EQ(enforced_profile("docker-default (enforce)\n"), "docker-default");
  EXPECT_EQ(enforced_profile("a name (odd) (kill)\n"), "a name (odd)");
  EXPECT_EQ(enforced_profile("unconfined\n"), std::nullopt);
  EXPECT_EQ(enforced_profile("sallyport (unconfined)\n"), std::nullopt);
  EXPECT_EQ(enforced_profile("test (complain)\n"), std::nullopt);
  EXPECT_EQ(enforced_profile(""), std::nullopt) << "no AppArmor";
}

TEST(DoctorText, AFileSystemIsLookedForByItsWholeName) {
  EXPECT_TRUE(lists_filesystem("nodev\tsysfs\n\text4\nnodev\toverlay\n", "overlay"));
  EXPECT_TRUE(lists_filesystem("\text4\n", "ext4"));
  EXPECT_FALSE(lists_filesystem("nodev\toverlayfs\n", "overlay"));
}

TEST(DoctorText, SwapAreasAreAddedUp) {
  EXPECT_EQ(swap_kib("Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"), 0U);
  EXPECT_EQ(swap_kib("Filename Type Size Used Priority\n"
                     "/swap.img  file       2097148  0 -2\n"
                     "/dev/sda2  partition  1024     0 -3\n"),
            2098172U);
}

TEST(DoctorText, ANewSubordinateRangeBeginsBehindAllOthers) {
  EXPECT_EQ(free_subordinate_id(""), 100'000U);
  EXPECT_EQ(free_subordinate_id("a:100000:65536\nb:165536:65536\nbad\n"), 231'072U);
}

}  // namespace
}  // namespace sallyport
