#include "door/cli/suggest_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/file.h"
#include "base/parse.h"
#include "base/text.h"
#include "cell/root_layout.h"

namespace sallyport {
namespace {

constexpr std::size_t kSeveral = 3;
constexpr std::size_t kMostSymlinks = 40;  // as many as the kernel follows

constexpr std::string_view kScratchPlaces[] = {"/tmp", "/workspace", "/dev/shm"};

constexpr std::string_view kWidePlaces[] = {
    "/",         "/boot",        "/etc",       "/home",    "/lost+found", "/media",
    "/mnt",      "/opt",         "/root",      "/run",     "/srv",        "/tmp",
    "/var",      "/var/backups", "/var/cache", "/var/lib", "/var/local",  "/var/log",
    "/var/mail", "/var/opt",     "/var/spool", "/var/tmp", "/var/www",
};

// Directories and files by name.
constexpr std::string_view kSecretNames[] = {
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".my.cnf",
    ".htpasswd",
    ".vault-token",
    ".password-store",
    "gcloud",
    "credentials",
    "credentials.json",
    "secrets",
    "secrets.json",
    "secrets.yaml",
    "secrets.yml",
    "shadow",
    "gshadow",
    "id_rsa",
    "id_ed25519",
    "id_ecdsa",
    "id_dsa",
    ".mozilla",
    "keyrings",
};
constexpr std::string_view kSecretEndings[] = {".pem", ".key", ".p12", ".pfx", ".kdbx", ".keytab"};

bool is_secret_name(std::string_view name) {
  return std::ranges::find(kSecretNames, name) != std::end(kSecretNames) || name == ".env" ||
         name.starts_with(".env.") ||
         std::ranges::any_of(kSecretEndings,
                             [&](std::string_view ending) { return name.ends_with(ending); });
}

std::string parent_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string_view::npos ? "/" : std::string(path.substr(0, slash));
}

std::optional<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), ::free);
  if (!real) return std::nullopt;
  return std::string(real.get());
}

enum class Kind { file, directory, other };
Kind kind_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return Kind::other;
  if (S_ISDIR(status.st_mode)) return Kind::directory;
  return S_ISREG(status.st_mode) ? Kind::file : Kind::other;
}

// The first component that is a symlink, with all before it; empty when there is none.
std::string first_symlink(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    std::string part = path.substr(0, slash);
    struct stat status{};
    if (::lstat(part.c_str(), &status) == 0 && S_ISLNK(status.st_mode)) return part;
    if (slash == std::string::npos) return {};
  }
}

std::string followed(const std::string& path, const std::string& link) {
  char target[PATH_MAX];
  const ssize_t size = ::readlink(link.c_str(), target, sizeof(target));
  if (size <= 0) return {};
  const std::string text(target, static_cast<std::size_t>(size));
  const std::string rest = path.substr(link.size());
  return plain_path((text.starts_with('/') ? text : parent_of(link) + "/" + text) + rest);
}

// The program that the kernel starts for a script: no call of the tool names it.
std::string interpreter_of(const std::string& script) {
  const Fd file(::open(script.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  char line[256];
  const ssize_t size =
      file && kind_of(script) == Kind::file ? ::read(file.get(), line, sizeof(line)) : -1;
  if (size < 3 || line[0] != '#' || line[1] != '!') return {};
  std::string_view rest(line + 2, static_cast<std::size_t>(size) - 2);
  rest = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  return plain_path(rest.substr(0, rest.find_first_of(" \t\r")));
}

bool covered(const std::set<std::string>& whole, const std::string& path) {
  for (std::string place = path;; place = parent_of(place)) {
    if (whole.contains(place)) return true;
    if (place == "/") return false;
  }
}

class Suggestion {
 public:
  explicit Suggestion(const std::vector<Grant>& given) : given_(given) {}

  void add(const std::string& path, const FileUse& use) {
    if (const Grant* grant = grant_over(path)) {
      const auto& inside = inside_of(*grant);
      if (grant->write || inside != grant->host) {
        // Given as it is: what the user wrote is what he wants.
        auto& list = grant->write && use.written ? written_ : seen_;
        list.insert({grant->host, inside, false});
        return;
      }
    } else if (std::ranges::any_of(kScratchPlaces, [&](auto p) { return lies_in(path, p); })) {
      return;  // every cell has it
    } else if (lies_in(path, "/etc")) {
      if (!is_in_own_etc(path) && kind_of(path) != Kind::other) result_.not_in_cells.insert(path);
      return;
    }
    if (use.written && !is_shown_anyway(path)) result_.refused_writes.insert(parent_of(path));
    if (use.read || use.executed || use.listed) add_read(path, use.executed);
  }

  SuggestedFiles finish() {
    std::map<std::string, bool> known;
    const auto may_give = [&](const std::string& directory) {
      const auto [entry, first] = known.try_emplace(directory, false);
      if (first)
        entry->second =
            !is_too_wide(directory) && !names_secret(directory) && !holds_secrets(directory);
      return entry->second;
    };
    std::set<std::string> whole = cover(files_, listed_, may_give);
    for (const std::string& directory : listed_)
      if (!covered(whole, directory)) result_.not_whole.insert(directory);
    std::set<SuggestedFile> lines = add_aliases(whole, may_give);
    for (const std::string& path : whole)
      lines.insert({path, path, names_secret(path)});
    for (const SuggestedFile& line : seen_)
      if (!written_.contains(line)) lines.insert(line);
    take(lines, result_.read);
    take(written_, result_.write);
    return std::move(result_);
  }

 private:
  static const std::string& inside_of(const Grant& grant) {
    return grant.inside.empty() ? grant.host : grant.inside;
  }

  // The innermost one.
  const Grant* grant_over(const std::string& path) const {
    const Grant* found = nullptr;
    for (const Grant& grant : given_)
      if (lies_in(path, inside_of(grant)) &&
          (found == nullptr || inside_of(grant).size() > inside_of(*found).size()))
        found = &grant;
    return found;
  }

  void add_read(const std::string& path, bool executed, int depth = 0) {
    const auto real = real_path(path);
    if (!real) return;
    const Kind kind = kind_of(*real);
    if (kind == Kind::other) return;
    if (executed && depth < 4)
      if (const std::string program = interpreter_of(*real);
          !program.empty() && !is_shown_anyway(program))
        add_read(program, true, depth + 1);
    if (is_shown_anyway(path)) return;
    if (*real != path)
      aliases_.insert({*real, path, names_secret(*real) || names_secret(path)});
    else
      (kind == Kind::directory ? listed_ : files_).insert(path);
  }

  // A grant goes through no symlink. Where the symlink itself is seen, what it leads to is given at
  // its own place; otherwise it is given at the place where the command looks for it.
  template <class MayGive>
  std::set<SuggestedFile> add_aliases(std::set<std::string>& whole, const MayGive& may_give) {
    std::map<std::string, std::size_t> used;  // by symlink
    for (const SuggestedFile& alias : aliases_)
      ++used[first_symlink(alias.inside)];
    std::set<SuggestedFile> lines;
    std::set<std::string> places;
    for (const SuggestedFile& alias : aliases_) {
      std::string path = alias.inside, link = first_symlink(path);
      for (std::size_t i = 0; i < kMostSymlinks && !link.empty(); ++i) {
        if (!covered(whole, parent_of(link)) && !is_shown_anyway(link)) break;
        path = followed(path, link);
        link = path.empty() ? "" : first_symlink(path);
      }
      if (path.empty() || is_shown_anyway(path) || covered(whole, path) || covered(places, path))
        continue;
      if (link.empty()) {
        whole.insert(path);
        continue;
      }
      const auto target = real_path(link);
      SuggestedFile line{alias.host, path, alias.secret};
      if (target && kind_of(*target) == Kind::directory && link != path && used[link] >= kSeveral &&
          may_give(*target))
        line = {*target, link, false};
      if (kind_of(line.host) == Kind::directory && !is_shown_anyway(line.host) &&
          !may_give(line.host)) {
        result_.not_whole.insert(line.inside);
        continue;
      }
      if (!check_grant_place(line.inside)) continue;
      places.insert(line.inside);
      lines.insert(std::move(line));
    }
    return lines;
  }

  // What a policy file can say: visible text, and nothing that means something else there.
  void take(const std::set<SuggestedFile>& from, std::vector<SuggestedFile>& into) {
    for (const SuggestedFile& line : from) {
      const std::string all = line.host + line.inside;
      const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
      const auto divides = [](const std::string& path) {
        return path.find(":/") != std::string::npos || path.ends_with(':');
      };
      const bool odd = to_utf8(all) != all || all.find_first_of("*?[") != std::string::npos ||
                       std::ranges::any_of(all, is_control) || divides(line.host) ||
                       divides(line.inside);
      if (odd)
        result_.unwritable.insert(line.inside);
      else
        into.push_back(line);
    }
  }

  const std::vector<Grant>& given_;
  std::set<std::string> files_, listed_;
  std::set<SuggestedFile> aliases_, seen_, written_;
  SuggestedFiles result_;
};

bool search_secrets(const std::string& directory, int depth, int& left) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory.c_str()), ::closedir);
  if (!listing) return false;
  std::vector<std::string> below;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (--left < 0) return false;
    if (is_secret_name(name)) return true;
    if (entry->d_type == DT_DIR && depth > 0) below.push_back(name);
  }
  return std::ranges::any_of(below, [&](const std::string& name) {
    return search_secrets(directory + "/" + name, depth - 1, left);
  });
}

}  // namespace

bool is_too_wide(std::string_view directory) {
  if (std::ranges::find(kWidePlaces, directory) != std::end(kWidePlaces)) return true;
  return parent_of(directory) == "/home";
}

bool names_secret(std::string_view path) {
  while (!path.empty())
    if (is_secret_name(take(path, '/'))) return true;
  return false;
}

bool holds_secrets(const std::string& directory) {
  constexpr int kDepth = 3;
  int entries = 5'000;
  return search_secrets(directory, kDepth, entries);
}

std::set<std::string> cover(const std::set<std::string>& files, const std::set<std::string>& listed,
                            const std::function<bool(const std::string&)>& may_give_whole) {
  std::set<std::string> whole = files;
  for (const std::string& directory : listed)
    if (may_give_whole(directory)) whole.insert(directory);
  for (bool changed = true; changed;) {
    changed = false;
    std::erase_if(whole, [&](const std::string& path) {
      return path != "/" && covered(whole, parent_of(path));
    });
    std::map<std::string, std::size_t> entries;
    for (const std::string& path : whole)
      ++entries[parent_of(path)];
    for (const auto& [directory, count] : entries) {
      if (count < kSeveral || whole.contains(directory) || !may_give_whole(directory)) continue;
      whole.insert(directory);
      changed = true;
    }
  }
  return whole;
}

SuggestedFiles suggest_files(const std::map<std::string, FileUse>& asked,
                             const std::vector<Grant>& given) {
  Suggestion suggestion(given);
  for (const auto& [path, use] : asked)
    suggestion.add(path, use);
  return suggestion.finish();
}

}  // namespace sallyport
