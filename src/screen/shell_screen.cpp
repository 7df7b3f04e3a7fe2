// What the commands of a shell script do.
#include <algorithm>

#include "base/base64.h"
#include "base/text.h"
#include "screen/shell_commands.h"
#include "screen/shell_reader.h"

namespace sallyport {
namespace {

using enum ScreenKind;

std::string base_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace

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
  const ScreenKind* kind = shell_variable_kind(name);
  if (kind != nullptr && tree_->text(id).size() > name.size() + 1)
    report(*kind, {(*tree_)[id].begin, (*tree_)[id].end},
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
  if (only_prints(name)) return;
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
      const bool takes = word.size() == 2 && option_takes_word(word) && name != "time" &&
                         !(name == "env" && word == "-i") && !(name == "sudo" && word == "-n") &&
                         !(name == "sudo" && word == "-E") && !(name == "command") &&
                         !(name == "xargs" && (word == "-t" || word == "-p")) &&
                         !(name == "exec" && word == "-c") && !(name == "setsid") &&
                         !(name == "watch" && (word == "-t" || word == "-e")) && !(name == "nohup");
      next += takes ? 2 : 1;
      continue;
    }
    if (word.contains('=') && (name == "env" || name == "sudo" || name == "doas")) {
      const std::string variable = word.substr(0, word.find('='));
      if (const ScreenKind* kind = shell_variable_kind(variable))
        report(*kind, at, variable + " makes programs load or run something else");
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
    if (!is_wrapper(name) && !loader) break;
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
