// The x86-64 system calls, sorted by what they are for. Together with the calls that have a rule of
// their own (seccomp_profiles.cpp) every call of the table stands in exactly one place; a test
// holds that, so a call that a new kernel brings is decided by a person.
#pragma once

#include "kernel/seccomp_calls.h"

namespace sallyport::sets {

using enum call::Number;

// clang-format off: it would set these words in columns

// ---- allowed

// They work on descriptors that other calls have already granted.
inline constexpr int kFileContents[] = {
    read, write, close, lseek, pread64, pwrite64, readv, writev, preadv, pwritev, preadv2, pwritev2,
    sendfile, splice, tee, copy_file_range, fsync, fdatasync, sync, syncfs, sync_file_range,
    fadvise64, readahead, fallocate, ftruncate, flock, fcntl, dup, dup2, dup3, pipe, pipe2,
    close_range};

// What a path may reach is decided by the cell's root, by Landlock and by file modes.
inline constexpr int kFileNames[] = {
    stat, fstat, lstat, newfstatat, statx, statfs, fstatfs, access, faccessat, faccessat2, readlink,
    readlinkat, getdents, getdents64, getcwd, chdir, fchdir, rename, renameat, rmdir,
    link, linkat, unlink, unlinkat, symlink, symlinkat, truncate, inotify_init, inotify_init1,
    inotify_add_watch, inotify_rm_watch};

// Owners other than one's own need a capability; chown clears set-id bits and can set none.
inline constexpr int kFileAttributes[] = {
    umask, utime, utimes, futimesat, utimensat, chown, fchown, lchown, fchownat, setxattr,
    lsetxattr, fsetxattr, setxattrat, getxattr, lgetxattr, fgetxattr, getxattrat, listxattr,
    llistxattr, flistxattr, listxattrat, removexattr, lremovexattr, fremovexattr, removexattrat};

// One's own address space, bounded by the cgroup. The NUMA calls are there for BLAS and the JVM.
inline constexpr int kMemory[] = {
    mmap, mprotect, munmap, brk, mremap, msync, mincore, madvise, mlock, mlock2, mlockall, munlock,
    munlockall, mseal, pkey_mprotect, pkey_alloc, pkey_free, map_shadow_stack, mbind,
    set_mempolicy, get_mempolicy};

// A cell is made to run programs that start programs; how many, the cgroup says.
inline constexpr int kProcesses[] = {
    fork, vfork, execve, execveat, exit, exit_group, wait4, waitid, getpid, getppid, gettid,
    getpgid, getpgrp, setpgid, getsid, setsid, pidfd_open};

// What a C library and a runtime need for threads.
inline constexpr int kThreads[] = {
    futex, futex_waitv, futex_wake, futex_wait, futex_requeue, set_robust_list, get_robust_list,
    set_tid_address, rseq, membarrier, arch_prctl, sched_yield, getcpu};

// Signals reach the cell's own pid namespace and no further.
inline constexpr int kSignals[] = {
    kill, tkill, tgkill, pidfd_send_signal, rt_sigaction, rt_sigprocmask, rt_sigreturn,
    rt_sigpending, rt_sigtimedwait, rt_sigqueueinfo, rt_tgsigqueueinfo, rt_sigsuspend, sigaltstack,
    pause, restart_syscall, signalfd, signalfd4};

// One uid is mapped and no capability is held: the set calls can only confirm what is, or give up.
inline constexpr int kIdentity[] = {
    getuid, geteuid, getresuid, getgid, getegid, getresgid, getgroups, setuid, setreuid, setresuid,
    setfsuid, setgid, setregid, setresgid, setfsgid, setgroups, capget, capset};

// Reading the time and waiting for it; setting it is the machine's.
inline constexpr int kClocksAndTimers[] = {
    time, gettimeofday, clock_gettime, clock_getres, times, nanosleep, clock_nanosleep, alarm,
    getitimer, setitimer, timer_create, timer_settime, timer_gettime, timer_getoverrun,
    timer_delete, timerfd_create, timerfd_settime, timerfd_gettime};

// Every event loop is made of these.
inline constexpr int kWaitingForEvents[] = {
    poll, ppoll, select, pselect6, epoll_create, epoll_create1, epoll_ctl, epoll_wait, epoll_pwait,
    epoll_pwait2, eventfd, eventfd2};

// They only tell.
inline constexpr int kLimitsAndPriorities[] = {
    getrlimit, getrusage, getpriority, ioprio_get, sched_getparam, sched_getscheduler,
    sched_getattr, sched_get_priority_max, sched_get_priority_min, sched_rr_get_interval,
    sched_getaffinity};

// Their first argument is a process.
inline constexpr int kScheduling[] = {
    sched_setparam, sched_setscheduler, sched_setattr, sched_setaffinity};

// "Whose" in the first argument, and which one in the second.
inline constexpr int kPriorities[] = {setpriority, ioprio_set};

// Read by nearly everything, and nothing to be gained.
inline constexpr int kSystemFacts[] = {uname, sysinfo, getrandom};

// What a socket may be is decided when it is made; these use it.
inline constexpr int kSockets[] = {
    connect, accept, accept4, bind, listen, sendto, recvfrom, sendmsg, recvmsg, sendmmsg, recvmmsg,
    shutdown, getsockname, getpeername, setsockopt, getsockopt};

// The ipc namespace is the cell's own, so both kinds end with it.
inline constexpr int kSystemVIpc[] = {
    shmget, shmat, shmctl, shmdt, semget, semop, semtimedop, semctl, msgget, msgsnd, msgrcv,
    msgctl};
inline constexpr int kMessageQueues[] = {
    mq_open, mq_unlink, mq_timedsend, mq_timedreceive, mq_notify, mq_getsetattr};

// A program may always confine itself further.
inline constexpr int kSelfConfinement[] = {
    landlock_create_ruleset, landlock_add_rule, landlock_restrict_self};

// Made by the kernel's own trampoline when a person on the host traces the program; a refusal would
// crash it (Linux 6.11 to 6.13), and from anywhere else the calls do nothing.
inline constexpr int kHostTracing[] = {uretprobe, uprobe};

// ---- allowed without set-id bits in the mode

inline constexpr int kModeIsArgument1[] = {creat, mkdir, chmod, fchmod};
inline constexpr int kModeIsArgument2[] = {mkdirat, fchmodat, fchmodat2};

// ---- refused with EPERM: a person may want to know that it was tried

// The mount tree is the cell's wall. The readers among them show the host's mounts.
inline constexpr int kMounts[] = {
    mount, umount2, pivot_root, chroot, open_tree, open_tree_attr, move_mount, fsopen, fsconfig,
    fsmount, fspick, mount_setattr, statmount, listmount};

// The way into somebody else's namespaces, and the list of them.
inline constexpr int kNamespaces[] = {setns, listns};

// Same uid, so the kernel would often agree; PID 1 of the cell is such a process.
inline constexpr int kOtherProcesses[] = {
    ptrace, process_vm_readv, process_vm_writev, process_madvise, process_mrelease, pidfd_getfd,
    kcmp, move_pages, migrate_pages};

// Code for the kernel, or means by which its bugs were exploited again and again.
inline constexpr int kKernelCode[] = {
    bpf, perf_event_open, userfaultfd, init_module, finit_module, delete_module, kexec_load,
    kexec_file_load, modify_ldt, uselib};

// Keys are kept by uid and outlive the cell.
inline constexpr int kKeyrings[] = {add_key, request_key, keyctl};

// Handles name files without a path, so without a root ("Shocker"); fanotify watches whole mounts.
inline constexpr int kFilesWithoutPaths[] = {
    name_to_handle_at, open_by_handle_at, fanotify_init, fanotify_mark, lookup_dcookie};

// The host is not the cell's to administer.
inline constexpr int kMachine[] = {
    reboot, swapon, swapoff, acct, quotactl, quotactl_fd, settimeofday, clock_settime,
    clock_adjtime, adjtimex, sethostname, setdomainname, iopl, ioperm, syslog, vhangup, nfsservctl,
    _sysctl};

// A filter of its own could answer a refused call before ours reports it.
inline constexpr int kOwnFilters[] = {seccomp};

// ---- refused with ENOSYS: programs have a way without them

// Rings carry out opens and connects that no filter sees; native AIO shares their history of bugs.
inline constexpr int kRequestRings[] = {
    io_uring_setup, io_uring_enter, io_uring_register, io_setup, io_destroy, io_getevents,
    io_pgetevents, io_submit, io_cancel};

// Pages that a pipe shares with their writer, and pages that the host cannot see.
inline constexpr int kOddMemory[] = {vmsplice, memfd_secret};

// Young calls that no program needs yet.
inline constexpr int kNotNeededYet[] = {
    cachestat, set_mempolicy_home_node, lsm_get_self_attr, lsm_set_self_attr, lsm_list_modules,
    file_getattr, file_setattr};

// Gone from the kernel, never in it, or replaced before x86-64 programs came to use them.
inline constexpr int kObsolete[] = {
    create_module, get_kernel_syms, query_module, getpmsg, putpmsg, afs_syscall, tuxcall, security,
    vserver, epoll_ctl_old, epoll_wait_old, set_thread_area, get_thread_area, remap_file_pages,
    ustat, sysfs};

// clang-format on

}  // namespace sallyport::sets
