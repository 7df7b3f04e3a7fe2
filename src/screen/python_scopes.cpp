// Which names a Python program binds, and where.
#include "screen/python_reader.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostBindings = 64;  // of one name; more are one unknown

}  // namespace

std::string PythonReader::identifier(NodeId id) const {
  return plain_identifier(tree_.text(id));
}

std::string PythonReader::dotted(NodeId id) const {
  std::string path;
  for (const NodeId part : tree_.named(id)) {
    if (!path.empty()) path.push_back('.');
    path.append(identifier(part));
  }
  return path;
}

std::uint32_t PythonReader::new_scope(NodeId id, Scope::Of of) {
  const auto scope = static_cast<std::uint32_t>(scopes_.size());
  scopes_.push_back({.of = of, .parent = scope_of_[id]});
  scope_made_by_[id] = scope_below_[id] = scope;
  return scope;
}

void PythonReader::bind(std::uint32_t scope, std::string_view name, Binding binding) {
  const std::string key(name);
  if (scopes_[scope].globals.contains(key)) scope = 0;
  while (scopes_[scope].nonlocals.contains(key) && scope != 0)
    scope = scopes_[scope].parent;
  std::vector<Binding>& bindings = scopes_[scope].names[key].bindings;
  if (bindings.size() < kMostBindings) bindings.push_back(std::move(binding));
}

void PythonReader::bind_target(NodeId target, std::uint32_t scope, NodeId value, Binding::How how) {
  if (target == kNoNode) return;
  // An explicit stack: patterns nest.
  struct Step {
    NodeId target, value;
    Binding::How how;
    std::uint32_t index;
  };
  std::vector<Step> steps{{target, value, how, 0}};
  while (!steps.empty()) {
    const Step step = steps.back();
    steps.pop_back();
    const Binding binding{.how = step.how, .node = step.value, .index = step.index, .path = {}};
    switch (tree_.kind(step.target)) {
      case Kind::identifier:
        bind(scope, identifier(step.target), binding);
        break;
      case Kind::attribute: {
        auto& name = attributes_[identifier(tree_.child(step.target, Field::attribute))];
        if (name.bindings.size() < kMostBindings) name.bindings.push_back(binding);
        break;
      }
      case Kind::subscript: {
        const NodeId object = tree_.child(step.target, Field::value);
        const NodeId key = tree_.child(step.target, Field::subscript);
        if (tree_.kind(key) != Kind::string) break;
        std::string text(tree_.text(key));
        if (text.size() > 2) text = text.substr(1, text.size() - 2);
        if (tree_.kind(object) == Kind::identifier) {
          auto& name = items_[identifier(object) + "[" + text];
          if (name.bindings.size() < kMostBindings) name.bindings.push_back(binding);
        } else if (tree_.kind(object) == Kind::call) {
          bind(0, text, binding);  // globals()['f'] = ...
        }
        break;
      }
      case Kind::pattern_list:
      case Kind::tuple_pattern:
      case Kind::list_pattern:
      case Kind::tuple:
      case Kind::list: {
        const std::vector<NodeId> parts = tree_.named(step.target);
        const std::vector<NodeId> values =
            step.how == Binding::How::value ? tree_.named(step.value) : std::vector<NodeId>{};
        const Kind kind = tree_.kind(step.value);
        const bool written_out =
            step.how == Binding::How::value && values.size() == parts.size() &&
            (kind == Kind::expression_list || kind == Kind::tuple || kind == Kind::list);
        for (std::uint32_t i = 0; i < parts.size(); ++i) {
          if (written_out)
            steps.push_back({parts[i], values[i], Binding::How::value, 0});
          else if (step.how == Binding::How::value)
            steps.push_back({parts[i], step.value, Binding::How::item, i});
          else
            steps.push_back({parts[i], kNoNode, Binding::How::unknown, 0});
        }
        break;
      }
      case Kind::list_splat_pattern:
      case Kind::list_splat:
      case Kind::as_pattern_target:
      case Kind::parenthesized_expression:
        for (const NodeId part : tree_.named(step.target))
          steps.push_back({part, step.value, step.how, step.index});
        break;
      default:
        break;
    }
  }
}

void PythonReader::bind_imports(NodeId id) {
  const std::uint32_t scope = scope_of_[id];
  const NodeId from = tree_.child(id, Field::module_name);
  const bool relative = tree_.kind(from) == Kind::relative_import;
  const std::string module = from == kNoNode ? "" : relative ? "." : dotted(from);
  for (const NodeId part : tree_.named(id)) {
    if (part == from) continue;
    const Kind kind = tree_.kind(part);
    if (kind == Kind::wildcard_import) {
      // Every name that nobody binds is looked for in all of them.
      if (!relative && scopes_[scope].stars.size() < 16)
        scopes_[scope].stars.push_back(module);
      else if (!relative)
        exhausted_ = true;
      continue;
    }
    if (kind != Kind::dotted_name && kind != Kind::aliased_import) continue;
    const NodeId name = kind == Kind::aliased_import ? tree_.child(part, Field::name) : part;
    const NodeId alias = tree_.child(part, Field::alias);
    const std::string path = dotted(name);
    Binding binding{.how = relative ? Binding::How::unknown : Binding::How::path};
    if (from != kNoNode) {
      binding.path = python_path(module + "." + path);
      bind(scope, alias == kNoNode ? path : identifier(alias), binding);
    } else if (kind == Kind::aliased_import) {
      binding.path = python_path(path);
      bind(scope, identifier(alias), binding);
    } else {
      binding.path = python_path(path.substr(0, path.find('.')));
      bind(scope, path.substr(0, path.find('.')), binding);
    }
  }
}

void PythonReader::bind_parameters(NodeId id, std::uint32_t scope) {
  for (const NodeId part : tree_.named(id)) {
    NodeId name = part;
    if (const NodeId named = tree_.child(part, Field::name); named != kNoNode) name = named;
    while (tree_.kind(name) == Kind::typed_parameter ||
           tree_.kind(name) == Kind::list_splat_pattern ||
           tree_.kind(name) == Kind::dictionary_splat_pattern) {
      const auto inner = tree_.named(name);
      if (inner.empty()) break;
      name = inner[0];
    }
    if (tree_.kind(name) != Kind::identifier) continue;
    const NodeId preset = tree_.child(part, Field::value);
    bind(scope, identifier(name),
         {.how = preset == kNoNode ? Binding::How::unknown : Binding::How::value, .node = preset});
    if (scopes_[scope].parameters.size() < kMostBindings)
      scopes_[scope].parameters.push_back(identifier(name));
  }
}

void PythonReader::bind_node(NodeId id) {
  const SyntaxNode& node = tree_[id];
  switch (node.kind) {
    case Kind::import_statement:
    case Kind::import_from_statement:
      bind_imports(id);
      break;
    case Kind::assignment:
    case Kind::named_expression: {
      const bool walrus = node.kind == Kind::named_expression;
      std::uint32_t scope = scope_of_[id];
      // A comprehension's walrus belongs to the scope around it.
      while (walrus && scopes_[scope].of == Scope::Of::comprehension)
        scope = scopes_[scope].parent;
      bind_target(tree_.child(id, walrus ? Field::name : Field::left), scope,
                  tree_.child(id, walrus ? Field::value : Field::right), Binding::How::value);
      break;
    }
    case Kind::augmented_assignment:
      bind_target(tree_.child(id, Field::left), scope_of_[id], id, Binding::How::augment);
      break;
    case Kind::for_statement:
    case Kind::for_in_clause:
      bind_target(tree_.child(id, Field::left), scope_of_[id], tree_.child(id, Field::right),
                  Binding::How::each);
      break;
    case Kind::as_pattern: {
      const auto parts = tree_.named(id);
      // What `with` binds is what it was given, near enough; an exception is unknown.
      const bool with = tree_.kind(node.parent) == Kind::with_item;
      if (parts.size() == 2)
        bind_target(parts[1], scope_of_[id], parts[0],
                    with ? Binding::How::value : Binding::How::unknown);
      break;
    }
    case Kind::global_statement:
      for (const NodeId name : tree_.named(id))
        scopes_[scope_of_[id]].globals.insert(identifier(name));
      break;
    case Kind::nonlocal_statement:
      for (const NodeId name : tree_.named(id))
        scopes_[scope_of_[id]].nonlocals.insert(identifier(name));
      break;
    case Kind::return_statement:
    case Kind::yield:
      for (const NodeId part : tree_.named(id))
        if (auto& returns = scopes_[scope_of_[id]].returns; returns.size() < kMostBindings)
          returns.push_back(part);
      break;
    case Kind::call:
      if (tree_.kind(tree_.child(id, Field::function)) == Kind::identifier)
        simple_calls_.push_back(id);
      break;
    default:
      break;
  }
}

void PythonReader::bind_all() {
  scope_of_.assign(tree_.size(), 0);
  scope_below_.assign(tree_.size(), 0);
  scopes_.push_back({});
  for (NodeId id = 0; id < tree_.size(); ++id) {
    const SyntaxNode& node = tree_[id];
    if (node.parent != kNoNode) {
      const NodeKind parent = tree_.kind(node.parent);
      // Names and superclasses belong outside, as do the presets of parameters.
      const bool outside = node.field == Field::name || node.field == Field::superclasses;
      scope_of_[id] = outside ? scope_of_[node.parent] : scope_below_[node.parent];
      if ((parent == Kind::default_parameter || parent == Kind::typed_default_parameter) &&
          node.field == Field::value)
        scope_of_[id] = scopes_[scope_of_[node.parent]].parent;
    }
    scope_below_[id] = scope_of_[id];
    switch (node.kind) {
      case Kind::function_definition: {
        const std::uint32_t scope = new_scope(id, Scope::Of::function);
        bind(scope_of_[id], identifier(tree_.child(id, Field::name)),
             {.how = Binding::How::function, .index = scope});
        bind_parameters(tree_.child(id, Field::parameters), scope);
        break;
      }
      case Kind::lambda: {
        const std::uint32_t scope = new_scope(id, Scope::Of::function);
        scopes_[scope].returns.push_back(tree_.child(id, Field::body));
        bind_parameters(tree_.child(id, Field::parameters), scope);
        break;
      }
      case Kind::class_definition:
        bind(scope_of_[id], identifier(tree_.child(id, Field::name)),
             {.how = Binding::How::type, .index = new_scope(id, Scope::Of::type)});
        break;
      case Kind::list_comprehension:
      case Kind::set_comprehension:
      case Kind::dictionary_comprehension:
      case Kind::generator_expression:
        (void)new_scope(id, Scope::Of::comprehension);
        break;
      default:
        bind_node(id);
    }
  }
  bind_arguments();
}

// What a function of the code is called with is what its parameters may be.
void PythonReader::bind_arguments() {
  for (const NodeId call : simple_calls_) {
    const NodeId callee = tree_.child(call, Field::function);
    Name* name = find_name(identifier(callee), scope_of_[callee]);
    if (name == nullptr) continue;
    for (const Binding& binding : name->bindings) {
      std::uint32_t scope = binding.index;
      if (binding.how == Binding::How::value && tree_.kind(binding.node) == Kind::lambda)
        scope = scope_made_by_[binding.node];
      else if (binding.how != Binding::How::function)
        continue;
      const auto arguments = tree_.named(tree_.child(call, Field::arguments));
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        NodeId given = arguments[i];
        const std::vector<std::string>& parameters = scopes_[scope].parameters;
        std::string parameter = i < parameters.size() ? parameters[i] : "";
        if (tree_.kind(given) == Kind::keyword_argument) {
          parameter = identifier(tree_.child(given, Field::name));
          given = tree_.child(given, Field::value);
        }
        if (!parameter.empty() && scopes_[scope].names.contains(parameter))
          bind(scope, parameter, {.how = Binding::How::value, .node = given});
      }
      break;
    }
  }
}

}  // namespace sallyport
