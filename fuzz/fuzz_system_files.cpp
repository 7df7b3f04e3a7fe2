// What the kernel and the host write about themselves is read without a crash, whatever it says;
// what we write, we can read.
#include <cstdint>
#include <string>
#include <string_view>

#include "cell/doctor_text.h"
#include "cell/launcher.h"
#include "cell/process_watch.h"
#include "check.h"
#include "kernel/cgroup_text.h"

using namespace sallyport;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const CgroupMount& mount : parse_cgroup_mounts(text)) {
    FUZZ_CHECK(mount.directory.starts_with('/'));
    (void)directory_through(mount, text);
  }
  (void)parse_cgroup_memberships(text);
  if (const auto owner = parse_group_name(text)) FUZZ_CHECK(owner->pid > 0);
  (void)parse_process_stat(text);
  (void)parse_count(text);
  (void)count_of(text, "oom_kill");
  for (const pid_t pid : parse_pids(text))
    FUZZ_CHECK(pid >= 0);  // 0: a process of another pid namespace
  (void)parse_blkio_bytes(text);
  (void)parse_io_stat(text);
  (void)has_swap(text);

  (void)parse_kernel_version(text);
  (void)is_tested(parse_os_release(text));
  (void)parse_lsm_list(text);
  const auto mounts = parse_mountinfo(text);
  (void)see_proc(mounts);
  (void)cgroups_are_read_only(mounts);
  (void)enforced_profile(text);
  (void)lists_filesystem(text, "overlay");
  (void)swap_kib(text);
  (void)free_subordinate_id(text);

  (void)parse_stat_line(text);
  (void)user_name(text, 1000);
  // A subordinate gid of 0 would hand the host's root group to a cell.
  if (const auto gid = subordinate_gid(text, "ann", 1000)) FUZZ_CHECK(*gid != 0);
  return 0;
}
