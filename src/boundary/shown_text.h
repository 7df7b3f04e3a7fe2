// Text on its way to a model: without what a terminal obeys or nobody sees, and without what the
// policy takes out. In that order, so that nothing hides behind a character that is not shown.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "redact/clean_text.h"
#include "redact/redact.h"

namespace sallyport {

// One stream, in pieces however they come.
class ShownText {
 public:
  // Null: nothing is taken out.
  explicit ShownText(const std::shared_ptr<const Redactions>& redactions,
                     Invisible invisible = Invisible::removed);

  void feed(std::string_view bytes, std::string& out);
  void finish(std::string& out);

  // Of what was taken out.
  void add_counts(RedactionCounts& counts) const;
  // There were characters that nobody sees.
  [[nodiscard]] bool has_invisible() const;
  // Nothing behind that place was let out.
  [[nodiscard]] bool failed() const;

 private:
  CleanText cleaner_;
  std::unique_ptr<Redactor> redactor_;
  std::string cleaned_;
};

// A whole text, and all texts of a value, keys too. Of a value the characters that nobody sees are
// shown by their numbers instead. False: it could not be looked at, and is empty.
[[nodiscard]] bool make_shown(const std::shared_ptr<const Redactions>& redactions,
                              std::string& text, RedactionCounts& counts,
                              Invisible invisible = Invisible::removed);
[[nodiscard]] bool make_shown(const std::shared_ptr<const Redactions>& redactions,
                              json::value& value, RedactionCounts& counts);

}  // namespace sallyport
