// Four functions of a program behind Sallyport's gates: three roles, five calls a minute.
#include <sallyport/sallyport.h>
#include <boost/json.hpp>
#include <cstdio>
#include <map>
namespace json = boost::json;

int main() {
  const auto policy = sallyport::PolicyBuilder()
      .role("viewer", {"read:data"}).role("editor", {"read:data", "write:data"}).role("admin", {"admin"})
      .caller("vera", "viewer").caller("edgar", "editor").caller("ada", "admin")
      .set("defaults.rate", "5/min").build();
  if (!policy) return std::puts(to_text(policy.error().front()).c_str());
  auto boundary = sallyport::Boundary::open(*policy);
  if (!boundary) return std::puts(boundary.error().message.c_str());
  std::map<std::int64_t, std::string> items = {{1, "lamp"}, {2, "desk"}};
  const auto item = [&](const json::object& args) -> auto& { return items.at(args.at("id").as_int64()); };
  const json::object id = {{"type", "integer"}, {"minimum", 1}, {"maximum", 1000}};
  const auto add = [&](const char* name, const char* permission, json::object args, auto body) {
    const auto added = boundary->add({.name = name, .needs = {permission}, .args = args, .body = body});
    if (!added) std::puts(added.error().message.c_str());
  };
  add("list_items", "read:data", {}, [&](auto&) { return json::value_from(items); });
  add("get_item", "read:data", {{"id", id}}, [&](auto& args) { return json::value(item(args)); });
  add("update_item", "write:data", {{"id", id}, {"name", {{"type", "string"}}}},
      [&](auto& args) { return json::value(item(args) = args.at("name").as_string()); });
  add("delete_item", "delete:data", {{"id", id}},
      [&](auto& args) { return json::value(items.erase(args.at("id").as_int64())); });
  const auto call = [&](const char* caller, const char* tool, json::object args) {
    const auto result = to_json(boundary->call({.caller = caller, .tool = tool, .arguments = args}));
    std::puts(json::serialize(result).c_str());
  };
  call("vera", "get_item", {{"id", 1}});                        // success
  call("vera", "update_item", {{"id", 1}, {"name", "sofa"}});   // blocked: permission
  call("edgar", "update_item", {{"id", 1}, {"name", "sofa"}});  // success
  call("edgar", "delete_item", {{"id", 1}});                    // blocked: permission
  call("ada", "delete_item", {{"id", "1; DROP TABLE items"}});  // blocked: argument
  call("ada", "delete_item", {{"id", 1}});                      // success
  for (int i = 0; i < 6; ++i) call("vera", "list_items", {});   // the sixth: blocked, rate_limit
}
