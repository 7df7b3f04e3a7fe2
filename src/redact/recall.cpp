#include "redact/recall.h"

#include <algorithm>

namespace sallyport {

std::size_t Recall::find_run_end(std::string_view text, std::size_t i, const CharClass& chars) {
  if (runs_.size() <= chars.number) runs_.resize(chars.number + 1);
  Run& run = runs_[chars.number];
  const auto scan = [&](std::size_t from, std::size_t to) {
    const char* at = text.data() + from;
    const char* const end = text.data() + to;
    while (at < end && chars(*at))
      ++at;
    return static_cast<std::size_t>(at - text.data());
  };
  if (i >= text.size()) return text.size();
  if (i < run.begin) {
    // Looks go on in the order of the text, but what they look at may lie a little further back.
    const std::size_t stop = std::min(run.begin, text.size());
    const std::size_t end = scan(i, stop);
    if (end < stop || stop == text.size()) return end;
    run.begin = i;
  } else if (i > run.end) {
    run = {i, i};
  }
  if (run.end < text.size()) run.end = scan(run.end, text.size());
  return std::min(run.end, text.size());
}

bool Recall::line_has(std::string_view text, std::size_t at, std::string_view word) {
  constexpr std::size_t kFurthest = 200;
  auto known = std::ranges::find(words_, word, &Word::word);
  if (known == words_.end()) known = words_.insert(known, {.word = word});
  std::size_t from = at > kFurthest ? at - kFurthest : 0;
  if (at < known->searched) {
    *known = {.word = word};
  } else {
    from = std::max(from, known->searched - std::min(known->searched, word.size() - 1));
  }
  const std::string_view fresh = text.substr(from, at - from);
  for (std::size_t i = fresh.find(word[0]); i != std::string_view::npos;
       i = fresh.find(word[0], i + 1))
    if (fresh.substr(i).starts_with(word)) known->last = from + i + word.size();
  known->searched = at;
  if (known->last == 0) return false;
  const std::size_t begin = known->last - word.size();
  return at - begin <= kFurthest && !text.substr(known->last, at - known->last).contains('\n');
}

bool Recall::is_no_header(std::size_t begin, std::size_t dot) const {
  return no_header_[begin % no_header_.size()] == dot;
}

void Recall::note_no_header(std::size_t begin, std::size_t dot) {
  no_header_[begin % no_header_.size()] = dot;
}

void Recall::forget() {
  std::ranges::fill(runs_, Run{});
  words_.clear();
  no_header_.fill(0);
  seen_name_ = {};
}

}  // namespace sallyport
