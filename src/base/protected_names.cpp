#include "base/protected_names.h"

#include <string>
#include <vector>

#include "base/text.h"

namespace sallyport {
namespace {

using enum Protection;

constexpr std::string_view kGit = "git starts programs that it names";
constexpr std::string_view kRepository = "it leads git to another repository and its hooks";
constexpr std::string_view kShell = "a shell or a session runs it when it starts";
constexpr std::string_view kKeys = "it decides who may log in, and as whom";
constexpr std::string_view kEditor = "an editor takes commands from it";
constexpr std::string_view kAgent = "an agent takes instructions and commands from it";

constexpr ProtectedName kNames[] = {
    // git. Its own program may change the rest of .git in a cell; by hand nobody needs to.
    {".git", file_tools, "git alone writes it"},
    {".git", unless_directory, kRepository},
    {".git/**/hooks", always, kGit},
    {".git/**/config", always, kGit},
    {".git/**/config.worktree", always, kGit},
    {".git/**/info/attributes", always, kGit},
    {".git/**/commondir", always, kRepository},
    {".git/**/gitdir", always, kRepository},
    {".gitconfig", always, kGit},
    {".gitmodules", always, kGit},
    {".config/git", always, kGit},
    {".husky", always, kGit},
    {".pre-commit-config.yaml", always, kGit},
    // Shells and sessions
    {".bashrc", always, kShell},
    {".bash_profile", always, kShell},
    {".bash_login", always, kShell},
    {".bash_logout", always, kShell},
    {".bash_aliases", always, kShell},
    {".profile", always, kShell},
    {".zshrc", always, kShell},
    {".zshenv", always, kShell},
    {".zprofile", always, kShell},
    {".zlogin", always, kShell},
    {".zlogout", always, kShell},
    {".kshrc", always, kShell},
    {".cshrc", always, kShell},
    {".tcshrc", always, kShell},
    {".envrc", always, kShell},
    {".inputrc", always, kShell},
    {".xprofile", always, kShell},
    {".xinitrc", always, kShell},
    {".xsession", always, kShell},
    {".pam_environment", always, kShell},
    {".config/fish", always, kShell},
    {".config/autostart", always, kShell},
    {".config/environment.d", always, kShell},
    {".config/systemd", always, kShell},
    // Keys
    {".ssh", always, kKeys},
    {".gnupg", always, kKeys},
    // Editors
    {".vscode", always, kEditor},
    {"*.code-workspace", always, kEditor},
    {".devcontainer", always, kEditor},
    {".devcontainer.json", always, kEditor},
    {".idea", always, kEditor},
    {".zed", always, kEditor},
    {".vim", always, kEditor},
    {".vimrc", always, kEditor},
    {".exrc", always, kEditor},
    {".nvimrc", always, kEditor},
    {".nvim.lua", always, kEditor},
    {".config/nvim", always, kEditor},
    {".emacs", always, kEditor},
    {".emacs.d", always, kEditor},
    {".dir-locals.el", always, kEditor},
    // Agents
    {".claude", always, kAgent},
    {".claude.json", always, kAgent},
    {"claude.md", always, kAgent},
    {"claude.local.md", always, kAgent},
    {"agents.md", always, kAgent},
    {"gemini.md", always, kAgent},
    {".mcp.json", always, kAgent},
    {".cursor", always, kAgent},
    {".cursorrules", always, kAgent},
    {".codex", always, kAgent},
    {".gemini", always, kAgent},
    {".continue", always, kAgent},
    {".windsurf", always, kAgent},
    {".windsurfrules", always, kAgent},
    {".clinerules", always, kAgent},
    {".roo", always, kAgent},
    {".kiro", always, kAgent},
    {".opencode", always, kAgent},
    {"opencode.json", always, kAgent},
    {".aider.conf.yml", always, kAgent},
    {".github/copilot-instructions.md", always, kAgent},
    {".github/instructions", always, kAgent},
};

// What a file system that folds case takes no notice of (Unicode's Default_Ignorable_Code_Point).
bool is_ignorable(char32_t c) {
  return c == 0xAD || c == 0x34F || c == 0x61C || (c >= 0x115F && c <= 0x1160) ||
         (c >= 0x17B4 && c <= 0x17B5) || (c >= 0x180B && c <= 0x180F) ||
         (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2060 && c <= 0x206F) || c == 0x3164 || (c >= 0xFE00 && c <= 0xFE0F) ||
         c == 0xFEFF || c == 0xFFA0 || (c >= 0xFFF0 && c <= 0xFFF8) ||
         (c >= 0x1BCA0 && c <= 0x1BCA3) || (c >= 0x1D173 && c <= 0x1D17A) ||
         (c >= 0xE0000 && c <= 0xE0FFF);
}

std::string fold(std::string_view name) {
  std::string folded;
  while (!name.empty()) {
    const Utf8Char next = first_utf8_char(name);
    const std::string_view bytes = name.substr(0, next.length);
    name.remove_prefix(next.length);
    if (next.valid && is_ignorable(next.code)) continue;
    if (next.code >= 'A' && next.code <= 'Z')
      folded.push_back(static_cast<char>(next.code - 'A' + 'a'));
    else if (next.valid && next.code == 0x17F)  // the two letters outside of ASCII that fold to it:
      folded.push_back('s');                    // the long s
    else if (next.valid && next.code == 0x212A)
      folded.push_back('k');  // and the sign of Kelvin
    else
      folded.append(bytes);
  }
  // NTFS and FAT drop them.
  while (folded.ends_with('.') || folded.ends_with(' '))
    folded.pop_back();
  return folded;
}

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> components;
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    if (!name.empty()) components.push_back(fold(name));
  }
  return components;
}

bool is_name(std::string_view pattern, std::string_view name) {
  if (pattern.starts_with('*')) return name.ends_with(pattern.substr(1));
  return pattern == name;
}

// Where the match of a pattern ends that begins at `at`: the first end behind `chosen`, or 0.
std::size_t end_of_match(std::string_view pattern, const std::vector<std::string>& path,
                         std::size_t at, std::size_t chosen) {
  if (pattern.empty()) return at > chosen ? at : 0;
  const std::string_view first = pattern.substr(0, pattern.find('/'));
  const std::string_view rest = pattern.substr(std::min(pattern.size(), first.size() + 1));
  if (first == "**") {
    for (; at < path.size(); ++at)
      if (const std::size_t end = end_of_match(rest, path, at, chosen); end != 0) return end;
    return 0;
  }
  if (at == path.size() || !is_name(first, path[at])) return 0;
  return end_of_match(rest, path, at + 1, chosen);
}

}  // namespace

std::span<const ProtectedName> protected_names() {
  return kNames;
}

const ProtectedName* find_protected(const ProtectedQuery& query) {
  const std::vector<std::string> path = split(query.path);
  for (const ProtectedName& rule : kNames) {
    if (rule.protection == file_tools && !query.file_tool) continue;
    for (std::size_t start = 0; start < path.size(); ++start) {
      const std::size_t end = end_of_match(rule.pattern, path, start, query.chosen);
      if (end == 0) continue;
      if (rule.protection != unless_directory || (end == path.size() && !query.directory))
        return &rule;
    }
  }
  return nullptr;
}

}  // namespace sallyport
