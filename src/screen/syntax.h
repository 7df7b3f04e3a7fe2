// A syntax tree as one flat list, made from tree-sitter's in a single pass: a parent or a sibling
// is one step away, so that whoever walks it takes time linear in the code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "screen/screen.h"

namespace sallyport {

// The kinds of nodes that screening looks at, by the names that the grammars give them; X(name,
// name in the grammar).
#define SALLYPORT_NODES(X)                                                          \
  X(aliased_import, "aliased_import")                                               \
  X(ansi_c_string, "ansi_c_string")                                                 \
  X(argument_list, "argument_list")                                                 \
  X(arguments, "arguments")                                                         \
  X(array, "array")                                                                 \
  X(array_pattern, "array_pattern")                                                 \
  X(arrow_function, "arrow_function")                                               \
  X(as_pattern, "as_pattern")                                                       \
  X(as_pattern_target, "as_pattern_target")                                         \
  X(assignment, "assignment")                                                       \
  X(assignment_expression, "assignment_expression")                                 \
  X(assignment_pattern, "assignment_pattern")                                       \
  X(attribute, "attribute")                                                         \
  X(augmented_assignment, "augmented_assignment")                                   \
  X(augmented_assignment_expression, "augmented_assignment_expression")             \
  X(await, "await")                                                                 \
  X(await_expression, "await_expression")                                           \
  X(binary_expression, "binary_expression")                                         \
  X(binary_operator, "binary_operator")                                             \
  X(block, "block")                                                                 \
  X(boolean_operator, "boolean_operator")                                           \
  X(brace_expression, "brace_expression")                                           \
  X(call, "call")                                                                   \
  X(call_expression, "call_expression")                                             \
  X(catch_clause, "catch_clause")                                                   \
  X(class_body, "class_body")                                                       \
  X(class_declaration, "class_declaration")                                         \
  X(class_definition, "class_definition")                                           \
  X(class_expression, "class")                                                      \
  X(command, "command")                                                             \
  X(command_name, "command_name")                                                   \
  X(command_substitution, "command_substitution")                                   \
  X(comment, "comment")                                                             \
  X(comparison_operator, "comparison_operator")                                     \
  X(computed_property_name, "computed_property_name")                               \
  X(concatenated_string, "concatenated_string")                                     \
  X(concatenation, "concatenation")                                                 \
  X(conditional_expression, "conditional_expression")                               \
  X(declaration_command, "declaration_command")                                     \
  X(decorator, "decorator")                                                         \
  X(default_parameter, "default_parameter")                                         \
  X(dictionary, "dictionary")                                                       \
  X(dictionary_comprehension, "dictionary_comprehension")                           \
  X(dictionary_splat_pattern, "dictionary_splat_pattern")                           \
  X(dotted_name, "dotted_name")                                                     \
  X(error, "ERROR")                                                                 \
  X(escape_sequence, "escape_sequence")                                             \
  X(exec_statement, "exec_statement")                                               \
  X(expansion, "expansion")                                                         \
  X(export_statement, "export_statement")                                           \
  X(expression_list, "expression_list")                                             \
  X(expression_statement, "expression_statement")                                   \
  X(field_definition, "field_definition")                                           \
  X(file_redirect, "file_redirect")                                                 \
  X(for_in_clause, "for_in_clause")                                                 \
  X(for_in_statement, "for_in_statement")                                           \
  X(for_statement, "for_statement")                                                 \
  X(formal_parameters, "formal_parameters")                                         \
  X(function_declaration, "function_declaration")                                   \
  X(function_definition, "function_definition")                                     \
  X(function_expression, "function_expression")                                     \
  X(generator_expression, "generator_expression")                                   \
  X(generator_function, "generator_function")                                       \
  X(generator_function_declaration, "generator_function_declaration")               \
  X(global_statement, "global_statement")                                           \
  X(heredoc_body, "heredoc_body")                                                   \
  X(heredoc_content, "heredoc_content")                                             \
  X(heredoc_redirect, "heredoc_redirect")                                           \
  X(herestring_redirect, "herestring_redirect")                                     \
  X(identifier, "identifier")                                                       \
  X(import, "import")                                                               \
  X(import_clause, "import_clause")                                                 \
  X(import_from_statement, "import_from_statement")                                 \
  X(import_specifier, "import_specifier")                                           \
  X(import_statement, "import_statement")                                           \
  X(integer, "integer")                                                             \
  X(interpolation, "interpolation")                                                 \
  X(keyword_argument, "keyword_argument")                                           \
  X(lambda, "lambda")                                                               \
  X(lambda_parameters, "lambda_parameters")                                         \
  X(list, "list")                                                                   \
  X(list_comprehension, "list_comprehension")                                       \
  X(list_pattern, "list_pattern")                                                   \
  X(list_splat, "list_splat")                                                       \
  X(list_splat_pattern, "list_splat_pattern")                                       \
  X(member_expression, "member_expression")                                         \
  X(method_definition, "method_definition")                                         \
  X(module, "module")                                                               \
  X(named_expression, "named_expression")                                           \
  X(named_imports, "named_imports")                                                 \
  X(namespace_import, "namespace_import")                                           \
  X(new_expression, "new_expression")                                               \
  X(nonlocal_statement, "nonlocal_statement")                                       \
  X(number, "number")                                                               \
  X(object, "object")                                                               \
  X(object_assignment_pattern, "object_assignment_pattern")                         \
  X(object_pattern, "object_pattern")                                               \
  X(pair, "pair")                                                                   \
  X(pair_pattern, "pair_pattern")                                                   \
  X(parameters, "parameters")                                                       \
  X(parenthesized_expression, "parenthesized_expression")                           \
  X(pattern_list, "pattern_list")                                                   \
  X(pipeline, "pipeline")                                                           \
  X(process_substitution, "process_substitution")                                   \
  X(program, "program")                                                             \
  X(property_identifier, "property_identifier")                                     \
  X(raise_statement, "raise_statement")                                             \
  X(raw_string, "raw_string")                                                       \
  X(redirected_statement, "redirected_statement")                                   \
  X(relative_import, "relative_import")                                             \
  X(rest_pattern, "rest_pattern")                                                   \
  X(return_statement, "return_statement")                                           \
  X(sequence_expression, "sequence_expression")                                     \
  X(set, "set")                                                                     \
  X(set_comprehension, "set_comprehension")                                         \
  X(shorthand_property_identifier, "shorthand_property_identifier")                 \
  X(shorthand_property_identifier_pattern, "shorthand_property_identifier_pattern") \
  X(simple_expansion, "simple_expansion")                                           \
  X(slice, "slice")                                                                 \
  X(spread_element, "spread_element")                                               \
  X(statement_block, "statement_block")                                             \
  X(string, "string")                                                               \
  X(string_content, "string_content")                                               \
  X(string_end, "string_end")                                                       \
  X(string_fragment, "string_fragment")                                             \
  X(string_start, "string_start")                                                   \
  X(subscript, "subscript")                                                         \
  X(subscript_expression, "subscript_expression")                                   \
  X(template_string, "template_string")                                             \
  X(template_substitution, "template_substitution")                                 \
  X(ternary_expression, "ternary_expression")                                       \
  X(test_command, "test_command")                                                   \
  X(this_value, "this")                                                             \
  X(translated_string, "translated_string")                                         \
  X(tuple, "tuple")                                                                 \
  X(tuple_pattern, "tuple_pattern")                                                 \
  X(typed_default_parameter, "typed_default_parameter")                             \
  X(typed_parameter, "typed_parameter")                                             \
  X(unary_expression, "unary_expression")                                           \
  X(unary_operator, "unary_operator")                                               \
  X(variable_assignment, "variable_assignment")                                     \
  X(variable_declarator, "variable_declarator")                                     \
  X(variable_name, "variable_name")                                                 \
  X(wildcard_import, "wildcard_import")                                             \
  X(with_item, "with_item")                                                         \
  X(word, "word")                                                                   \
  X(yield, "yield")

#define SALLYPORT_NODE_FIELDS(X) \
  X(alias)                       \
  X(alternative)                 \
  X(argument)                    \
  X(arguments)                   \
  X(attribute)                   \
  X(body)                        \
  X(condition)                   \
  X(consequence)                 \
  X(constructor)                 \
  X(definition)                  \
  X(descriptor)                  \
  X(destination)                 \
  X(expression)                  \
  X(function)                    \
  X(index)                       \
  X(key)                         \
  X(left)                        \
  X(member)                      \
  X(module_name)                 \
  X(name)                        \
  X(object)                      \
  X(parameter)                   \
  X(parameters)                  \
  X(property)                    \
  X(redirect) X(right) X(source) X(subscript) X(superclasses) X(type) X(value) X(variable)

enum class NodeKind : std::uint8_t {
  other,  // a rule that nobody asks about
  token,  // a keyword or a sign
#define SALLYPORT_NODE_ENUM(name, text) name,
  SALLYPORT_NODES(SALLYPORT_NODE_ENUM)
#undef SALLYPORT_NODE_ENUM
};

enum class NodeField : std::uint8_t {
  none,
#define SALLYPORT_FIELD_ENUM(name) name,
  SALLYPORT_NODE_FIELDS(SALLYPORT_FIELD_ENUM)
#undef SALLYPORT_FIELD_ENUM
};

using NodeId = std::uint32_t;
constexpr NodeId kNoNode = 0xffffffff;

struct SyntaxNode {
  NodeKind kind = NodeKind::other;
  NodeField field = NodeField::none;
  bool named = false;
  bool has_error = false;  // here or below
  std::uint32_t begin = 0, end = 0;
  NodeId parent = kNoNode, first = kNoNode, next = kNoNode;
};

class SyntaxTree {
 public:
  // The tree of `code`. Where the code is so wrong that mending it would cost more than linear
  // time, it has no nodes but its root, and error_at() says where reading ended. An error: nested
  // too deeply.
  [[nodiscard]] static Result<SyntaxTree> parse(std::string_view code, Language language);

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] const SyntaxNode& operator[](NodeId id) const { return nodes_[id]; }
  [[nodiscard]] std::string_view text(NodeId id) const;
  [[nodiscard]] std::string_view code() const { return code_; }
  // The child of that field, or kNoNode; also for kNoNode.
  [[nodiscard]] NodeId child(NodeId id, NodeField field) const;
  // The children that are not signs or comments.
  [[nodiscard]] std::vector<NodeId> named(NodeId id) const;
  [[nodiscard]] NodeKind kind(NodeId id) const {
    return id == kNoNode ? NodeKind::other : nodes_[id].kind;
  }
  // The first byte that the grammar could not read, if there is one.
  [[nodiscard]] std::optional<std::uint32_t> error_at() const { return error_at_; }

 private:
  std::string_view code_;
  std::vector<SyntaxNode> nodes_;
  std::optional<std::uint32_t> error_at_;
};

}  // namespace sallyport
