// Names that make a program of the host's do something without being asked: git runs its hooks and
// what its configuration names, a shell reads its start-up files, an editor or an agent its
// settings. Whoever can write one of them in a tree decides what the owner of that tree runs next.
// So they are read-only for the file tools and for cells that write to a tree, and do not leave a
// cell, even where the tree around them is writable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sallyport {

// Where a rule holds.
enum class Protection : std::uint8_t {
  always,            // for the file tools and for what leaves a cell
  file_tools,        // for the file tools alone
  unless_directory,  // always, for the name itself when it is not a directory
};

struct ProtectedName {
  // Components of a path, at any depth: the last one and everything below it is protected. "**"
  // stands for any number of components, a leading '*' for any beginning of a name.
  std::string_view pattern;
  Protection protection;
  std::string_view why;  // "git runs what is in it"
};

// The whole table.
[[nodiscard]] std::span<const ProtectedName> protected_names();

struct ProtectedQuery {
  std::string_view path;   // regular; a leading '/' does not matter
  std::size_t chosen = 0;  // how many components at the front the operator named in a grant: a name
                           // that ends among them is the operator's choice
  bool file_tool = false;
  bool directory = false;
};

// The rule that protects a path, or nullptr. Names are compared as file systems that fold case do:
// without regard to case, to characters that are not seen, and to dots and spaces at the end.
[[nodiscard]] const ProtectedName* find_protected(const ProtectedQuery& query);

}  // namespace sallyport
