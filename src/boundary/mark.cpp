// Output that reads like instructions is said to do so, and all of it is put between marks.
#include "base/call_id.h"
#include "boundary/gates.h"
#include "marking/injection.h"
#include "marking/untrusted.h"
#include "redact/clean_text.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostSigns = 20;

void look(std::string_view where, std::string_view text, std::vector<Finding>& findings) {
  for (const InjectionSign& sign : find_injections(text, kMostSigns))
    findings.push_back({.kind = "injection." + sign.kind,
                        .path = std::string(where) + ", byte " + std::to_string(sign.offset),
                        .why = "reads like an instruction to a model: " + sign.evidence});
}

void look(const json::value& value, std::vector<Finding>& findings) {
  if (const json::string* text = value.if_string()) {
    look("data", without_numbers(*text), findings);
  } else if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array)
      look(item, findings);
  } else if (const json::object* object = value.if_object()) {
    for (const auto& member : *object)
      look(member.value(), findings);
  }
}

}  // namespace

Pass mark(Passage& passage) {
  const std::string& way = passage.tool->output.injection;
  if (way.empty() || way == "none") return {};
  CallResult& result = passage.result;
  std::vector<Finding> signs;
  look("output", result.output, signs);
  look("error", result.error, signs);
  if (result.data) look(*result.data, signs);
  if (signs.size() > kMostSigns) signs.resize(kMostSigns);
  if (way == "block" && !signs.empty())
    return Block{Reason::withheld, "tools." + passage.tool->name + ".output.injection",
                 "the result " + signs.front().why + " (" + signs.front().path + ")",
                 "the tool is not to blame: what it read was written for you", Status::error};
  result.findings.insert(result.findings.end(), signs.begin(), signs.end());
  const std::string nonce = make_call_id();
  for (std::string* text : {&result.output, &result.error})
    if (!text->empty()) *text = mark_untrusted(*text, nonce);
  return {};
}

}  // namespace sallyport
