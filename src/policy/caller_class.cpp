#include "policy/caller_class.h"

#include <algorithm>

#include "policy/limit_value.h"

namespace sallyport {
std::string likeness_of(const Caller& caller) {
  // A NUL cannot be in a name.
  std::string text = caller.role;
  text.append(1, '\0').append(caller.tenant).append(1, '\0');
  for (const CallRate& rate : caller.rates)
    text.append(to_text(rate)).append(" ");
  text.append(1, '\0');
  if (caller.concurrency) text.append(std::to_string(*caller.concurrency));
#define SALLYPORT_LIMIT_LIKENESS(limit, type, sentence) \
  text.append(1, '\0');                                 \
  if (caller.limits.limit) text.append(limit_text(*caller.limits.limit));
  SALLYPORT_LIMITS(SALLYPORT_LIMIT_LIKENESS)
#undef SALLYPORT_LIMIT_LIKENESS
  return text;
}

std::vector<CallerClass> group_callers(const Rules& rules) {
  std::map<std::string, CallerClass> classes;
  for (const auto& [name, caller] : rules.callers) {
    CallerClass& alike = classes[likeness_of(caller)];
    if (!alike.example) alike.example = &caller;
    alike.names.push_back(name);
  }
  std::vector<CallerClass> list;
  list.reserve(classes.size());
  for (auto& [likeness, alike] : classes)
    list.push_back(std::move(alike));
  return list;
}

}  // namespace sallyport
