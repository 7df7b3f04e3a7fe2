// Any schema is compiled or refused, and checks any value in bounded time. The first line is the
// schema, the rest the value. `allOf` of one schema accepts what that accepts, and `not` does not,
// unless neither can be evaluated within its bounds.
#include <cstdint>
#include <string_view>

#include "check.h"
#include "input/schema.h"

using namespace sallyport;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = text.find('\n');
  const auto schema_text = parse_json(text.substr(0, line));
  if (!schema_text) return 0;
  const auto value =
      parse_json(line == std::string_view::npos ? std::string_view("{}") : text.substr(line + 1));

  SchemaOptions options;
  options.max_steps = 20'000;
  const auto schema = Schema::compile(*schema_text, options);
  if (!schema) {
    FUZZ_CHECK(schema.error().reason == Reason::argument);
    FUZZ_CHECK(!schema.error().message.empty());
    return 0;
  }
  if (!value) return 0;
  const bool accepted = schema->accepts(*value);
  const auto violations = schema->check(*value);
  FUZZ_CHECK(violations.empty() == accepted);
  FUZZ_CHECK(violations.size() <= 64);

  // Within another schema it keeps its meaning only if its references are not about its root.
  if (text.substr(0, line).contains("$") || text.substr(0, line).contains("\\u")) return 0;
  options.max_steps = 25'000;
  const auto all = Schema::compile(json::object{{"allOf", json::array{*schema_text}}}, options);
  const auto none = Schema::compile(json::object{{"not", *schema_text}}, options);
  if (!all || !none) return 0;  // one level deeper may be too deep
  if (accepted) FUZZ_CHECK(all->accepts(*value) && !none->accepts(*value));
  FUZZ_CHECK(!(all->accepts(*value) && none->accepts(*value)));
  return 0;
}
