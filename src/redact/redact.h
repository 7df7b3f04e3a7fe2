// Takes secrets and other things that must not leave out of text, as a stream: what comes out does
// not depend on how the text was cut into pieces.
//
// Hyperscan finds anchors of all rules at once; what stands around an anchor is looked at with RE2
// and code of our own in a window of bounded length. Both are linear in the length of the text,
// whatever the text is. Every secret is replaced by a marker that names the rule:
// [REDACTED_SECRET:aws-access-key], [HOME_DIR], [IP_ADDR], [TEMP_DIR], [EMAIL], [CARD]. A marker in
// the text is left as it is, so that redacting twice changes nothing more.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sallyport/error.h"

namespace sallyport {

struct RedactionChoice {
  std::vector<std::string> groups;    // of kRedactionGroups
  std::vector<std::string> patterns;  // RE2; become [REDACTED_SECRET:pattern-1] and so on
  std::vector<std::string> values;    // known secrets, found in many forms; at least 6 bytes each
};

using RedactionCounts = std::map<std::string, std::uint64_t>;  // by rule id

// Rules made ready to use, by any number of threads.
class Redactions {
 public:
  // An error if a group is unknown, a pattern is not of bounded length or not RE2, a value is too
  // short, or this machine's CPU cannot run the scanner: then nothing may be let out unredacted.
  // What is built in is compiled once per process and set of groups.
  [[nodiscard]] static Result<std::shared_ptr<const Redactions>> make(
      const RedactionChoice& choice);

  ~Redactions();
  Redactions(const Redactions&) = delete;
  Redactions& operator=(const Redactions&) = delete;

  struct Parts;
  [[nodiscard]] const Parts& parts() const { return *parts_; }

 private:
  explicit Redactions(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// One stream of text.
class Redactor {
 public:
  explicit Redactor(std::shared_ptr<const Redactions> redactions);
  ~Redactor();
  Redactor(const Redactor&) = delete;
  Redactor& operator=(const Redactor&) = delete;

  // Appends to `out` what of the text so far is known to be clean, or is redacted. Some of the text
  // is held back: at most a few kilobytes, and what an unfinished secret has.
  void feed(std::string_view text, std::string& out);

  // Appends the rest. The redactor is then spent.
  void finish(std::string& out);

  // What was taken out so far.
  [[nodiscard]] RedactionCounts counts() const;

  // The scanner failed; nothing of the text behind that place is let out.
  [[nodiscard]] bool failed() const;

  // How often a candidate was looked at: the work beside the scan itself.
  [[nodiscard]] std::uint64_t looks() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// All of a text at once; what was taken out is added to `counts`.
[[nodiscard]] std::string redact_all(const std::shared_ptr<const Redactions>& redactions,
                                     std::string_view text, RedactionCounts& counts);

// A built-in rule, for documentation.
struct RedactionRuleText {
  std::string_view id, group, marker, what;
};
[[nodiscard]] std::vector<RedactionRuleText> redaction_rules();

}  // namespace sallyport
