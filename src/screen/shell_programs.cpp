// Programs whose words tell what they do: shells and other interpreters, find, sed, tar, git.
#include <algorithm>

#include "screen/shell_commands.h"
#include "screen/shell_reader.h"

namespace sallyport {
namespace {

using enum ScreenKind;

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
  } else if (is_shell(name)) {
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
    if (i < words.size() && git_reaches_far(words[i].text))
      report(http, at, "git " + words[i].text + " reaches the network");
    if (i < words.size() && git_changes_files(words[i].text))
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

}  // namespace sallyport
