// Programs that are never run, and flags and sub-commands with which others run commands.
#include <algorithm>

#include "base/text.h"
#include "input/command_wrappers.h"

namespace sallyport {
namespace {

struct Never {
  std::string_view names;  // between spaces
  std::string_view why;
};

// Nothing that a rule says lets these run: what they would run cannot be told from their words.
constexpr Never kNever[] = {
    {"sudo sudoedit doas su runuser pkexec sg newgrp setpriv capsh",
     "runs a command as another user"},
    {"chroot unshare nsenter bwrap firejail proot fakeroot systemd-run systemd-nspawn cgexec",
     "runs a command in another place"},
    {"busybox toybox", "is many programs in one, a shell among them"},
    {"ld.so ld-linux.so ld-linux-x86-64.so ld-musl-x86_64.so ld-linux",
     "runs any file as a program"},
    {"watch script parallel flock entr at batch crontab nc nc.openbsd nc.traditional ncat netcat "
     "socat expect unbuffer "
     "rlwrap "
     "screen tmux run-parts start-stop-daemon daemonize dbus-run-session dbus-launch ssh-agent",
     "passes a command on to a shell or to another process"},
    {"strace ltrace gdb lldb perf valgrind rr catchsegv", "starts and steers another program"},
    {"chrt taskset numactl prlimit choom cpulimit setarch linux linux32 faketime eatmydata "
     "torsocks torify proxychains proxychains4 cpulimit",
     "runs a command with other settings"},
    {"vim vi vim.tiny vim.basic nvim view ex ed emacs nano pico less more most pg mutt mail mailx "
     "ftp lynx w3m",
     "can start a shell from within"},
    {"zsh ksh ksh93 mksh rksh rbash fish csh tcsh pwsh xonsh nu elvish",
     "is a shell whose code is not understood here"},
    {"eval exec source . command builtin coproc trap alias export declare typeset enable",
     "is a part of the shell, and there is no shell"},
    {"npx pnpx bunx uvx pipx yarn pnpm tclsh wish osascript m4 dc gnuplot tex latex pdflatex "
     "xelatex "
     "lualatex xdg-open run-mailcap",
     "runs code that its words do not show"},
    {"psql mysql mariadb sqlite sqlite3 mongosh redis-cli", "has commands that start a shell"},
};

struct Danger {
  std::string_view program;      // as known_name() has it, or "program sub-command"
  std::string_view flags;        // between spaces
  std::string_view subcommands;  // between spaces; refused unless the rule names a sub-command
};

// What lets a compiler start another program, or load one into itself or its linker.
constexpr std::string_view kGccFlags =
    "-wrapper -B --prefix -specs --specs -fplugin -iplugindir -plugin";
constexpr std::string_view kClangFlags =
    "-B --prefix -fplugin -fpass-plugin -load -plugin --config --ld-path -fuse-ld --gcc-toolchain "
    "-ccc-gcc-name -ccc-install-dir";

// Programs that may run, but not like this. A rule that names the flag or the sub-command itself
// ("python3 -m", "docker run") allows it.
constexpr Danger kDanger[] = {
    {"ack", "--pager", ""},
    {"ag", "--pager", ""},
    {"apt", "-o --option -c --config-file", ""},
    {"apt-get", "-o --option -c --config-file", ""},
    {"bat", "--pager --config-file", ""},
    {"bundle", "", "exec"},
    {"cargo", "--config", "run bench test install"},
    {"cc", kGccFlags, ""},
    {"c++", kGccFlags, ""},
    {"c89", kGccFlags, ""},
    {"c99", kGccFlags, ""},
    {"cpp", kGccFlags, ""},
    {"clang", kClangFlags, ""},
    {"clang++", kClangFlags, ""},
    {"cpio", "--rsh-command --rmt-command", ""},
    {"cmake", "-P -E -C", ""},
    {"conda", "", "run"},
    {"curl", "-K --config", ""},
    {"diff3", "--diff-program", ""},
    {"docker", "", "run exec build buildx compose cp plugin"},
    {"dpkg", "--pre-invoke --post-invoke --admindir --root --instdir", ""},
    {"g++", kGccFlags, ""},
    {"gcc", kGccFlags, ""},
    {"git",
     "--exec-path --config-env --output --upload-pack --receive-pack --ext-diff --exec "
     "--open-files-in-pager --git-dir --work-tree",
     "submodule bisect filter-branch difftool mergetool config hook daemon instaweb send-email "
     "credential shell gui citool for-each-repo maintenance svn p4 web--browse remote-ext "
     "fast-import lfs annex"},
    {"git archive", "-o --remote", ""},
    {"git clone", "-u -c --config --template", ""},
    {"git grep", "-O", ""},
    {"git init", "--template", ""},
    {"git rebase", "-x -i --interactive", ""},
    {"gmake", "--eval -E", ""},
    {"go", "-exec -toolexec -vettool -overlay", "run generate tool test"},
    {"hg", "--config --config-file", ""},
    {"install", "--strip-program", ""},
    {"ip", "-b -batch", "netns vrf"},
    {"kubectl", "", "run exec debug cp edit plugin attach"},
    {"make", "--eval -E", ""},
    {"man", "-P --pager -H --html -B --recode", ""},
    {"nmap", "--script --datadir", ""},
    {"npm", "--script-shell --node-options",
     "exec x explore run run-script start stop restart test t init create install i ci rebuild"},
    {"openssl", "-engine -provider -provider-path -config", ""},
    {"pip", "--python", "install download wheel"},
    {"pipenv", "", "run shell"},
    {"podman", "", "run exec build buildx compose cp unshare"},
    {"poetry", "", "run shell"},
    {"prove", "-e --exec --source", ""},
    {"rg", "--pre --hostname-bin", ""},
    {"rsync", "-e --rsh --rsync-path -M --remote-option --daemon", ""},
    {"scp", "-o -S -F -D", ""},
    {"sdiff", "--diff-program", ""},
    {"sftp", "-o -S -F -D -b", ""},
    {"sort", "--compress-program", ""},
    {"split", "--filter", ""},
    {"ssh", "-o -F -J -E -S -I", ""},
    {"ssh-keygen", "-D -w", ""},
    {"svn", "--editor-cmd --diff-cmd --diff3-cmd --config-option --config-dir", ""},
    {"tar",
     "--to-command --checkpoint-action --use-compress-program -I --info-script "
     "--new-volume-script -F --rsh-command --rmt-command -T --files-from",
     ""},
    {"gtar",
     "--to-command --checkpoint-action --use-compress-program -I --info-script "
     "--new-volume-script -F --rsh-command --rmt-command -T --files-from",
     ""},
    {"bsdtar", "--use-compress-program -I -T --files-from", ""},
    {"tcpdump", "-z -w", ""},
    {"uv", "", "run tool"},
    {"wget", "--use-askpass -e --execute --config", ""},
    {"zip", "-T --test --unzip-command", ""},
};

// Programs that run code: given as an argument, it is code that no rule has seen.
constexpr Danger kInterpreters[] = {
    {"python", "-c -m -i", ""},
    {"pypy", "-c -m -i", ""},
    {"perl", "-e -E -M -m -I -d -x", ""},
    {"ruby", "-e -r -I -x", ""},
    {"node",
     "-e --eval -p --print -r --require --import --loader --experimental-loader -i "
     "--interactive --env-file",
     ""},
    {"nodejs", "-e --eval -p --print -r --require --import -i --interactive", ""},
    {"deno", "-e --eval", "eval repl x"},
    {"bun", "-e --eval -p --print -r --preload", "x exec repl"},
    {"php", "-r -B -R -F -E -d -a -c -z", ""},
    {"lua", "-e -l -i", ""},
    {"luajit", "-e -l -i -b -j", ""},
    {"Rscript", "-e", ""},
    {"R", "-e -f --args --file", ""},
    {"julia", "-e -E -L -p --eval --print --load", ""},
    {"guile", "-c -l -e", ""},
};

// gcc-14 is gcc; c99 is itself.
bool is_named(std::string_view program, std::string_view name) {
  return known_name(program) == name || program.substr(program.rfind('/') + 1) == name;
}

// -x in any cluster of short flags; a flag's attached value is not told from one.
bool is_flag(std::string_view word, std::string_view flag) {
  if (word.size() < 2 || word[0] != '-') return false;
  const std::string_view name = word.substr(0, word.find('='));
  if (flag.size() == 2 && flag[0] == '-' && flag[1] != '-')
    return word[1] != '-' && name.substr(1).contains(flag[1]);
  if (name == flag) return true;
  if (!flag.starts_with("--")) {
    // -exec, as find and Go have them; the latter take --exec too.
    return name.starts_with("--") && name.substr(1) == flag;
  }
  return name.size() > 2 && name.starts_with("--") && flag.starts_with(name);
}

// Whether the first argument is flags without a dash, whose values follow in turn: tar xfI FILE
// PROGRAM.
bool has_bundle(std::span<const std::string> words) {
  constexpr std::string_view kPrograms[] = {"tar", "gtar", "bsdtar", "jar", "ar"};
  return words.size() > 1 && !words[1].starts_with('-') &&
         std::ranges::find(kPrograms, known_name(words[0])) != std::end(kPrograms);
}

// Where the words end that may be flags: at a "--" that cannot be the value of an option. It may be
// one in "--grep -- --output=x", and in "tar xf -- --to-command=x".
std::size_t end_of_flags(std::span<const std::string> words) {
  if (has_bundle(words)) return words.size();
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i] == "--" && (i == 1 || !words[i - 1].starts_with('-'))) return i;
  return words.size();
}

// The row holds for "git clone" where the rule names the sub-command, and otherwise wherever the
// word stands: which word is the sub-command depends on options that are not known here.
bool applies(const Danger& row, const InnerCommand& command, std::size_t named) {
  const auto key = split_words(row.program);
  if (!is_named(command.words[0], key[0])) return false;
  if (key.size() == 1) return true;
  if (named >= 2 && !command.words[1].starts_with('-')) return command.words[1] == key[1];
  return std::ranges::find(command.words, key[1]) != command.words.end();
}

std::unexpected<Error> refused(std::string_view program, std::string_view word) {
  return fail(Reason::argument,
              std::string(program) + " with " + quoted(word) +
                  " is refused: it can run another command or write a file of its choice",
              "leave it away; flags with a value in one word are taken for several flags; write "
              "the value as a word of its own");
}

// A compiler puts the words of FILE in the place of @FILE, wherever it stands and before it looks
// at any flag: behind "--", too, and in what it passes on (-Wl,@FILE).
bool reads_response_files(std::string_view program) {
  constexpr std::string_view kCompilers[] = {"cc",  "c++", "c89",   "c99",    "cpp",
                                             "gcc", "g++", "clang", "clang++"};
  return std::ranges::any_of(kCompilers,
                             [&](std::string_view name) { return is_named(program, name); });
}

Result<void> check_response_files(const InnerCommand& command, std::size_t named) {
  const std::string name(known_name(command.words[0]));
  if (!reads_response_files(command.words[0])) return {};
  if (command.unseen_words)
    return fail(Reason::argument,
                name + " would get words that nobody has seen, and they could be @FILE",
                "give them directly, not by xargs");
  for (const std::string& word : std::span(command.words).subspan(named))
    if (word.starts_with('@') || word.contains(",@"))
      return fail(Reason::argument,
                  name + " with " + quoted(word) +
                      " is refused: it takes its words from a file, which no rule has seen",
                  "write the words themselves");
    else if (word.starts_with("-Wl,") && word.contains("plugin"))
      return refused(name, word);
  return {};
}

Result<void> check_row(const Danger& row, const InnerCommand& command, std::size_t named) {
  const std::span<const std::string> words(command.words);
  std::vector<std::string_view> flags = split_words(row.flags);
  const auto rule = words.first(named);
  std::erase_if(flags,
                [&](std::string_view flag) { return std::ranges::find(rule, flag) != rule.end(); });
  const std::string_view name = known_name(command.words[0]);
  if (const auto flag = find_flag(words, flags)) return refused(name, *flag);
  if (named >= 2 && !words[1].starts_with('-')) return {};
  for (const std::string_view subcommand : split_words(row.subcommands))
    if (std::ranges::find(words.subspan(1), subcommand) != words.end())
      return fail(Reason::argument,
                  std::string(name) + " " + std::string(subcommand) +
                      " is refused: it runs code or commands of its own",
                  "it is allowed only by a rule that names this sub-command");
  // VAR=value for make is code; SHELL=... is the shortest.
  if (name == "make" || name == "gmake")
    for (const std::string& word : words.subspan(1))
      if (word.contains('=') && !word.starts_with('-')) return refused(name, word);
  // Before its sub-command, git takes its settings from the command line; which word is the
  // sub-command depends on options that are not known here.
  constexpr std::string_view kSettings[] = {"-c", "-C"};
  if (name == "git")
    if (const auto flag = find_flag(words, kSettings)) return refused(name, *flag);
  return {};
}

Result<void> check_interpreter(const Danger& row, const InnerCommand& command, std::size_t named) {
  const std::span<const std::string> words(command.words);
  const std::string_view name = known_name(words[0]);
  const std::vector<std::string_view> flags = split_words(row.flags);
  // A rule that names the script, or the flag, has said what runs.
  const std::string_view last = words[named - 1];
  if (named >= 2 && (!last.starts_with('-') || std::ranges::find(flags, last) != flags.end()))
    return {};
  if (const auto flag = find_flag(words, flags))
    return fail(Reason::argument,
                std::string(name) + " with " + quoted(*flag) +
                    " is refused: it runs code that no rule has seen",
                "put the code into a file and run that, or use a tool that runs code");
  for (const std::string_view subcommand : split_words(row.subcommands))
    if (std::ranges::find(words.subspan(1), subcommand) != words.end())
      return refused(name, subcommand);
  const auto script = std::ranges::find_if_not(
      words.subspan(1), [](std::string_view word) { return word.starts_with('-'); });
  constexpr std::string_view kQuestions[] = {"--version", "--help", "-V", "-v", "-h"};
  const bool question =
      words.size() == 2 && std::ranges::find(kQuestions, words[1]) != std::end(kQuestions);
  const bool from_stdin = std::ranges::any_of(words.subspan(1), [](std::string_view word) {
    return word == "-" || word.starts_with("/dev/") || word.starts_with("/proc/");
  });
  if (from_stdin || (script == words.end() && !question))
    return fail(Reason::argument,
                std::string(name) + " would read its program from standard input or a device",
                "name a script file");
  return {};
}

}  // namespace

bool may_get_flags(const InnerCommand& command) {
  const auto place = std::ranges::find_if(
      command.words, [](std::string_view word) { return word.contains("{}"); });
  const std::size_t end = end_of_flags(command.words);
  return command.unseen_words && (end == command.words.size() ||
                                  end > static_cast<std::size_t>(place - command.words.begin()));
}

std::optional<std::string_view> find_flag(std::span<const std::string> words,
                                          std::span<const std::string_view> flags) {
  const auto is_refused = [flags](std::string_view word) {
    return std::ranges::any_of(flags, [&](std::string_view flag) { return is_flag(word, flag); });
  };
  if (has_bundle(words) && is_refused("-" + words[1])) return words[1];
  for (const std::string& word : words.first(end_of_flags(words)).subspan(1))
    if (is_refused(word)) return word;
  return std::nullopt;
}

std::optional<std::string_view> never_runs(std::string_view program) {
  const std::string_view file = program.substr(program.rfind('/') + 1);
  for (const Never& row : kNever) {
    const auto names = split_words(row.names);
    if (std::ranges::find(names, known_name(program)) != names.end() ||
        std::ranges::find(names, file) != names.end())
      return row.why;
  }
  return std::nullopt;
}

Result<void> check_danger(const InnerCommand& command, std::size_t named) {
  if (auto checked = check_response_files(command, named); !checked) return checked;
  for (const Danger& row : kDanger) {
    if (!applies(row, command, named)) continue;
    // Words that nobody has seen may be any flag, unless they come behind "--".
    if (may_get_flags(command))
      return fail(Reason::argument,
                  std::string(known_name(command.words[0])) +
                      " would get words that nobody has seen, and they could be flags",
                  "write \"--\" before the words that xargs adds");
    if (Result<void> checked = check_row(row, command, named); !checked) return checked;
  }
  for (const Danger& row : kInterpreters) {
    if (!applies(row, command, named)) continue;
    if (command.unseen_words)
      return fail(
          Reason::argument,
          std::string(known_name(command.words[0])) + " would get words that nobody has seen",
          "give them directly, not by xargs");
    if (Result<void> checked = check_interpreter(row, command, named); !checked) return checked;
  }
  return {};
}

}  // namespace sallyport
