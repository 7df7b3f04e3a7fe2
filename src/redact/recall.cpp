#include "redact/recall.h"

#include <algorithm>

#include "redact/sight.h"

namespace sallyport {

// Looks go on in the order of the text, but what they look at may lie a little further back.
std::size_t Recall::earlier_run_end(std::string_view text, std::size_t i, const CharClass& chars) {
  Run& run = runs_[chars.number];
  const std::size_t stop = std::min(run.begin, text.size());
  std::size_t end = i;
  while (end < stop && chars(text[end]))
    ++end;
  if (end < stop || stop == text.size()) return std::min(end, text.size());
  run.begin = i;
  return run_end(text, i, chars);
}

bool Recall::line_has(std::string_view text, std::size_t at, std::string_view word) {
  constexpr std::size_t kFurthest = 200;
  // The words are those of the rules: each has one place.
  auto known =
      std::ranges::find(words_, word.data(), [](const Word& row) { return row.word.data(); });
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

bool Recall::is_in_url(std::string_view text, std::size_t at) {
  constexpr std::size_t kFurthest = 64;
  static constexpr CharTable kEnds = table_of([](char c) { return is_space(c) || is_quote(c); });
  if (at < url_.searched || at - url_.searched > kFurthest)
    url_ = {.searched = at - std::min(at, kFurthest), .last = 0};
  for (; url_.searched < at; ++url_.searched) {
    const char c = text[url_.searched];
    if (kEnds[static_cast<unsigned char>(c)])
      url_.last = 0;
    else if (c == '/' && text.substr(0, url_.searched + 1).ends_with("://"))
      url_.last = url_.searched + 1;
  }
  return url_.last > 0 && at - url_.last < kFurthest;
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
  url_ = {};
  no_header_.fill(0);
  seen_name_ = {};
}

}  // namespace sallyport
