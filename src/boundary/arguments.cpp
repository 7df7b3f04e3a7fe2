#include "boundary/arguments.h"

#include <fcntl.h>

#include <algorithm>
#include <cmath>

#include "base/fd.h"
#include "base/text.h"
#include "input/command.h"
#include "input/path.h"
#include "input/sql_identifier.h"
#include "input/string_value.h"
#include "input/url.h"
#include "policy/inside_path.h"

namespace sallyport {
namespace {

constexpr unsigned kDeepest = 64;

// What the guard in front of JSON texts refuses must be refused of values that a host program made,
// too: they are written as JSON later.
std::optional<std::string> unfit(const json::value& value, unsigned depth) {
  if (depth > kDeepest) return "is nested more than 64 deep";
  if (value.is_double() && !std::isfinite(value.get_double())) return "holds a number that is none";
  if (value.is_uint64()) return "holds an integer past the greatest that is allowed";
  if (value.is_string()) return unfit_character(value.get_string(), Layout::many_lines);
  if (const json::array* items = value.if_array()) {
    for (const json::value& item : *items)
      if (auto why = unfit(item, depth + 1)) return why;
  } else if (const json::object* object = value.if_object()) {
    for (const auto& [key, item] : *object) {
      if (auto why = unfit_character(key, Layout::one_line)) return "has a key that " + *why;
      if (auto why = unfit(item, depth + 1)) return why;
    }
  }
  return {};
}

// A path has two ends: the host's, where it is opened, and the cell's, which is all that the caller
// knows and the tool gets. Without a cell there are relative paths only. No message names the
// host's.
struct NormalPath {
  std::string relative;  // to `below`; the schema speaks of this one
  std::string value;     // what the tool gets
};

Result<NormalPath> normal_path(const Argument& argument, std::string_view text,
                               const ArgumentContext& context) {
  std::string inside;
  if (context.files != nullptr)
    inside = inside_path(*context.files, argument.below).value_or(std::string());
  const PathRules rules{.below = inside, .must_exist = argument.exists};
  auto relative = parse_relative_path(text, rules);
  if (!relative) return std::unexpected(std::move(relative.error()));
  if (context.touch_files) {
    // The operator's own path: links in it are the operator's too.
    const Fd base(::open(argument.below.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!base)
      return fail(Reason::unavailable,
                  "the directory " + (inside.empty() ? "of this argument" : quoted(inside)) +
                      " cannot be opened",
                  "the operator has to look at the policy's `below`");
    auto opened = open_confined(base.get(), rules, text, PathAccess::inspect);
    if (!opened) return std::unexpected(std::move(opened.error()));
    *relative = std::move(opened->relative);
  }
  if (inside.empty()) return NormalPath{*relative, *relative};
  return NormalPath{*relative, *relative == "." ? inside : inside + "/" + *relative};
}

Result<std::string> normal_command(const CommandRules* rules, std::string_view text) {
  auto command = parse_command(text);
  if (!command) return std::unexpected(command.error());
  // Where nothing says which commands are allowed, any one is, but none that runs another.
  const CommandRules itself{.allow = {{command->words().front()}}, .refuse_flags = {}};
  auto checked = check_command(rules != nullptr ? *rules : itself, *command);
  if (!checked) return std::unexpected(checked.error());
  return command->to_text();
}

Result<std::string> normal_host(const Argument& argument, std::string_view text) {
  auto host = HostName::parse(text);
  if (!host) return std::unexpected(host.error());
  const auto matches = [&](const HostPattern& pattern) { return pattern.matches(*host); };
  if (!argument.hosts.empty() && std::ranges::none_of(argument.hosts, matches)) {
    std::string allowed;
    for (const HostPattern& pattern : argument.hosts)
      allowed.append(allowed.empty() ? "" : ", ").append(pattern.to_text());
    return fail(Reason::argument, quoted(text) + " is not an allowed host", "allowed: " + allowed);
  }
  return host->to_text();
}

Result<std::string> normal_url(const Argument& argument, std::string_view text) {
  UrlRules rules{.hosts = argument.hosts, .max_length = argument.max_length};
  if (!argument.schemes.empty()) rules.schemes = argument.schemes;
  auto url = Url::parse(text, rules);
  if (!url) return std::unexpected(url.error());
  return url->to_text();
}

// The text of a typed argument in its normal form.
Result<std::string> normal_text(const Argument& argument, std::string_view text,
                                const ArgumentContext& context) {
  switch (argument.type) {
    case ArgumentType::json:
    case ArgumentType::string:
      return parse_string_value(
          text, {.max_length = argument.max_length, .multiline = argument.multiline});
    case ArgumentType::path:
      break;  // see check_path
    case ArgumentType::sql_identifier: {
      auto name = SqlIdentifier::parse(text);
      if (!name) return std::unexpected(name.error());
      return name->to_text();
    }
    case ArgumentType::url:
      return normal_url(argument, text);
    case ArgumentType::host:
      return normal_host(argument, text);
    case ArgumentType::command:
      return normal_command(context.commands, text);
  }
  return fail(Reason::internal, "an argument has no type");
}

Result<void> check_schema(const Argument& argument, const json::value& value) {
  const auto violations = argument.schema.check(value);
  if (violations.empty()) return {};
  const Violation& first = violations.front();
  return fail(Reason::argument,
              (first.instance_place.empty() ? "" : "at " + quoted(first.instance_place) + ": ") +
                  first.message,
              "allowed: " + json::serialize(argument.definition));
}

// 123.0 is an integer to JSON Schema, but not to every tool.
json::value whole(const Argument& argument, const json::value& value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const json::value* type = argument.definition.if_contains("type");
  if (type == nullptr || *type != "integer" || !value.is_double()) return value;
  const double number = value.get_double();
  if (std::abs(number) > kExact || number != std::trunc(number)) return value;
  return static_cast<std::int64_t>(number);
}

// "a.txt" and "/data/a.txt" are one path, so the schema is asked about the part that they share: a
// name that it excludes stays excluded in either spelling.
Result<json::value> check_path(const Argument& argument, std::string_view text,
                               const ArgumentContext& context) {
  auto path = normal_path(argument, text, context);
  if (!path) return std::unexpected(std::move(path.error()));
  if (auto fits = check_schema(argument, json::value(path->relative)); !fits)
    return std::unexpected(std::move(fits.error()));
  return json::value(path->value);
}

Result<json::value> check_value(const Argument& argument, const json::value& value,
                                const ArgumentContext& context) {
  if (argument.type == ArgumentType::path && value.is_string())
    return check_path(argument, value.get_string(), context);
  if (auto fits = check_schema(argument, value); !fits) return std::unexpected(fits.error());
  if (argument.type == ArgumentType::json) {
    if (value.is_string() && !argument.multiline)
      if (auto why = unfit_character(value.get_string(), Layout::one_line))
        return fail(Reason::argument, *why, "`multiline: true` would allow line ends");
    if (auto why = unfit(value, 1)) return fail(Reason::argument, *why);
    return whole(argument, value);
  }
  if (!value.is_string()) return fail(Reason::argument, "must be a string");
  auto text = normal_text(argument, value.get_string(), context);
  if (!text) return std::unexpected(text.error());
  // What runs is the normal form, so the schema has to accept that too: EVIL.example.com must not
  // pass where evil.example.com is excluded.
  json::value normal(*text);
  if (auto fits = check_schema(argument, normal); !fits) return std::unexpected(fits.error());
  return normal;
}

std::string names_of(std::span<const Argument> declared) {
  std::string names;
  for (const Argument& argument : declared)
    names.append(names.empty() ? "" : ", ").append(argument.name);
  return names.empty() ? "it takes no arguments" : "its arguments are: " + names;
}

}  // namespace

std::expected<json::object, ArgumentError> check_arguments(std::span<const Argument> declared,
                                                           const json::object& given,
                                                           const ArgumentContext& context) {
  const std::string args = "tools." + std::string(context.tool) + ".args";
  const auto refuse = [](std::string rule, std::string message, std::string hint) {
    return std::unexpected(
        ArgumentError{{Reason::argument, std::move(message), std::move(hint)}, std::move(rule)});
  };
  for (const auto& entry : given) {
    const std::string_view name = entry.key();
    if (std::ranges::find(declared, name, &Argument::name) != declared.end()) continue;
    std::vector<std::string_view> names;
    for (const Argument& argument : declared)
      names.push_back(argument.name);
    const auto meant = nearest(name, names);
    return refuse(args, std::string(context.tool) + " has no argument " + quoted(name),
                  (meant ? "did you mean " + std::string(*meant) + "? " : "") + names_of(declared));
  }

  json::object checked;
  for (const Argument& argument : declared) {
    const auto rule = [&] { return args + "." + argument.name; };
    const json::value* value = given.if_contains(argument.name);
    if (value == nullptr && argument.fallback) value = &*argument.fallback;
    if (value == nullptr) {
      if (argument.optional) continue;
      return refuse(rule(), "the argument " + argument.name + " is missing",
                    "give it: " + json::serialize(argument.definition));
    }
    auto fit = check_value(argument, *value, context);
    if (!fit) {
      Error error = std::move(fit.error());
      error.message = "the argument " + argument.name + ": " + error.message;
      return std::unexpected(ArgumentError{std::move(error), rule()});
    }
    checked.emplace(argument.name, std::move(*fit));
  }
  return checked;
}

}  // namespace sallyport
