// What the commands of a shell script do.
#include <algorithm>

#include "base/base64.h"
#include "base/text.h"
#include "screen/shell_reader.h"

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
// Commands that only print their words.
constexpr std::string_view kOnlyPrints[] = {"echo", "printf", ":", "true",     "false",   "return",
                                            "exit", "test",   "[", "basename", "dirname", "expr"};

template <std::size_t N>
bool among(const std::string_view (&list)[N], std::string_view word) {
  return std::ranges::find(list, word) != std::end(list);
}

std::string base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

std::string_view what_of(ScreenKind kind) {
  return kScreenCategories[static_cast<std::size_t>(kind)].what;
}

// Whether an awk program starts others, or writes: outside of its strings and patterns, near
// enough.
std::optional<ScreenKind> awk_danger(std::string_view program) {
  std::string bare;
  bool quoted_text = false;
  for (std::size_t at = 0; at < program.size(); ++at) {
    if (program[at] == '\\') {
      ++at;
    } else if (program[at] == '"') {
      quoted_text = !quoted_text;
    } else if (!quoted_text) {
      bare.push_back(program[at]);
    }
  }
  if (bare.contains("system(") || bare.contains("system (") || bare.contains("|")) {
    // `a || b` is no pipe.
    std::string without = bare;
    for (std::size_t at; (at = without.find("||")) != std::string::npos;)
      without.erase(at, 2);
    if (without.contains("system") || without.contains('|')) return os_command;
  }
  const std::size_t print = bare.find("print");
  if (print != std::string::npos && bare.substr(print).contains('>') &&
      program.substr(program.find("print")).find("> \"") != std::string_view::npos)
    return file_write;
  return std::nullopt;
}

}  // namespace

const ScreenKind* shell_command_kind(std::string_view name) {
  const auto* row = std::ranges::lower_bound(kCommands, name, {}, &CommandRow::name);
  if (row != std::end(kCommands) && row->name == name) return &row->kind;
  static constexpr ScreenKind kFileSystem = file_system;
  return name.starts_with("mkfs.") ? &kFileSystem : nullptr;
}

void ShellReader::report(ScreenKind kind, CodeSpan at, std::string why) {
  if (reading_.within) why.append(" (in a command within a string)");
  reading_.report.add(kind, reading_.within.value_or(at), std::move(why));
}

void ShellReader::read(const SyntaxTree& tree) {
  tree_ = &tree;
  for (NodeId id = 0; id < tree.size(); ++id)
    remember(id);
  for (NodeId id = 0; id < tree.size(); ++id)
    check(id);
  if (exhausted_ || !reading_.report.spend_step())
    report(dynamic, {}, "the script is too tangled to be followed");
}

void ShellReader::check(NodeId id) {
  const SyntaxNode& node = (*tree_)[id];
  switch (node.kind) {
    case Kind::command:
      check_command(id);
      break;
    case Kind::file_redirect:
      check_redirect(id);
      break;
    case Kind::variable_assignment:
      check_assignment(id);
      break;
    case Kind::function_definition: {
      // :(){ :|:& };:
      const std::string_view name = tree_->text(tree_->child(id, Field::name));
      for (NodeId at = id; at < tree_->size() && (*tree_)[at].begin < node.end; ++at)
        if (tree_->kind(at) == Kind::pipeline) {
          std::size_t calls = 0;
          for (const NodeId part : tree_->named(at))
            if (tree_->text(tree_->child(part, Field::name)) == name) ++calls;
          if (calls > 1)
            report(process, {node.begin, node.end}, "a function that starts itself twice");
        } else if (at != id && tree_->kind(at) == Kind::function_definition) {
          break;
        }
      break;
    }
    case Kind::error: {
      // The grammar does not know `exec 3<>/dev/tcp/...`.
      if (node.parent != kNoNode && tree_->text(node.parent).size() < 4096 &&
          tree_->text(node.parent).contains("/dev/tcp/"))
        report(ScreenKind::socket, {node.begin, node.end}, "/dev/tcp opens a network connection");
      break;
    }
    default:
      break;
  }
}

void ShellReader::check_assignment(NodeId id) {
  const std::string_view name = tree_->text(tree_->child(id, Field::name));
  for (const CommandRow& row : kVariables)
    if (row.name == name && (tree_->text(id).size() > name.size() + 1))
      report(row.kind, {(*tree_)[id].begin, (*tree_)[id].end},
             std::string(name) + " makes programs load or run something else");
}

void ShellReader::check_redirect(NodeId id) {
  const SyntaxNode& node = (*tree_)[id];
  const NodeId target = tree_->child(id, Field::destination);
  const std::string_view text = tree_->text(id);
  const bool writes =
      text.substr(0, (target == kNoNode ? node.end : (*tree_)[target].begin) - node.begin)
          .contains('>');
  for (const ShellWord& word : expand(target)) {
    const std::string& path = word.text;
    if (path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")) {
      report(ScreenKind::socket, {node.begin, node.end}, "/dev/tcp opens a network connection");
      continue;
    }
    if (is_system_path(path))
      report(system_path, {node.begin, node.end}, quoted(path) + " is a file of the system");
    if (!writes) continue;
    const bool number = word.known && path.find_first_not_of("0123456789-") == std::string::npos;
    const bool nowhere = path == "/dev/null" || path == "/dev/stdout" || path == "/dev/stderr" ||
                         path == "/dev/tty" || path.starts_with("/dev/fd/");
    if (!number && !nowhere)
      report(file_write, {node.begin, node.end}, "writes a file by redirection");
  }
}

void ShellReader::check_command(NodeId id) {
  command_ = id;
  const SyntaxNode& node = (*tree_)[id];
  CodeSpan at{node.begin, node.end};
  // The words before the redirections, if a here-document made the node long.
  for (auto& words : words_of(id))
    check_words(std::move(words), at);
  command_ = kNoNode;
}

// What the command reads, if that can be told: a here-document, a here-string, an echo before it.
std::optional<std::string> ShellReader::given_on_stdin(NodeId command) {
  const auto text_of_redirect = [&](NodeId redirect) -> std::optional<std::string> {
    if (tree_->kind(redirect) == Kind::herestring_redirect) {
      const Words words = expand(redirect);
      if (!words.empty() && words[0].known) return words[0].text;
    }
    if (tree_->kind(redirect) == Kind::heredoc_redirect)
      for (const NodeId part : tree_->named(redirect))
        if (tree_->kind(part) == Kind::heredoc_body) return std::string(tree_->text(part));
    return std::nullopt;
  };
  for (const NodeId part : tree_->named(command))
    if (auto text = text_of_redirect(part)) return text;
  NodeId up = (*tree_)[command].parent;
  if (tree_->kind(up) == Kind::redirected_statement) {
    for (const NodeId part : tree_->named(up))
      if (auto text = text_of_redirect(part)) return text;
    if (tree_->kind((*tree_)[up].parent) == Kind::pipeline) up = (*tree_)[up].parent;
  }
  if (tree_->kind(up) != Kind::pipeline) return std::nullopt;
  std::optional<std::string> text;
  std::size_t stages = 0;
  for (NodeId part = (*tree_)[up].first; part != kNoNode; part = (*tree_)[part].next) {
    if (!(*tree_)[part].named) continue;
    if (part == command) return text;
    if (++stages > 8) return std::nullopt;
    if (tree_->kind(part) != Kind::command) {
      text.reset();
      continue;
    }
    const auto commands = words_of(part);
    if (commands.empty() || commands[0].empty()) return std::nullopt;
    const std::vector<ShellWord>& words = commands[0];
    const std::string name = base_name(words[0].text);
    const auto has = [&](std::string_view option) {
      return std::ranges::any_of(words, [&](const ShellWord& word) { return word.text == option; });
    };
    if (name == "echo" || name == "printf") {
      const ShellWord said = printed_by(words);
      if (!said.known) return std::nullopt;
      text = said.text;
    } else if (name == "base64" && text && (has("-d") || has("--decode") || has("-D"))) {
      std::erase_if(*text, [](char c) { return c == '\n' || c == ' '; });
      text = from_base64(*text);
    } else if (name == "rev" && text) {
      std::ranges::reverse(*text);
    } else if (name != "cat") {
      text.reset();
    }
  }
  return std::nullopt;
}

void ShellReader::check_pipe_to(std::string_view program, Language language, NodeId id) {
  const CodeSpan at = id == kNoNode ? CodeSpan{} : CodeSpan{(*tree_)[id].begin, (*tree_)[id].end};
  if (id != kNoNode)
    if (const auto text = given_on_stdin(id)) {
      read_inner(*text, language, reading_, at);
      return;
    }
  report(dynamic_code, at, std::string(program) + " runs what it reads as code");
}

void ShellReader::check_code(const ShellWord& code, Language language, CodeSpan at) {
  if (!code.text.empty()) read_inner(code.text, language, reading_, at);
  if (!code.known) report(dynamic, at, "runs code that only the run decides");
}

void ShellReader::check_arguments(std::string_view name, std::span<const ShellWord> words,
                                  CodeSpan at) {
  if (among(kOnlyPrints, name)) return;
  for (const ShellWord& word : words) {
    std::string_view text = word.text;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos && !text.starts_with('/')) text.remove_prefix(equals + 1);
    if (text.starts_with('@')) text.remove_prefix(1);
    if (text.starts_with("/dev/tcp/"))
      report(ScreenKind::socket, at, "/dev/tcp opens a network connection");
    else if (is_system_path(text))
      report(system_path, at, quoted(text) + " is a file of the system");
  }
}

// Takes a wrapper off the front. False: there is nothing behind it.
bool ShellReader::unwrap(std::vector<ShellWord>& words, CodeSpan at, unsigned depth) {
  const std::string name = base_name(words[0].text);
  std::size_t next = 1;
  if (name == "sudo" || name == "doas")
    report(process, at, name + " runs a program as another user");
  if (name == "chroot" || name == "unshare" || name == "nsenter")
    report(process, at, name + " leaves the place that the program was given");
  while (next < words.size()) {
    const std::string& word = words[next].text;
    if (word == "--") {
      ++next;
      break;
    }
    if (word.starts_with('-') && word.size() > 1) {
      if (name == "script" && word == "-c" && next + 1 < words.size()) {
        check_code(words[next + 1], Language::shell, at);
        return false;
      }
      if (name == "env" && (word == "-S" || word.starts_with("--split-string"))) {
        if (next + 1 < words.size()) check_code(words[next + 1], Language::shell, at);
        return false;
      }
      if (name == "command" && (word == "-v" || word == "-V")) return false;  // only asks
      const bool takes = word.size() == 2 && among(kTakesWord, word) && name != "time" &&
                         !(name == "env" && word == "-i") && !(name == "sudo" && word == "-n") &&
                         !(name == "sudo" && word == "-E") && !(name == "command") &&
                         !(name == "xargs" && (word == "-t" || word == "-p")) &&
                         !(name == "exec" && word == "-c") && !(name == "setsid") &&
                         !(name == "watch" && (word == "-t" || word == "-e")) && !(name == "nohup");
      next += takes ? 2 : 1;
      continue;
    }
    if (word.contains('=') && (name == "env" || name == "sudo" || name == "doas")) {
      for (const CommandRow& row : kVariables)
        if (word.starts_with(std::string(row.name) + "="))
          report(row.kind, at,
                 std::string(row.name) + " makes programs load or run something else");
      ++next;
      continue;
    }
    // timeout 5 rm; taskset 1 rm; chroot DIR rm; flock FILE rm
    const bool number = !word.empty() && word[0] >= '0' && word[0] <= '9';
    if ((number && (name == "timeout" || name == "taskset" || name == "chrt")) ||
        ((name == "chroot" || name == "flock") && next == 1)) {
      ++next;
      continue;
    }
    break;
  }
  if (next >= words.size()) return false;
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(next));
  if ((name == "watch" || name == "parallel") && words.size() == 1 && words[0].text.contains(' ')) {
    check_code(words[0], Language::shell, at);
    return false;
  }
  (void)depth;
  return true;
}

void ShellReader::check_words(std::vector<ShellWord> words, CodeSpan at, unsigned depth) {
  if (depth > 16) {
    report(dynamic, at, "a command behind too many others");
    return;
  }
  while (true) {
    if (words.empty()) return;
    if (!words[0].known || words[0].text.empty() ||
        words[0].text.find_first_of("*?{[") != std::string::npos) {
      if (words[0].text == "[" || words[0].text == "[[") break;
      report(dynamic, at, "which command this is, only the run decides");
      check_arguments("", std::span(words).subspan(1), at);
      return;
    }
    if (const auto alias = aliases_.find(words[0].text); alias != aliases_.end() && depth < 8) {
      const std::string text = alias->second;
      read_inner(text, Language::shell, reading_, at);
      return;
    }
    if (functions_.contains(words[0].text)) return;
    const std::string name = base_name(words[0].text);
    const bool loader =
        name.starts_with("ld-linux") || name.starts_with("ld.so") || name == "ld.so";
    if (!among(kWrappers, name) && !loader) break;
    if (loader) report(native_code, at, "starts a program through the loader");
    if (!unwrap(words, at, depth)) return;
    ++depth;
    if (depth > 16) break;
  }
  if (words.empty() || !words[0].known || words[0].text.empty()) {
    report(dynamic, at, "which command this is, only the run decides");
    return;
  }
  const std::string name = base_name(words[0].text);
  const auto rest = std::span<const ShellWord>(words).subspan(1);
  if (const ScreenKind* kind = shell_command_kind(name)) {
    // Asking a tool for its version does nothing else.
    const bool asks = rest.size() == 1 && (rest[0].text == "--version" || rest[0].text == "--help");
    if (!asks) report(*kind, at, escape_for_terminal(name) + " " + std::string(what_of(*kind)));
  }
  check_program(name, rest, at, depth);
  check_arguments(name, rest, at);
}

void ShellReader::check_program(std::string_view name, std::span<const ShellWord> words,
                                CodeSpan at, unsigned depth) {
  const auto option_at = [&](auto&& is) -> std::size_t {
    return static_cast<std::size_t>(std::ranges::find_if(words, is) - words.begin());
  };
  const auto behind = [&](std::size_t i) {
    return std::vector<ShellWord>(words.begin() + static_cast<std::ptrdiff_t>(i + 1), words.end());
  };
  if (name == "eval" || name == "trap") {
    ShellWord code;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (name == "trap" && i > 0) break;
      if (!code.known) break;
      code.text.append(i > 0 ? " " : "").append(words[i].text);
      code.known = words[i].known;
    }
    if (name == "eval") report(dynamic_code, at, "eval runs text as code");
    check_code(code, Language::shell, at);
  } else if (name == "source" || name == ".") {
    report(dynamic_code, at, "runs the script of another file");
  } else if (among(kShells, name)) {
    const std::size_t code = option_at([](const ShellWord& word) {
      return word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('c');
    });
    if (code + 1 < words.size()) {
      report(os_command, at, std::string(name) + " -c runs a command line");
      check_code(words[code + 1], Language::shell, at);
    } else if (std::ranges::all_of(words, [](const ShellWord& word) {
                 return word.text.starts_with('-') && word.known;
               })) {
      check_pipe_to(name, Language::shell, command_);
    } else {
      report(process, at, "runs another script");
    }
  } else if (const auto language = language_named(name); language && *language != Language::shell) {
    const std::size_t code = option_at([&](const ShellWord& word) {
      return word.text == (*language == Language::python ? "-c" : "-e") || word.text == "--eval" ||
             word.text == "-p" || word.text == "--print";
    });
    const bool asks = words.size() == 1 && (words[0].text == "--version" || words[0].text == "-V" ||
                                            words[0].text == "-v");
    if (code + 1 < words.size()) {
      report(dynamic_code, at, std::string(name) + " runs text as code");
      check_code(words[code + 1], *language, at);
    } else if (words.empty() || words[0].text == "-") {
      check_pipe_to(name, *language, command_);
    } else if (!asks) {
      report(process, at, "runs a program of another file");
    }
  } else if (name == "perl" || name == "ruby" || name == "php" || name == "lua" ||
             name == "tclsh") {
    report(dynamic_code, at, std::string(name) + " runs code that is not read here");
  } else if (name == "find") {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i].text;
      if (word == "-delete") report(file_system, at, "find -delete removes files");
      if (word.starts_with("-fprint") || word == "-fls")
        report(file_write, at, "find " + word + " writes a file");
      if (word == "-exec" || word == "-execdir" || word == "-ok" || word == "-okdir") {
        std::vector<ShellWord> inner = behind(i);
        const auto end = std::ranges::find_if(
            inner, [](const ShellWord& one) { return one.text == ";" || one.text == "+"; });
        inner.erase(end, inner.end());
        check_words(std::move(inner), at, depth + 1);
      }
    }
  } else if (name == "awk" || name == "gawk" || name == "mawk" || name == "nawk") {
    for (const ShellWord& word : words) {
      if (word.text == "-f" || word.text == "--file")
        report(dynamic_code, at, "runs the awk program of a file");
      if (word.text.starts_with('-')) continue;
      if (!word.known) report(dynamic, at, "runs an awk program that only the run decides");
      if (const auto kind = awk_danger(word.text))
        report(*kind, at, std::string("the awk program ") + std::string(what_of(*kind)));
      break;
    }
  } else if (name == "sed") {
    for (const ShellWord& word : words) {
      if (word.text.starts_with("-i") || word.text.starts_with("--in-place") ||
          (word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('i') &&
           word.text.size() <= 4))
        report(file_write, at, "sed -i writes files");
      if (word.text.ends_with("/e") || word.text.starts_with("1e ") || word.text.starts_with("e "))
        report(os_command, at, "the sed script runs a command");
      if (word.text.contains("/w ") || word.text.starts_with("w ") || word.text.contains(";w "))
        report(file_write, at, "the sed script writes a file");
    }
  } else if (name == "sort") {
    for (const ShellWord& word : words) {
      if (word.text == "-o" || word.text.starts_with("--output"))
        report(file_write, at, "sort -o writes a file");
      if (word.text.starts_with("--compress-program"))
        report(process, at, "sort starts another program");
    }
  } else if (name == "tar") {
    bool lists = false;
    for (const ShellWord& word : words) {
      lists = lists || word.text == "-t" || word.text == "--list" || word.text == "-tf" ||
              word.text == "tf" || word.text == "-tzf" || word.text == "tzf" ||
              word.text == "-tvf" || word.text == "tvf";
      if (word.text.contains("checkpoint-action") || word.text.starts_with("--to-command") ||
          word.text.starts_with("--use-compress-program") || word.text.starts_with("-I"))
        report(os_command, at, "tar starts another program");
    }
    if (!lists) report(file_system, at, "tar writes files");
  } else if (name == "git") {
    std::size_t i = 0;
    while (i < words.size() && words[i].text.starts_with('-')) {
      if (words[i].text == "-c" || words[i].text.starts_with("--config-env") ||
          words[i].text.starts_with("--exec-path"))
        report(dynamic_code, at, "git -c can name programs to run");
      i += words[i].text == "-c" || words[i].text == "-C" ? 2 : 1;
    }
    constexpr std::string_view kFar[] = {"clone",     "fetch",     "pull",       "push",
                                         "ls-remote", "submodule", "remote-http"};
    constexpr std::string_view kNear[] = {
        "add", "am",    "apply",  "checkout", "clean",    "commit",      "config",
        "gc",  "init",  "merge",  "mv",       "rebase",   "reset",       "restore",
        "rm",  "stash", "switch", "tag",      "worktree", "cherry-pick", "revert"};
    if (i < words.size() && among(kFar, words[i].text))
      report(http, at, "git " + words[i].text + " reaches the network");
    if (i < words.size() && among(kNear, words[i].text))
      report(file_system, at, "git " + words[i].text + " changes files");
  } else if (name == "enable") {
    if (std::ranges::any_of(words,
                            [](const ShellWord& word) { return word.text.starts_with("-f"); }))
      report(native_code, at, "enable -f loads native code");
  } else if (name == "openssl") {
    if (!words.empty() && (words[0].text == "s_client" || words[0].text == "s_server"))
      report(ScreenKind::socket, at, "openssl opens network connections");
  }
}

void screen_shell(const SyntaxTree& tree, const CodeReading& reading) {
  ShellReader(reading).read(tree);
}

void screen_words(std::span<const std::string> words, const CodeReading& reading) {
  std::vector<ShellWord> list;
  for (const std::string& word : words)
    list.push_back({word, !word.empty()});
  // What is not known is not reported twice: starting a process was.
  if (list.empty() || list[0].text.empty()) return;
  ShellReader(reading).check_words(std::move(list), reading.within.value_or(CodeSpan{}));
}

}  // namespace sallyport
