// Reads JavaScript, as python_reader.h reads Python.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "screen/report.h"
#include "screen/value.h"

namespace sallyport {

[[nodiscard]] const NameTable& javascript_names();
// The one spelling of a path that the table has: fs.promises.writeFile and fs.writeFileSync are
// fs.writeFile.
[[nodiscard]] std::string javascript_path(std::string path);
[[nodiscard]] bool is_javascript_global(std::string_view name);

class JavascriptReader {
 public:
  JavascriptReader(const SyntaxTree& tree, CodeReading reading);
  void read();

 private:
  using Kind = NodeKind;
  using Field = NodeField;

  struct Binding {
    enum class How : std::uint8_t {
      path,
      value,
      item,
      member,
      each,
      augment,
      function,
      type,
      unknown
    };
    How how = How::unknown;
    NodeId node = kNoNode;
    std::uint32_t index = 0;
    std::string path;  // or the name of the member
    NodeId preset = kNoNode;
  };
  struct Name {
    std::vector<Binding> bindings;
    bool busy = false, known = false;
    CodeValues values;
  };
  struct Scope {
    bool function = false;
    std::uint32_t parent = 0;
    std::unordered_map<std::string, Name> names;
    std::vector<NodeId> returns;
    std::vector<std::string> parameters;
    bool busy = false;
  };
  struct Target {
    NodeId node;
    std::uint32_t scope;
    Binding binding;
  };

  // javascript_scopes.cpp
  void bind_all();
  void bind_node(NodeId id);
  void bind(std::uint32_t scope, const std::string& name, Binding binding);
  void bind_target(NodeId target, std::uint32_t scope, Binding binding);
  void bind_import(NodeId id);
  void bind_function(NodeId id, std::uint32_t scope);
  void bind_arguments();

  // javascript_values.cpp
  [[nodiscard]] CodeValues value(NodeId id);
  [[nodiscard]] CodeValues work_out(NodeId id);
  [[nodiscard]] CodeValues look_up(const std::string& name, std::uint32_t scope);
  [[nodiscard]] Name* find_name(const std::string& name, std::uint32_t scope);
  [[nodiscard]] const CodeValues& values_of(Name& name);
  [[nodiscard]] CodeValues value_of(const Binding& binding, const CodeValues& before);
  [[nodiscard]] CodeValues member(const CodeValues& of, const std::string& name);
  [[nodiscard]] CodeValues call_value(NodeId id);
  [[nodiscard]] CodeValues fold_method(const CodeValue& of, std::string_view method, NodeId call);
  [[nodiscard]] CodeValues fold_function(std::string_view path, NodeId call);
  [[nodiscard]] CodeValues fold_plus(const CodeValues& left, const CodeValues& right);
  [[nodiscard]] bool may_fold(std::size_t bytes);
  [[nodiscard]] CodeValues folded(std::string text);

  // javascript_screen.cpp
  void check(NodeId id);
  void check_call(NodeId id);
  void check_named_call(NodeId id, const std::string& path, std::size_t skip = 0);
  void check_reference(NodeId id);
  void check_module(NodeId id, const std::string& name);
  void check_paths(NodeId id, std::string_view callee);
  void report(ScreenKind kind, NodeId id, std::string why);
  void report_name(const NameRow& row, NodeId id, const std::string& path);
  [[nodiscard]] NodeId argument(NodeId call, std::size_t at) const;
  [[nodiscard]] NodeId callee_of(NodeId call) const;
  [[nodiscard]] bool is_loaded(NodeId id) const;
  [[nodiscard]] CodeSpan span(NodeId id) const { return {tree_[id].begin, tree_[id].end}; }
  [[nodiscard]] std::string identifier(NodeId id) const;
  [[nodiscard]] std::string key_of(NodeId id);

  const SyntaxTree& tree_;
  CodeReading reading_;
  std::vector<std::uint32_t> scope_of_;     // by node
  std::vector<std::uint32_t> scope_below_;  // of its children: its own, or the one that it makes
  std::deque<Scope> scopes_;
  std::unordered_map<NodeId, std::uint32_t> scope_made_by_;
  std::unordered_map<std::string, Name> attributes_;  // set on any object
  std::vector<Target> assignments_;                   // to names that are declared elsewhere
  std::vector<NodeId> simple_calls_;
  std::vector<std::uint32_t> memo_at_;
  std::deque<CodeValues> memo_;
  unsigned depth_ = 0;
  bool exhausted_ = false;
};

}  // namespace sallyport
