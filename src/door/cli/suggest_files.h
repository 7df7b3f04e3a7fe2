// From the paths that a command asked for to the files and directories that a policy would have to
// give it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cell/observe.h"
#include "cell/spec.h"

namespace sallyport {

// One line of `files`.
struct SuggestedFile {
  std::string host;  // absolute, without symlinks
  std::string
      inside;  // where the command looks for it; the same, unless it asked through a symlink
  bool secret = false;  // its name says that it holds secrets

  friend auto operator<=>(const SuggestedFile&, const SuggestedFile&) = default;
};

struct SuggestedFiles {
  std::vector<SuggestedFile> read, write;
  std::set<std::string> refused_writes;  // places it wanted to write to, and was not given
  std::set<std::string> not_in_cells;    // of /etc, which a cell has its own of
  std::set<std::string> not_whole;       // listed directories of which only files are suggested
  std::set<std::string> unwritable;      // that no policy file can name
};

// What has to be given so that everything that was asked for, and is there, can be had again.
// `given` are the grants that the user asked for; everything else was shown at its own path.
[[nodiscard]] SuggestedFiles suggest_files(const std::map<std::string, FileUse>& asked,
                                           const std::vector<Grant>& given);

// The files and listed directories, with a directory in the place of three or more of its entries,
// as far up as `may_give_whole` allows. A listed directory is given where it may be.
[[nodiscard]] std::set<std::string> cover(
    const std::set<std::string>& files, const std::set<std::string>& listed,
    const std::function<bool(const std::string&)>& may_give_whole);

// A directory that holds much more than one tool's files: /, /home, /home/USER, /var/lib and their
// like.
[[nodiscard]] bool is_too_wide(std::string_view directory);

// A name under which people keep keys, tokens or passwords, anywhere in the path.
[[nodiscard]] bool names_secret(std::string_view path);

// Whether a name like that lies in the directory or not far below. The search is bounded.
[[nodiscard]] bool holds_secrets(const std::string& directory);

}  // namespace sallyport
