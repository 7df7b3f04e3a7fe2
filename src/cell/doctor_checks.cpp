#include "cell/doctor_checks.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "base/text.h"
#include "kernel/landlock.h"

namespace sallyport {
namespace {

using enum Check::Verdict;

std::string joined(const std::vector<std::string>& words, const char* separator = ", ") {
  std::string text;
  for (const std::string& word : words)
    text.append(text.empty() ? "" : separator).append(word);
  return text;
}

// ---- Fixes

bool in_container(const HostFacts& host) {
  return !host.container.empty() || !host.refused_calls.empty() || !host.proc.covered.empty();
}

bool apparmor_is_in_the_way(const HostFacts& host) {
  return host.apparmor_profile && !host.cell_works;
}

bool proc_is_in_the_way(const HostFacts& host) {
  return host.launcher && !host.privileged() && !host.proc.whole;
}

// "this process is root without CAP_SYS_ADMIN, CAP_NET_ADMIN"
std::vector<std::string> capabilities_in(const std::string& sentence) {
  std::vector<std::string> names;
  std::istringstream words(sentence);
  for (std::string word; words >> word;)
    if (word.starts_with("CAP_")) names.push_back(word.substr(4, word.find(',') - 4));
  return names;
}

// The container's command line with the flags that it lacks, and no others.
std::string container_command(const HostFacts& host) {
  const bool podman = host.container == "podman";
  std::string line = podman ? "podman run" : "docker run";
  if (!host.launcher)
    for (const std::string& name : capabilities_in(host.launcher.error().message))
      line.append(" --cap-add ").append(name);
  if (!host.refused_calls.empty()) line.append(" --security-opt seccomp=unconfined");
  if (apparmor_is_in_the_way(host)) line.append(" --security-opt apparmor=unconfined");
  if (podman && (proc_is_in_the_way(host) || host.cgroups_read_only))
    line.append(" --security-opt unmask=ALL");
  if (!podman && proc_is_in_the_way(host)) line.append(" --security-opt systempaths=unconfined");
  if (!podman && host.cgroups_read_only) line.append(" --security-opt writable-cgroups=true");
  return line.append(" IMAGE  # beside the flags that you give already");
}

std::string kernel_command(const Distribution& distribution) {
  if (distribution.id == "ubuntu" && distribution.version == "22.04")
    return "apt-get install -y linux-generic-hwe-22.04 && reboot";
  return "boot Linux 5.19 or newer; Debian 12 and Ubuntu 24.04 come with one";
}

// The list that is in force, with Landlock in front; "capability" is always there by itself.
std::string landlock_command(const std::vector<std::string>& lsms) {
  std::vector<std::string> wanted = {"landlock"};
  std::ranges::copy_if(lsms, std::back_inserter(wanted),
                       [](const std::string& name) { return name != "capability"; });
  return "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX lsm=" + joined(wanted, ",") +
         "\"' > /etc/default/grub.d/60-landlock.cfg && update-grub && reboot";
}

std::string sysctl_command(const std::string& setting) {
  return "echo " + setting + " >> /etc/sysctl.d/99-sallyport.conf && sysctl --system";
}

// A path as a pattern of AppArmor that matches itself alone.
std::string apparmor_path(const std::string& path) {
  std::string pattern = "\"";
  for (const char c : path) {
    if (std::strchr("?*[]{}^\\\"", c) != nullptr) pattern.push_back('\\');
    pattern.push_back(c);
  }
  return pattern + "\"";
}

// Gives user namespaces to this one program, where the sysctl would give them to all. Written with
// printf, because a here-document does not survive being indented.
std::string apparmor_command(const std::string& executable) {
  std::string lines;
  for (const std::string& line :
       {std::string("abi <abi/4.0>,"), std::string("include <tunables/global>"),
        "profile sallyport " + apparmor_path(executable) + " flags=(unconfined) {",
        std::string("  userns,"), std::string("}")})
    lines.append(" ").append(shell_quote(line));
  return "printf '%s\\n'" + lines +
         " > /etc/apparmor.d/sallyport\n"
         "apparmor_parser -r /etc/apparmor.d/sallyport";
}

// ---- Checks

Check check_distribution(const HostFacts& host) {
  const Distribution& distribution = host.distribution;
  if (distribution.name.empty()) return {"distribution", "unknown", note, ""};
  if (is_tested(distribution)) return {"distribution", distribution.name, good, ""};
  return {"distribution", distribution.name + ", on which Sallyport is not tested", note, ""};
}

// What the version promises is looked for below; a vendor may have ported it back.
Check check_kernel(const HostFacts& host) {
  const auto version = parse_kernel_version(host.kernel);
  const bool is_old = version && *version < KernelVersion{5, 19};
  if (!is_old || host.landlock_abi >= kLandlockFloor) return {"kernel", host.kernel, good, ""};
  return {"kernel", host.kernel + ", a cell needs 5.19", missing,
          kernel_command(host.distribution)};
}

Check check_launcher(const HostFacts& host) {
  if (!host.launcher)
    return {"launcher", host.launcher.error().message, missing,
            in_container(host) ? container_command(host) : host.launcher.error().hint};
  if (host.privileged()) return {"launcher", "root, with the capabilities it needs", good, ""};
  if (host.uid == 0)
    return {"launcher", "root of a user namespace, which counts as an ordinary user", good, ""};
  return {"launcher", "ordinary user " + host.user, good, ""};
}

Check check_container(const HostFacts& host) {
  std::vector<std::string> held;
  if (!host.refused_calls.empty())
    held.push_back("a seccomp filter refuses " + joined(host.refused_calls));
  if (apparmor_is_in_the_way(host))
    held.push_back("the AppArmor profile " + *host.apparmor_profile + " is enforced");
  const std::string seen = host.container.empty() ? "" : host.container + ": ";
  if (held.empty())
    return {"container", seen.empty() ? "none seen" : seen + "nothing of it is in the way", good,
            ""};
  return {
      "container", seen + joined(held, "; "), missing,
      in_container(host) ? container_command(host) : "aa-exec -p unconfined -- sallyport doctor"};
}

Check check_user_namespaces(const HostFacts& host) {
  const char* const name = "user namespaces";
  const bool restricted = host.apparmor_restricts_userns.value_or(0) != 0;
  if (host.user_namespace_err == 0) {
    if (!restricted) return {name, "can be made", good, ""};
    return {name,
            host.privileged() ? "can be made by root; AppArmor keeps them from ordinary users"
                              : "can be made, by an AppArmor profile",
            good, ""};
  }

  std::vector<std::string> causes, fixes;
  if (host.max_user_namespaces == 0U) {
    causes.emplace_back("user.max_user_namespaces is 0");
    fixes.push_back(sysctl_command("user.max_user_namespaces=15000"));
  }
  if (host.unprivileged_userns_clone == 0U && !host.privileged()) {
    causes.emplace_back("kernel.unprivileged_userns_clone is 0");
    fixes.push_back(sysctl_command("kernel.unprivileged_userns_clone=1"));
  }
  if (restricted && !host.privileged()) {
    causes.emplace_back(
        "AppArmor keeps them from this program (kernel.apparmor_restrict_unprivileged_userns)");
    fixes.push_back(apparmor_command(host.executable));
  }
  if (causes.empty() && !host.refused_calls.empty()) {
    causes.emplace_back("a seccomp filter refuses them");
    fixes.push_back(container_command(host));
  }
  if (causes.empty() && host.user_namespace_err == ENOSPC && host.max_user_namespaces) {
    causes.push_back("all " + std::to_string(*host.max_user_namespaces) + " are in use");
    fixes.push_back(sysctl_command("user.max_user_namespaces=" +
                                   std::to_string(*host.max_user_namespaces * 2)));
  }
  if (causes.empty()) {
    causes.emplace_back(std::strerror(host.user_namespace_err));
    fixes.emplace_back("run sallyport as root, and not in a chroot");
  }
  return {name, "cannot be made: " + joined(causes, "; "), missing, joined(fixes, "\n")};
}

Check check_seccomp(const HostFacts& host) {
  if (host.user_notification) return {"seccomp", "with user notification", good, ""};
  return {"seccomp", "without user notification", missing,
          host.refused_calls.empty()
              ? "boot a kernel of 5.19 or newer that has CONFIG_SECCOMP_FILTER"
              : container_command(host)};
}

Check check_landlock(const HostFacts& host) {
  const std::string abi = "ABI " + std::to_string(host.landlock_abi);
  if (host.landlock_abi >= kLandlockFloor) return {"Landlock", abi, good, ""};
  if (host.landlock_abi > 0)
    return {"Landlock", abi + ", a cell needs " + std::to_string(kLandlockFloor), missing,
            kernel_command(host.distribution)};
  const auto version = parse_kernel_version(host.kernel);
  if (version && *version < KernelVersion{5, 19})
    return {"Landlock", "none", missing, kernel_command(host.distribution)};
  if (!host.lsms)
    return {"Landlock", "none, and why cannot be seen from here", missing,
            in_container(host)
                ? "boot the container's host with landlock in lsm=, as in lsm=landlock,apparmor"
                : "mount -t securityfs securityfs /sys/kernel/security && sallyport doctor"};
  if (host.lists_landlock())
    return {"Landlock", "there, but a seccomp filter refuses it", missing, container_command(host)};
  return {"Landlock", "not among the security modules that were chosen at boot", missing,
          landlock_command(*host.lsms)};
}

Check check_proc(const HostFacts& host) {
  if (host.proc.covered.empty() && !host.proc.whole)
    return {"/proc", "not mounted", missing, "mount -t proc proc /proc"};
  if (host.proc.covered.empty()) return {"/proc", "whole", good, ""};
  const std::string found = "masked at " + joined(host.proc.covered);
  if (!proc_is_in_the_way(host)) return {"/proc", found + "; a cell has its own", good, ""};
  return {"/proc", found + ": the kernel gives a cell no /proc of its own", missing,
          container_command(host)};
}

// In a container of its own cgroup namespace the whole tree is the container's, mounted read-only
// and owned by its root; there is no systemd to ask for a part of it.
std::string cgroup_fix(const HostFacts& host) {
  std::vector<std::string> fixes;
  if (host.cgroups_read_only && in_container(host)) fixes.push_back(container_command(host));
  if (host.cgroups.version == CgroupVersion::v2 && host.cgroups.parent == "/sys/fs/cgroup" &&
      host.uid != 0)
    fixes.push_back("chown -R " + host.user + " /sys/fs/cgroup");
  return fixes.empty() ? host.cgroups.fix : joined(fixes, "\n");
}

Check check_cgroup(const HostFacts& host) {
  const CgroupSupport& cgroups = host.cgroups;
  if (cgroups.usable)
    return {"cgroup",
            std::string(name_of(cgroups.version)) + " in " + cgroups.parent + ": " +
                joined(cgroups.controllers),
            good, ""};
  return {"cgroup", cgroups.why_not, weaker, cgroup_fix(host)};
}

Check check_groups(const HostFacts& host) {
  const char* const name = "groups";
  if (!host.launcher || host.privileged()) return {name, "dropped by root", good, ""};
  if (!host.launcher->has_other_groups) return {name, "none to drop", good, ""};
  if (host.launcher->can_map_groups) return {name, "dropped by newgidmap", good, ""};
  std::vector<std::string> lacks, fixes;
  if (!host.newgidmap) {
    lacks.emplace_back("newgidmap");
    fixes.emplace_back("apt-get install -y uidmap");
  }
  if (!host.has_subordinate_gid) {
    lacks.emplace_back("a line in /etc/subgid");
    fixes.push_back("echo " + host.user + ":" + std::to_string(host.free_subordinate_gid) +
                    ":65536 >> /etc/subgid");
  }
  return {name, "a cell keeps this user's other groups, for want of " + joined(lacks, " and "),
          weaker, joined(fixes, "\n")};
}

Check check_idmaps(const HostFacts& host) {
  const char* const name = "idmapped mounts";
  if (host.idmaps.empty())
    return {name, "trying needs root; an ordinary user's cells do without", note, ""};
  std::vector<std::string> with, without;
  for (const IdmapTrial& trial : host.idmaps)
    (trial.err == 0 ? with : without).push_back(trial.path + " (" + trial.filesystem + ")");
  if (without.empty()) return {name, "on " + joined(with), good, ""};
  return {name, "not on " + joined(without) + ": --write is refused there", weaker,
          "give --write directories on ext4, xfs or btrfs, or run sallyport as their owner"};
}

Check check_overlay(const HostFacts& host) {
  if (host.overlay) return {"overlayfs", "there", good, ""};
  return {"overlayfs", "not loaded: --write-mode copy cannot work", weaker, "modprobe overlay"};
}

Check check_swap(const HostFacts& host) {
  if (host.swap_kib == 0) return {"swap", "none", good, ""};
  const std::string size = std::to_string(host.swap_kib / 1024) + " MiB";
  if (host.cgroups.usable) return {"swap", size + ", which cells are kept out of", good, ""};
  return {"swap", size + "; without a cgroup, a cell's memory can go there", note, ""};
}

Check check_kvm(const HostFacts& host) {
  const std::string use = "; only a cell in a virtual machine needs it";
  if (host.kvm_err == 0) return {"KVM", "/dev/kvm can be used", good, ""};
  if (host.kvm_err == EACCES || host.kvm_err == EPERM)
    return {"KVM", "/dev/kvm is not open to this user" + use, note, ""};
  return {"KVM", "no /dev/kvm" + use, note, ""};
}

constexpr Check (*kChecks[])(const HostFacts&) = {
    check_distribution, check_kernel,   check_launcher, check_container, check_user_namespaces,
    check_seccomp,      check_landlock, check_proc,     check_cgroup,    check_groups,
    check_idmaps,       check_overlay,  check_swap,     check_kvm,
};

}  // namespace

std::vector<Check> judge(const HostFacts& host) {
  std::vector<Check> checks;
  for (const auto check : kChecks)
    checks.push_back(check(host));
  return checks;
}

}  // namespace sallyport
