#include "serve/metrics_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "base/parse.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20;

bool is_name(std::string_view text, bool colons) {
  const auto is_start = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colons && c == ':');
  };
  return !text.empty() && is_start(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return is_start(c) || (c >= '0' && c <= '9'); });
}

std::optional<double> number(std::string_view text) {
  if (text == "+Inf") return std::numeric_limits<double>::infinity();
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

// What stands between two quotes; the first has been read.
bool take_value(std::string_view& rest, std::string& value) {
  while (!rest.empty()) {
    char c = rest[0];
    rest.remove_prefix(1);
    if (c == '"') return true;
    if (c == '\\') {
      if (rest.empty() || std::string_view("\\\"n").find(rest[0]) == std::string_view::npos)
        return false;
      c = rest[0] == 'n' ? '\n' : rest[0];
      rest.remove_prefix(1);
    }
    value.push_back(c);
  }
  return false;
}

// Behind the '{', up to and with the '}'.
bool take_labels(std::string_view& rest, MetricSample& sample) {
  for (;;) {
    const std::size_t equals = rest.find("=\"");
    if (equals == std::string_view::npos) return false;
    const std::string name(rest.substr(0, equals));
    rest.remove_prefix(equals + 2);
    std::string value;
    if (!is_name(name, false) || !take_value(rest, value) || rest.empty() ||
        !sample.labels.emplace(name, std::move(value)).second)
      return false;
    const char next = rest[0];
    rest.remove_prefix(1);
    if (next == '}') return true;
    if (next != ',') return false;
  }
}

bool parse_sample(std::string_view line, MetricSample& sample) {
  const std::size_t end = line.find_first_of("{ ");
  if (end == std::string_view::npos) return false;
  sample.name = line.substr(0, end);
  std::string_view rest = line.substr(end + 1);
  if (!is_name(sample.name, true)) return false;
  if (line[end] == '{') {
    if (!take_labels(rest, sample) || !rest.starts_with(' ')) return false;
    rest.remove_prefix(1);
  }
  const auto value = number(rest);
  sample.value = value.value_or(0);
  return value.has_value();
}

bool belongs(const MetricSample& sample, const MetricFamily& family) {
  if (family.type != "histogram") return sample.name == family.name;
  if (!sample.name.starts_with(family.name)) return false;
  const std::string_view suffix = std::string_view(sample.name).substr(family.name.size());
  return (suffix == "_bucket") == sample.labels.contains("le") &&
         (suffix == "_bucket" || suffix == "_sum" || suffix == "_count");
}

// The buckets of each series rise, and the last is all of them.
bool is_sound_histogram(const MetricFamily& family) {
  struct State {
    double bound = -std::numeric_limits<double>::infinity(), count = 0;
    std::optional<double> all;
    bool has_sum = false;
  };
  std::map<std::map<std::string, std::string, std::less<>>, State> series;
  for (const MetricSample& sample : family.samples) {
    auto labels = sample.labels;
    labels.erase("le");
    State& state = series[std::move(labels)];
    if (sample.name.ends_with("_bucket")) {
      const auto bound = number(sample.label("le"));
      if (!bound || *bound <= state.bound || sample.value < state.count) return false;
      state.bound = *bound;
      state.count = sample.value;
    } else if (sample.name.ends_with("_count")) {
      state.all = sample.value;
    } else {
      state.has_sum = true;
    }
  }
  return std::ranges::all_of(series, [](const auto& entry) {
    const State& state = entry.second;
    return std::isinf(state.bound) && state.all && *state.all == state.count && state.has_sum;
  });
}

bool is_sound(const MetricFamily& family) {
  std::set<std::pair<std::string, std::map<std::string, std::string, std::less<>>>> seen;
  for (const MetricSample& sample : family.samples) {
    if (!seen.emplace(sample.name, sample.labels).second) return false;
    if (family.type != "gauge" && sample.value < 0) return false;
  }
  return family.type != "histogram" || is_sound_histogram(family);
}

// Reads line by line; the family that is being read is the last one.
class Reader {
 public:
  bool line(std::string_view text) {
    if (text.starts_with("# HELP ")) {
      text.remove_prefix(7);
      const std::string name(take(text, ' '));
      if (!is_name(name, true) || !names_.insert(name).second) return false;
      families.push_back({name, std::string(text), {}, {}});
      return true;
    }
    if (families.empty()) return false;
    MetricFamily& family = families.back();
    if (text.starts_with("# TYPE ")) {
      text.remove_prefix(7);
      if (take(text, ' ') != family.name || !family.type.empty()) return false;
      family.type = text;
      return text == "counter" || text == "gauge" || text == "histogram";
    }
    MetricSample sample;
    if (family.type.empty() || !parse_sample(text, sample) || !belongs(sample, family))
      return false;
    family.samples.push_back(std::move(sample));
    return true;
  }

  std::vector<MetricFamily> families;

 private:
  std::set<std::string> names_;
};

}  // namespace

std::string_view MetricSample::label(std::string_view label_name) const {
  const auto found = labels.find(label_name);
  return found != labels.end() ? std::string_view(found->second) : std::string_view();
}

Result<std::vector<MetricFamily>> parse_metrics(std::string_view text) {
  if (text.size() > kMostBytes) return fail(Reason::unavailable, "the metrics are too long");
  if (!text.empty() && text.back() != '\n')
    return fail(Reason::unavailable, "the metrics end within a line");
  Reader reader;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take(text, '\n');
    if (!reader.line(line))
      return fail(Reason::unavailable,
                  "line " + std::to_string(number) +
                      " of the metrics is not what it should be: " + quoted(line));
  }
  for (const MetricFamily& family : reader.families)
    if (family.type.empty() || !is_sound(family))
      return fail(Reason::unavailable, "the metric " + family.name + " contradicts itself");
  return std::move(reader.families);
}

}  // namespace sallyport
