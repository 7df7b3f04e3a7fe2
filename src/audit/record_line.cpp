#include "audit/record_line.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

#include "base/canonical_object.h"
#include "base/parse.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::size_t kUsualLine = 1024;

struct Field {
  std::string_view key;
  std::string_view RecordView::* value;
};

constexpr Field kTexts[] = {
    {"call_id", &RecordView::call_id}, {"caller", &RecordView::caller},
    {"prev", &RecordView::prev},       {"reason", &RecordView::reason},
    {"record", &RecordView::record},   {"status", &RecordView::status},
    {"tenant", &RecordView::tenant},   {"time", &RecordView::time},
    {"tool", &RecordView::tool},       {"writer", &RecordView::writer},
};

// The end of the string that begins at `at` with its quote: behind the closing one, or npos.
std::size_t end_of_string(std::string_view line, std::size_t at) {
  std::size_t from = at + 1;
  while (true) {
    const std::size_t quote = line.find('"', from);
    if (quote == std::string_view::npos) return quote;
    std::size_t slashes = 0;
    while (quote - slashes > from && line[quote - slashes - 1] == '\\')
      ++slashes;
    if (slashes % 2 == 0) return quote + 1;
    from = quote + 1;
  }
}

// The end of the value at `at`: of an array or object its closing bracket, whatever is in it.
std::size_t end_of_value(std::string_view line, std::size_t at) {
  std::size_t depth = 0;
  while (at < line.size()) {
    const char c = line[at];
    if (c == '"') {
      at = end_of_string(line, at);
      if (at == std::string_view::npos) return at;
      if (depth == 0) return at;
      continue;
    }
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;  // of the record itself: a number ends here
      if (--depth == 0) return at + 1;
    } else if (c == ',' && depth == 0) {
      return at;
    }
    ++at;
  }
  return std::string_view::npos;
}

bool is_field_name(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '\\';
  });
}

}  // namespace

std::string time_text(std::int64_t microseconds) {
  std::string text;
  append_time_text(text, microseconds);
  return text;
}

void append_time_text(std::string& out, std::int64_t microseconds) {
  using namespace std::chrono;
  const sys_time<std::chrono::microseconds> time{std::chrono::microseconds(microseconds)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  char text[] = "0000-00-00T00:00:00.000000Z";
  const auto put = [&text](std::size_t last, std::uint64_t number) {
    for (; number > 0; number /= 10)
      text[last--] = static_cast<char>('0' + number % 10);
  };
  put(3, static_cast<std::uint64_t>(std::clamp(static_cast<int>(date.year()), 0, 9999)));
  put(6, static_cast<unsigned>(date.month()));
  put(9, static_cast<unsigned>(date.day()));
  put(12, static_cast<std::uint64_t>(clock.hours().count()));
  put(15, static_cast<std::uint64_t>(clock.minutes().count()));
  put(18, static_cast<std::uint64_t>(clock.seconds().count()));
  put(25, static_cast<std::uint64_t>(clock.subseconds().count()));
  out.append(text, kTimeLength);
}

std::int64_t wall_clock_us() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1'000'000LL + now.tv_nsec / 1000;
}

std::string escaped(std::string_view text) {
  std::string quoted;
  append_canonical_text(quoted, text);
  return quoted.substr(1, quoted.size() - 2);
}

Result<DraftRecord> DraftRecord::make(const json::object& record) try {
  const json::value time(time_text(wall_clock_us())), prev(to_hex(Hash{})), seq(0);
  std::vector<std::pair<std::string_view, const json::value*>> members{
      {"time", &time}, {"prev", &prev}, {"seq", &seq}};
  members.reserve(record.size() + members.size());
  for (const auto& member : record) {
    const std::string_view key = member.key();
    // Escaped, it could stand in another order than its bytes do.
    if (!is_field_name(key))
      return fail(Reason::unavailable, quoted(key) + " is no name of a field");
    if (!is_plain_json(member.value(), kDeepest))
      return fail(Reason::unavailable, "the record holds what is no JSON: " + quoted(key));
    if (key != "time" && key != "prev" && key != "seq") members.emplace_back(key, &member.value());
  }
  std::ranges::sort(members, {}, [](const auto& member) { return member.first; });
  DraftRecord draft;
  std::string& text = draft.text_;
  text.reserve(kUsualLine);
  for (const auto& [key, value] : members) {
    text.append(text.empty() ? "{\"" : ",\"").append(key).append("\":");
    append_canonical_json(text, *value);
  }
  text.push_back('}');
  // What could be written and not be read would end the log.
  if (!draft.find_parts()) return fail(Reason::unavailable, "the record does not say what it is");
  return checked(std::move(draft));
} catch (const std::exception& error) {
  return fail(Reason::unavailable, std::string("the record cannot be written: ") + error.what());
}

Result<DraftRecord> DraftRecord::checked(DraftRecord draft) {
  std::string& text = draft.text_;
  if (!is_utf8(text)) {
    text = to_utf8(text);
    if (!draft.find_parts()) draft.record_ = {};
  }
  if (draft.record_.size == 0)
    return fail(Reason::unavailable, "the record does not say what it is");
  if (draft.size() > kLongestRecord)
    return fail(Reason::unavailable,
                "the record has " + std::to_string(text.size()) + " bytes, more than a record may",
                "the most is " + std::to_string(kLongestRecord) +
                    " bytes; `audit: { arguments: hash }` keeps arguments out of it");
  return draft;
}

bool DraftRecord::find_parts() {
  const auto found = read_record(text_);
  if (!found) return false;
  const auto part = [this](std::string_view piece) {
    return piece.empty()
               ? Part{}
               : Part{static_cast<std::size_t>(piece.data() - text_.data()), piece.size()};
  };
  prev_ = part(found->prev);
  record_ = part(found->record);
  call_id_ = part(found->call_id);
  tenant_ = part(found->tenant);
  writer_ = part(found->writer);
  seq_ = part(found->seq_text);
  return true;
}

void DraftRecord::append_line(std::string& out, std::uint64_t seq, const Hash& prev) const {
  const std::string_view text = text_;
  const std::size_t prev_end = prev_.begin + prev_.size, seq_end = seq_.begin + seq_.size;
  out.append(text.substr(0, prev_.begin));
  append_hex(out, prev);
  out.append(text.substr(prev_end, seq_.begin - prev_end)).append(std::to_string(seq));
  out.append(text.substr(seq_end));
}

RecordView DraftRecord::view() const {
  RecordView view;
  view.record = text_of(record_);
  view.call_id = text_of(call_id_);
  view.tenant = text_of(tenant_);
  view.writer = text_of(writer_);
  return view;
}

std::optional<RecordView> read_record(std::string_view line) {
  RecordView view;
  bool numbered = false;
  std::string_view last;
  if (line.size() < 2 || line.front() != '{' || line.back() != '}') return std::nullopt;
  std::size_t at = 1;
  while (true) {
    if (at >= line.size() || line[at] != '"') return std::nullopt;
    const std::size_t key_end = end_of_string(line, at);
    if (key_end == std::string_view::npos || key_end >= line.size() || line[key_end] != ':')
      return std::nullopt;
    const std::string_view key = line.substr(at + 1, key_end - at - 2);
    // Strictly rising: no key twice, so that no reader can take another value than this one.
    if (key <= last) return std::nullopt;
    last = key;
    const std::size_t begin = key_end + 1, end = end_of_value(line, begin);
    if (end == std::string_view::npos || end == begin) return std::nullopt;
    const std::string_view value = line.substr(begin, end - begin);
    if (key == "seq") {
      const auto number = whole_number<std::uint64_t>(value);
      if (!number || (value.size() > 1 && value[0] == '0')) return std::nullopt;
      view.seq = *number;
      view.seq_text = value;
      numbered = true;
    } else if (value.front() == '"') {
      for (const Field& field : kTexts)
        if (field.key == key) view.*field.value = value.substr(1, value.size() - 2);
    }
    if (end >= line.size()) return std::nullopt;
    if (line[end] == '}') {
      if (end + 1 != line.size()) return std::nullopt;
      break;
    }
    if (line[end] != ',') return std::nullopt;
    at = end + 1;
  }
  if (!numbered || view.record.empty() || view.time.empty() || view.prev.empty())
    return std::nullopt;
  return view;
}

}  // namespace sallyport
