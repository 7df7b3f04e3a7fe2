// What a file tool is told to do. The boundary writes the order, and our own program, inside the
// cell, reads it from standard input: see file_work.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sallyport {

// Where the file tools' cells show the program.
inline constexpr std::string_view kProgramInside = "/run/sallyport/sallyport";

enum class FileAction { read, write, edit, list, search };
[[nodiscard]] std::string_view name_of(FileAction action);
[[nodiscard]] std::optional<FileAction> file_action(std::string_view name);

// A place that the tool may touch.
struct FilePlace {
  std::string inside;     // absolute path in the cell: a directory or a file
  std::string names;      // a glob over the names below it; empty: everything
  std::string host = {};  // what it is on the host, for `denied` and protected names; never shown.
                          // Empty: the same as inside
};

struct FileOrder {
  std::string path;                     // as the caller wrote it; empty, to list: all places
  std::uint64_t offset = 0;             // read: where to begin
  std::optional<std::uint64_t> length;  // read: how many bytes at most
  std::string content;                  // write: the text
  bool append = false;                  // write: at the end of what is there
  std::string old_text;                 // edit: what to replace
  std::string new_text;                 // edit: by what
  bool all = false;                     // edit: every one; otherwise there must be one only
  bool recursive = false;               // list: what is in the directories within, too
  std::string pattern;                  // search: what to look for in a line
  bool regex = false;                   // search: it is a regular expression
  bool ignore_case = false;             // search: capitals and small letters are the same
  std::string names;                    // search: a glob over file names; empty: all
  std::uint64_t context = 0;            // search: lines to show before and after
  std::uint64_t max_answer = 50'000;    // bytes of the answer as JSON
  std::vector<FilePlace> places;        // in the order of the policy
  std::vector<std::string> denied;      // globs over host paths, as in ceiling.files.deny
};

[[nodiscard]] std::string to_text(const FileOrder& order);
[[nodiscard]] Result<FileOrder> parse_file_order(std::string_view text);

}  // namespace sallyport
