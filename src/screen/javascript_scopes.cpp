// Which names a JavaScript program binds, and where.
#include "screen/javascript_reader.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostBindings = 64;

// \u0065val is eval.
std::string without_escapes(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\' || at + 1 >= text.size() || text[at + 1] != 'u') {
      result.push_back(text[at++]);
      continue;
    }
    at += 2;
    const bool braces = at < text.size() && text[at] == '{';
    if (braces) ++at;
    std::uint32_t code = 0;
    for (std::size_t digits = 0; at < text.size() && digits < (braces ? 6U : 4U); ++digits, ++at) {
      const char c = text[at];
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) break;
      code = code * 16 + static_cast<std::uint32_t>(digit);
    }
    if (braces && at < text.size() && text[at] == '}') ++at;
    append_utf8(result, code);
  }
  return result;
}

}  // namespace

std::string JavascriptReader::identifier(NodeId id) const {
  return without_escapes(tree_.text(id));
}

void JavascriptReader::bind(std::uint32_t scope, const std::string& name, Binding binding) {
  std::vector<Binding>& bindings = scopes_[scope].names[name].bindings;
  if (bindings.size() < kMostBindings) bindings.push_back(std::move(binding));
}

void JavascriptReader::bind_target(NodeId target, std::uint32_t scope, Binding binding) {
  std::vector<Target> steps{{target, scope, std::move(binding)}};
  while (!steps.empty()) {
    const Target step = std::move(steps.back());
    steps.pop_back();
    const Binding& given = step.binding;
    // Of a pattern within a pattern, nothing is followed but what is written out.
    const auto inner = [&](Binding::How how, std::uint32_t index, std::string path) {
      if (given.how == Binding::How::value || given.how == Binding::How::path) {
        Binding result{.how = how, .node = given.node, .index = index, .path = std::move(path)};
        if (given.how == Binding::How::path) {
          result.how = how == Binding::How::member ? Binding::How::path : Binding::How::unknown;
          result.path = given.path + "." + result.path;
        }
        return result;
      }
      return Binding{};
    };
    switch (tree_.kind(step.node)) {
      case Kind::identifier:
      case Kind::shorthand_property_identifier_pattern:
        bind(step.scope, identifier(step.node), given);
        break;
      case Kind::object_pattern:
        for (const NodeId part : tree_.named(step.node)) {
          if (tree_.kind(part) == Kind::pair_pattern) {
            const NodeId key = tree_.child(part, Field::key);
            std::string name = identifier(key);
            if (tree_.kind(key) == Kind::string && name.size() > 2)
              name = name.substr(1, name.size() - 2);
            steps.push_back({tree_.child(part, Field::value), step.scope,
                             inner(Binding::How::member, 0, name)});
          } else if (tree_.kind(part) == Kind::shorthand_property_identifier_pattern) {
            bind(step.scope, identifier(part), inner(Binding::How::member, 0, identifier(part)));
          } else if (tree_.kind(part) == Kind::object_assignment_pattern) {
            const NodeId name = tree_.child(part, Field::left);
            bind(step.scope, identifier(name), inner(Binding::How::member, 0, identifier(name)));
            bind(step.scope, identifier(name),
                 {.how = Binding::How::value, .node = tree_.child(part, Field::right)});
          } else if (tree_.kind(part) == Kind::rest_pattern) {
            for (const NodeId name : tree_.named(part))
              steps.push_back({name, step.scope, given});
          }
        }
        break;
      case Kind::array_pattern: {
        const auto parts = tree_.named(step.node);
        for (std::uint32_t i = 0; i < parts.size(); ++i)
          steps.push_back({parts[i], step.scope, inner(Binding::How::item, i, "")});
        break;
      }
      case Kind::assignment_pattern:
        steps.push_back({tree_.child(step.node, Field::left), step.scope, given});
        steps.push_back(
            {tree_.child(step.node, Field::left),
             step.scope,
             {.how = Binding::How::value, .node = tree_.child(step.node, Field::right)}});
        break;
      case Kind::rest_pattern:
        for (const NodeId name : tree_.named(step.node))
          steps.push_back({name, step.scope, {}});
        break;
      case Kind::member_expression: {
        auto& name = attributes_[identifier(tree_.child(step.node, Field::property))];
        if (name.bindings.size() < kMostBindings) name.bindings.push_back(given);
        break;
      }
      default:
        break;
    }
  }
}

void JavascriptReader::bind_import(NodeId id) {
  const std::string_view source = tree_.text(tree_.child(id, Field::source));
  if (source.size() < 2) return;
  const std::string module = javascript_path(std::string(source.substr(1, source.size() - 2)));
  const std::uint32_t scope = scope_of_[id];
  std::vector<NodeId> parts = tree_.named(id);
  while (!parts.empty()) {
    const NodeId part = parts.back();
    parts.pop_back();
    switch (tree_.kind(part)) {
      case Kind::import_clause:
      case Kind::named_imports:
        for (const NodeId inner : tree_.named(part))
          parts.push_back(inner);
        break;
      case Kind::identifier:
        bind(scope, identifier(part), {.how = Binding::How::path, .path = module});
        break;
      case Kind::namespace_import:
        for (const NodeId inner : tree_.named(part))
          bind(scope, identifier(inner), {.how = Binding::How::path, .path = module});
        break;
      case Kind::import_specifier: {
        const NodeId name = tree_.child(part, Field::name);
        const NodeId alias = tree_.child(part, Field::alias);
        bind(scope, identifier(alias == kNoNode ? name : alias),
             {.how = Binding::How::path, .path = javascript_path(module + "." + identifier(name))});
        break;
      }
      default:
        break;
    }
  }
}

void JavascriptReader::bind_function(NodeId id, std::uint32_t scope) {
  NodeId parameters = tree_.child(id, Field::parameters);
  if (parameters == kNoNode) parameters = tree_.child(id, Field::parameter);
  const auto add = [&](NodeId part) {
    const bool plain = tree_.kind(part) == Kind::identifier;
    const NodeId left = tree_.child(part, Field::left);
    bind_target(part, scope, {});
    if (scopes_[scope].parameters.size() >= kMostBindings) return;
    scopes_[scope].parameters.push_back(plain                                  ? identifier(part)
                                        : tree_.kind(left) == Kind::identifier ? identifier(left)
                                                                               : "");
  };
  if (tree_.kind(parameters) == Kind::identifier)
    add(parameters);
  else
    for (const NodeId part : tree_.named(parameters))
      add(part);
  const NodeId body = tree_.child(id, Field::body);
  if (body != kNoNode && tree_.kind(body) != Kind::statement_block)
    scopes_[scope].returns.push_back(body);
}

void JavascriptReader::bind_node(NodeId id) {
  const SyntaxNode& node = tree_[id];
  switch (node.kind) {
    case Kind::import_statement:
      bind_import(id);
      break;
    case Kind::variable_declarator: {
      std::uint32_t scope = scope_of_[id];
      if (tree_.text(node.parent).starts_with("var"))
        while (scope != 0 && !scopes_[scope].function)
          scope = scopes_[scope].parent;
      const NodeId value = tree_.child(id, Field::value);
      bind_target(
          tree_.child(id, Field::name), scope,
          {.how = value == kNoNode ? Binding::How::unknown : Binding::How::value, .node = value});
      break;
    }
    case Kind::assignment_expression:
      assignments_.push_back({tree_.child(id, Field::left),
                              scope_of_[id],
                              {.how = Binding::How::value, .node = tree_.child(id, Field::right)}});
      break;
    case Kind::augmented_assignment_expression:
      assignments_.push_back({tree_.child(id, Field::left),
                              scope_of_[id],
                              {.how = Binding::How::augment, .node = id}});
      break;
    case Kind::for_in_statement:
      bind_target(tree_.child(id, Field::left), scope_of_[id],
                  {.how = Binding::How::each, .node = tree_.child(id, Field::right)});
      break;
    case Kind::field_definition: {
      auto& name = attributes_[identifier(tree_.child(id, Field::property))];
      if (name.bindings.size() < kMostBindings)
        name.bindings.push_back(
            {.how = Binding::How::value, .node = tree_.child(id, Field::value)});
      break;
    }
    case Kind::return_statement: {
      std::uint32_t scope = scope_of_[id];
      while (scope != 0 && !scopes_[scope].function)
        scope = scopes_[scope].parent;
      for (const NodeId part : tree_.named(id))
        if (scopes_[scope].returns.size() < kMostBindings) scopes_[scope].returns.push_back(part);
      break;
    }
    case Kind::call_expression:
      if (tree_.kind(tree_.child(id, Field::function)) == Kind::identifier)
        simple_calls_.push_back(id);
      break;
    default:
      break;
  }
}

void JavascriptReader::bind_all() {
  scope_of_.assign(tree_.size(), 0);
  scope_below_.assign(tree_.size(), 0);
  scopes_.push_back({.function = true});
  for (NodeId id = 0; id < tree_.size(); ++id) {
    const SyntaxNode& node = tree_[id];
    if (node.parent != kNoNode)
      scope_of_[id] =
          node.field == Field::name ? scope_of_[node.parent] : scope_below_[node.parent];
    scope_below_[id] = scope_of_[id];
    const auto new_scope = [&](bool function) {
      const auto scope = static_cast<std::uint32_t>(scopes_.size());
      scopes_.push_back({.function = function, .parent = scope_of_[id]});
      scope_made_by_[id] = scope_below_[id] = scope;
      return scope;
    };
    switch (node.kind) {
      case Kind::function_declaration:
      case Kind::generator_function_declaration:
      case Kind::function_expression:
      case Kind::generator_function:
      case Kind::arrow_function:
      case Kind::method_definition: {
        const std::uint32_t scope = new_scope(true);
        const NodeId name = tree_.child(id, Field::name);
        if (tree_.kind(name) == Kind::identifier)
          bind(node.kind == Kind::function_expression || node.kind == Kind::generator_function
                   ? scope
                   : scope_of_[id],
               identifier(name), {.how = Binding::How::function, .index = scope});
        else if (node.kind == Kind::method_definition && name != kNoNode)
          if (auto& bindings = attributes_[identifier(name)].bindings;
              bindings.size() < kMostBindings)
            bindings.push_back({.how = Binding::How::function, .index = scope});
        bind_function(id, scope);
        break;
      }
      case Kind::statement_block:
      case Kind::for_statement:
        (void)new_scope(false);
        break;
      case Kind::for_in_statement:
        scope_of_[id] = new_scope(false);
        bind_node(id);
        break;
      case Kind::catch_clause: {
        const std::uint32_t scope = new_scope(false);
        bind_target(tree_.child(id, Field::parameter), scope, {});
        break;
      }
      case Kind::class_declaration:
      case Kind::class_expression:
        if (const NodeId name = tree_.child(id, Field::name); name != kNoNode)
          bind(scope_of_[id], identifier(name), {.how = Binding::How::type});
        break;
      default:
        bind_node(id);
    }
  }
  for (const Target& target : assignments_) {
    std::uint32_t scope = target.scope;
    if (tree_.kind(target.node) == Kind::identifier)
      while (scope != 0 && !scopes_[scope].names.contains(identifier(target.node)))
        scope = scopes_[scope].parent;
    bind_target(target.node, scope, target.binding);
  }
  bind_arguments();
}

void JavascriptReader::bind_arguments() {
  for (const NodeId call : simple_calls_) {
    const NodeId callee = tree_.child(call, Field::function);
    const Name* name = find_name(identifier(callee), scope_of_[callee]);
    if (name == nullptr) continue;
    for (const Binding& binding : name->bindings) {
      std::uint32_t scope = binding.index;
      if (binding.how == Binding::How::value) {
        const auto made = scope_made_by_.find(binding.node);
        if (made == scope_made_by_.end() || !scopes_[made->second].function) continue;
        scope = made->second;
      } else if (binding.how != Binding::How::function) {
        continue;
      }
      const auto arguments = tree_.named(tree_.child(call, Field::arguments));
      for (std::size_t i = 0; i < arguments.size() && i < scopes_[scope].parameters.size(); ++i)
        if (const std::string parameter = scopes_[scope].parameters[i]; !parameter.empty())
          bind(scope, parameter, {.how = Binding::How::value, .node = arguments[i]});
      break;
    }
  }
}

}  // namespace sallyport
