#include "input/sql_identifier.h"

#include <algorithm>

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongest = 63;  // PostgreSQL cuts longer names off, so that two become one

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongest && is_letter(text[0]) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

Result<SqlIdentifier> SqlIdentifier::parse(std::string_view text, const SqlIdentifierRules& rules) {
  SqlIdentifier identifier;
  std::string_view name = text;
  if (const std::size_t dot = text.find('.'); rules.qualified && dot != std::string_view::npos) {
    if (!is_name(text.substr(0, dot)))
      return fail(Reason::argument,
                  "the schema in " + quoted(text) + " is not a plain SQL identifier",
                  "use a letter or underscore, then up to 62 letters, digits or underscores");
    identifier.schema_ = text.substr(0, dot);
    name = text.substr(dot + 1);
  }
  if (!is_name(name))
    return fail(Reason::argument, quoted(text) + " is not a plain SQL identifier",
                rules.qualified
                    ? "use name or schema.name, each a letter or underscore, then up to 62 "
                      "letters, digits or underscores"
                    : "use a letter or underscore, then up to 62 letters, digits or underscores");
  identifier.name_ = name;
  return identifier;
}

std::string SqlIdentifier::to_text() const {
  return schema_.empty() ? name_ : schema_ + "." + name_;
}

std::string SqlIdentifier::sql_quoted() const {
  const std::string name = "\"" + name_ + "\"";
  return schema_.empty() ? name : "\"" + schema_ + "\"." + name;
}

}  // namespace sallyport
