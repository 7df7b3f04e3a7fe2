#include "screen/report.h"

#include <algorithm>

#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestExcerpt = 80;

std::string excerpt_of(std::string_view code, CodeSpan place) {
  std::string_view text =
      code.substr(place.begin, std::min<std::size_t>(place.end - place.begin, 4 * kLongestExcerpt));
  text = text.substr(0, text.find('\n'));
  std::size_t length = 0, at = 0;
  while (at < text.size() && length < kLongestExcerpt) {
    at += first_utf8_char(text.substr(at)).length;
    ++length;
  }
  at = std::min(at, text.size());
  const bool cut = at < text.size() || place.begin + at < place.end;
  return escape_for_terminal(text.substr(0, at)) + (cut ? "…" : "");
}

}  // namespace

ScreenReport::ScreenReport(std::string_view code)
    : code_(code),
      folding_left_(std::size_t{4} * code.size() + (std::size_t{4} << 20)),
      code_left_(std::size_t{2} * code.size() + 65536),
      steps_left_(std::size_t{8} * code.size() + 100'000) {
  lines_.push_back(0);
  for (std::size_t at = code.find('\n'); at != std::string_view::npos; at = code.find('\n', at + 1))
    lines_.push_back(static_cast<std::uint32_t>(at + 1));
}

std::pair<unsigned, unsigned> ScreenReport::position(std::uint32_t at) const {
  const auto line = std::ranges::upper_bound(lines_, at) - 1;
  const std::string_view before = code_.substr(*line, at - *line);
  const auto characters =
      std::ranges::count_if(before, [](char byte) { return (byte & 0xC0) != 0x80; });
  return {static_cast<unsigned>(line - lines_.begin() + 1), static_cast<unsigned>(characters + 1)};
}

void ScreenReport::add(ScreenKind kind, CodeSpan place, std::string why) {
  if (findings_.size() >= kMostScreenFindings) {
    more_ = true;
    return;
  }
  // Columns are counted only for what is new: a line can be as long as the code.
  const auto line =
      static_cast<unsigned>(std::ranges::upper_bound(lines_, place.begin) - lines_.begin());
  if (!seen_.emplace(line, kind, why).second) return;
  const ScreenCategory& row = kScreenCategories[static_cast<std::size_t>(kind)];
  findings_.emplace(place.begin, ScreenFinding{.category = std::string(row.name),
                                               .line = line,
                                               .column = position(place.begin).second,
                                               .excerpt = excerpt_of(code_, place),
                                               .why = std::move(why),
                                               .allowed = std::string(row.allowed)});
}

void ScreenReport::set_syntax_error(std::uint32_t at, std::string message) {
  if (syntax_error_) return;
  const auto [line, column] = position(std::min(at, static_cast<std::uint32_t>(code_.size())));
  syntax_error_ = {line, column, std::move(message)};
}

Screening ScreenReport::take() {
  Screening screening{.more = more_, .syntax_error = std::move(syntax_error_)};
  for (auto& [at, finding] : findings_)
    screening.findings.push_back(std::move(finding));
  return screening;
}

bool ScreenReport::spend_folding(std::size_t bytes) {
  if (bytes > folding_left_) return false;
  folding_left_ -= bytes;
  return true;
}

bool ScreenReport::spend_code(std::size_t bytes) {
  if (bytes > code_left_) return false;
  code_left_ -= bytes;
  return true;
}

bool ScreenReport::spend_step() {
  if (steps_left_ == 0) return false;
  --steps_left_;
  return true;
}

}  // namespace sallyport
