// What is known of programs by their names alone.
#include "screen/shell_commands.h"

#include <algorithm>

namespace sallyport {
namespace {

using enum ScreenKind;

struct CommandRow {
  std::string_view name;
  ScreenKind kind;
};

// In the order of names.
constexpr CommandRow kCommands[] = {
    {"apk", http},
    {"apt", http},
    {"apt-get", http},
    {"aria2c", http},
    {"at", process},
    {"aws", http},
    {"axel", http},
    {"az", http},
    {"batch", process},
    {"brew", http},
    {"bundle", http},
    {"cargo", http},
    {"cc", native_code},
    {"chattr", file_system},
    {"chgrp", file_system},
    {"chmod", file_system},
    {"chown", file_system},
    {"clang", native_code},
    {"conda", http},
    {"cp", file_system},
    {"cpio", file_system},
    {"crontab", process},
    {"csplit", file_write},
    {"curl", http},
    {"dd", file_write},
    {"dig", ScreenKind::socket},
    {"dnf", http},
    {"docker", process},
    {"dpkg", file_system},
    {"ed", file_write},
    {"emacs", file_write},
    {"ex", file_write},
    {"fdisk", file_system},
    {"ftp", ScreenKind::socket},
    {"g++", native_code},
    {"gcc", native_code},
    {"gcloud", http},
    {"gdb", process},
    {"gem", http},
    {"go", http},
    {"gsutil", http},
    {"gunzip", file_system},
    {"gzip", file_system},
    {"halt", process},
    {"helm", http},
    {"host", ScreenKind::socket},
    {"insmod", native_code},
    {"install", file_system},
    {"iptables", ScreenKind::socket},
    {"kill", process},
    {"killall", process},
    {"kubectl", http},
    {"ln", file_system},
    {"losetup", file_system},
    {"ltrace", process},
    {"lynx", http},
    {"make", process},
    {"mkdir", file_system},
    {"mkfifo", file_system},
    {"mkfs", file_system},
    {"mknod", file_system},
    {"mktemp", file_write},
    {"modprobe", native_code},
    {"mount", file_system},
    {"mv", file_system},
    {"mysql", ScreenKind::socket},
    {"nc", ScreenKind::socket},
    {"ncat", ScreenKind::socket},
    {"netcat", ScreenKind::socket},
    {"nft", ScreenKind::socket},
    {"nmap", ScreenKind::socket},
    {"npm", http},
    {"npx", http},
    {"nslookup", ScreenKind::socket},
    {"parted", file_system},
    {"patch", file_write},
    {"ping", ScreenKind::socket},
    {"pip", http},
    {"pip3", http},
    {"pipx", http},
    {"pkill", process},
    {"pnpm", http},
    {"podman", process},
    {"poweroff", process},
    {"psql", ScreenKind::socket},
    {"reboot", process},
    {"redis-cli", ScreenKind::socket},
    {"rename", file_system},
    {"rm", file_system},
    {"rmdir", file_system},
    {"rsync", ScreenKind::socket},
    {"scp", ScreenKind::socket},
    {"screen", process},
    {"service", process},
    {"setfacl", file_system},
    {"sftp", ScreenKind::socket},
    {"shred", file_system},
    {"shutdown", process},
    {"snap", http},
    {"socat", ScreenKind::socket},
    {"split", file_write},
    {"ssh", ScreenKind::socket},
    {"ssh-keygen", file_write},
    {"strace", process},
    {"su", process},
    {"swapoff", file_system},
    {"systemctl", process},
    {"tee", file_write},
    {"telnet", ScreenKind::socket},
    {"terraform", http},
    {"tftp", ScreenKind::socket},
    {"tmux", process},
    {"touch", file_system},
    {"traceroute", ScreenKind::socket},
    {"truncate", file_system},
    {"umount", file_system},
    {"unlink", file_system},
    {"unzip", file_system},
    {"useradd", file_system},
    {"userdel", file_system},
    {"usermod", file_system},
    {"uv", http},
    {"vi", file_write},
    {"vim", file_write},
    {"wget", http},
    {"wipefs", file_system},
    {"xz", file_system},
    {"yarn", http},
    {"yum", http},
    {"zip", file_system},
};
static_assert(std::ranges::is_sorted(kCommands, {}, &CommandRow::name));

constexpr std::string_view kShells[] = {"sh",  "bash", "dash", "zsh",  "ksh",
                                        "ash", "mksh", "fish", "rbash"};
// Programs whose first word that is no option (or assignment, or number) is the program.
constexpr std::string_view kWrappers[] = {
    "env",         "nice",     "timeout",  "nohup",   "setsid",  "stdbuf",    "ionice",
    "chrt",        "taskset",  "time",     "command", "builtin", "exec",      "watch",
    "busybox",     "toybox",   "sudo",     "doas",    "xargs",   "chroot",    "unshare",
    "nsenter",     "flock",    "parallel", "runuser", "setpriv", "prlimit",   "catchsegv",
    "proxychains", "torsocks", "unbuffer", "numactl", "script",  "eatmydata", "fakeroot"};
// Options of wrappers that take the next word.
constexpr std::string_view kTakesWord[] = {
    "-n",      "-u",     "-g",         "-k",          "-s",           "-I",
    "-P",      "-L",     "-d",         "-a",          "-S",           "-C",
    "-h",      "-p",     "-c",         "-w",          "-o",           "-e",
    "-i",      "-E",     "-t",         "--signal",    "--kill-after", "--unset",
    "--chdir", "--user", "--max-args", "--max-procs", "--delimiter"};
// Variables that make programs run code or load libraries.
constexpr CommandRow kVariables[] = {{"BASH_ENV", dynamic_code},
                                     {"EDITOR", dynamic_code},
                                     {"ENV", dynamic_code},
                                     {"GIT_SSH", dynamic_code},
                                     {"GIT_SSH_COMMAND", dynamic_code},
                                     {"LD_AUDIT", native_code},
                                     {"LD_LIBRARY_PATH", native_code},
                                     {"LD_PRELOAD", native_code},
                                     {"NODE_OPTIONS", dynamic_code},
                                     {"PERL5OPT", dynamic_code},
                                     {"PROMPT_COMMAND", dynamic_code},
                                     {"PS4", dynamic_code},
                                     {"PYTHONPATH", dynamic_import},
                                     {"PYTHONSTARTUP", dynamic_code},
                                     {"RUBYOPT", dynamic_code}};
// Of git.
constexpr std::string_view kFar[] = {"clone",     "fetch",     "pull",       "push",
                                     "ls-remote", "submodule", "remote-http"};
constexpr std::string_view kNear[] = {
    "add", "am",    "apply",  "checkout", "clean",    "commit",      "config",
    "gc",  "init",  "merge",  "mv",       "rebase",   "reset",       "restore",
    "rm",  "stash", "switch", "tag",      "worktree", "cherry-pick", "revert"};
// Commands that only print their words.
constexpr std::string_view kOnlyPrints[] = {"echo", "printf", ":", "true",     "false",   "return",
                                            "exit", "test",   "[", "basename", "dirname", "expr"};

template <std::size_t N>
bool among(const std::string_view (&list)[N], std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

}  // namespace

const ScreenKind* shell_command_kind(std::string_view name) {
  const auto* row = std::ranges::lower_bound(kCommands, name, {}, &CommandRow::name);
  if (row != std::end(kCommands) && row->name == name) return &row->kind;
  static constexpr ScreenKind kFileSystem = file_system;
  return name.starts_with("mkfs.") ? &kFileSystem : nullptr;
}

const ScreenKind* shell_variable_kind(std::string_view name) {
  const auto* row = std::ranges::find(kVariables, name, &CommandRow::name);
  return row == std::end(kVariables) ? nullptr : &row->kind;
}

bool is_shell(std::string_view name) {
  return among(kShells, name);
}

bool is_wrapper(std::string_view name) {
  return among(kWrappers, name);
}

bool option_takes_word(std::string_view option) {
  return among(kTakesWord, option);
}

bool only_prints(std::string_view name) {
  return among(kOnlyPrints, name);
}

bool git_reaches_far(std::string_view command) {
  return among(kFar, command);
}

bool git_changes_files(std::string_view command) {
  return among(kNear, command);
}

}  // namespace sallyport
