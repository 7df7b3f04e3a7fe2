// Reads Python: first which names are bound to what in which scope, then what every expression may
// be, then what every call does.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "screen/report.h"
#include "screen/value.h"

namespace sallyport {

[[nodiscard]] const NameTable& python_names();
[[nodiscard]] bool is_reflective(std::string_view attribute);
[[nodiscard]] bool is_python_builtin(std::string_view name);
// The one spelling of a path that the table has: posix.system is os.system.
[[nodiscard]] std::string python_path(std::string path);

// A constant string as written, with its prefix and quotes; no value for an f-string.
[[nodiscard]] std::string python_unescape(std::string_view body, bool bytes);

class PythonReader {
 public:
  PythonReader(const SyntaxTree& tree, CodeReading reading);
  void read();

 private:
  using Kind = NodeKind;
  using Field = NodeField;

  struct Binding {
    enum class How : std::uint8_t { path, value, item, each, augment, function, type, unknown };
    How how = How::unknown;
    NodeId node = kNoNode;    // an expression, or what augments
    std::uint32_t index = 0;  // of the item; of the scope
    std::string path;
  };
  struct Name {
    std::vector<Binding> bindings;
    bool busy = false, known = false;
    CodeValues values;
  };
  struct Scope {
    enum class Of : std::uint8_t { module, function, type, comprehension };
    Of of = Of::module;
    std::uint32_t parent = 0;
    std::unordered_map<std::string, Name> names;
    std::unordered_set<std::string> globals, nonlocals;
    std::vector<std::string> stars;  // modules imported whole
    std::vector<NodeId> returns;     // what a function gives back
    std::vector<std::string> parameters;
    bool busy = false;
  };

  // python_scopes.cpp
  void bind_all();
  void bind_node(NodeId id);
  void bind(std::uint32_t scope, std::string_view name, Binding binding);
  void bind_target(NodeId target, std::uint32_t scope, NodeId value, Binding::How how);
  void bind_imports(NodeId id);
  void bind_parameters(NodeId id, std::uint32_t scope);
  void bind_arguments();
  [[nodiscard]] std::uint32_t new_scope(NodeId id, Scope::Of of);

  // python_values.cpp
  [[nodiscard]] CodeValues value(NodeId id);
  [[nodiscard]] CodeValues work_out(NodeId id);
  [[nodiscard]] CodeValues look_up(std::string_view name, std::uint32_t scope);
  [[nodiscard]] Name* find_name(std::string_view name, std::uint32_t scope);
  [[nodiscard]] const CodeValues& values_of(Name& name);
  [[nodiscard]] CodeValues value_of(const Binding& binding, const CodeValues& before);
  [[nodiscard]] CodeValues member(const CodeValues& of, std::string_view name);
  [[nodiscard]] CodeValues item(const CodeValues& of, const CodeValues& key);
  [[nodiscard]] CodeValues each(const CodeValues& of);
  [[nodiscard]] CodeValues call_value(NodeId id);
  [[nodiscard]] CodeValues result_of(const CodeValue& function, NodeId call);
  [[nodiscard]] CodeValues comprehension(NodeId id);

  // python_fold.cpp
  [[nodiscard]] CodeValues fold_string(NodeId id);
  [[nodiscard]] CodeValues fold_operator(NodeId id);
  [[nodiscard]] CodeValues fold_plus(const CodeValues& left, const CodeValues& right);
  [[nodiscard]] CodeValues fold_percent(const CodeValues& left, const CodeValues& right);
  [[nodiscard]] CodeValues fold_slice(const CodeValues& of, NodeId slice);
  [[nodiscard]] CodeValues fold_method(const CodeValue& text, std::string_view method, NodeId call);
  [[nodiscard]] CodeValues fold_function(std::string_view path, NodeId call);
  // Whether so many bytes may be worked on; asked before, as what is asked often adds up.
  [[nodiscard]] bool may_fold(std::size_t bytes);
  [[nodiscard]] CodeValues folded(std::string text);

  // python_screen.cpp
  void check(NodeId id);
  void check_import(NodeId id);
  void check_call(NodeId id);
  void check_named_call(NodeId id, const std::string& path);
  void check_reference(NodeId id);
  void check_open(NodeId id, std::size_t mode_at, bool always_write);
  void check_paths(NodeId id, std::string_view callee);
  void check_url(NodeId id, const CodeValues& functions);
  void check_index(NodeId id);
  void check_encoding();
  void report(ScreenKind kind, NodeId id, std::string why);
  void report_name(const NameRow& row, NodeId id, const std::string& path);
  [[nodiscard]] NodeId argument(NodeId call, std::size_t at, std::string_view keyword = {}) const;
  [[nodiscard]] bool is_loaded(NodeId id) const;
  [[nodiscard]] CodeSpan span(NodeId id) const { return {tree_[id].begin, tree_[id].end}; }
  [[nodiscard]] std::string identifier(NodeId id) const;
  [[nodiscard]] std::string dotted(NodeId id) const;

  const SyntaxTree& tree_;
  CodeReading reading_;
  std::vector<std::uint32_t> scope_of_;     // by node
  std::vector<std::uint32_t> scope_below_;  // of its children: its own, or the one that it makes
  std::deque<Scope> scopes_;
  std::unordered_map<NodeId, std::uint32_t> scope_made_by_;
  Name unknown_name_;
  // Attributes and items that are set anywhere: whose they are is not followed.
  std::unordered_map<std::string, Name> attributes_, items_;
  std::vector<NodeId> simple_calls_;  // of names, for the values of parameters
  std::vector<std::uint32_t> memo_at_;
  std::deque<CodeValues> memo_;
  std::vector<std::pair<std::string, CodeRef>> local_;  // the variable of a comprehension
  unsigned depth_ = 0;
  bool exhausted_ = false;
};

}  // namespace sallyport
