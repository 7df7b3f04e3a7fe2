#include "boundary/redactions.h"

#include <map>
#include <mutex>

namespace sallyport {
namespace {

constexpr std::size_t kMost = 256;  // sets of rules, whatever policies ask for one after the other

Result<std::shared_ptr<const Redactions>> find_or_make(const RedactionChoice& choice) {
  using Key = std::pair<std::vector<std::string>, std::vector<std::string>>;
  static std::mutex mutex;
  static std::map<Key, std::shared_ptr<const Redactions>> made;
  const Key key(choice.groups, choice.patterns);
  const std::lock_guard lock(mutex);
  if (const auto known = made.find(key); known != made.end()) return known->second;
  auto redactions = Redactions::make(choice);
  if (!redactions) return redactions;
  if (made.size() >= kMost) made.clear();
  made[key] = *redactions;
  return redactions;
}

}  // namespace

Result<std::shared_ptr<const Redactions>> redactions_for(const OutputRules& rules) {
  RedactionChoice choice{.groups = rules.redact, .patterns = rules.patterns, .values = {}};
  // `block` alone is about secrets.
  if (choice.groups.empty() && choice.patterns.empty()) choice.groups = {"secrets"};
  return find_or_make(choice);
}

Result<std::shared_ptr<const Redactions>> record_redactions() {
  const auto make = [] {
    return find_or_make({.groups = {"secrets", "cards"}, .patterns = {}, .values = {}});
  };
  // Asked for by every call.
  static const auto made = make();
  return made ? made : make();
}

}  // namespace sallyport
