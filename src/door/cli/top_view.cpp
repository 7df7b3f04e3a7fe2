#include "door/cli/top_view.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>
#include <tuple>

#include "base/text.h"

namespace sallyport {
namespace {

// Counts in buckets, each without those below it, by their upper bound.
using Buckets = std::map<double, double>;

const MetricFamily* find(const std::vector<MetricFamily>& metrics, std::string_view name) {
  const auto found = std::ranges::find(metrics, name, &MetricFamily::name);
  return found != metrics.end() ? &*found : nullptr;
}

std::span<const MetricSample> samples(const TopSample& sample, std::string_view name) {
  const MetricFamily* family = find(sample.metrics, name);
  return family != nullptr ? std::span<const MetricSample>(family->samples)
                           : std::span<const MetricSample>();
}

std::optional<double> gauge(const TopSample& sample, std::string_view name) {
  const auto found = samples(sample, name);
  return found.empty() ? std::nullopt : std::optional(found[0].value);
}

// The sum of a counter by one of its labels.
std::map<std::string, double> by_label(const TopSample& sample, std::string_view name,
                                       std::string_view label) {
  std::map<std::string, double> sums;
  for (const MetricSample& one : samples(sample, name))
    sums[std::string(one.label(label))] += one.value;
  return sums;
}

Buckets buckets_of(const TopSample& sample, std::string_view name, std::string_view label,
                   std::string_view value) {
  Buckets buckets;
  double below = 0;
  for (const MetricSample& one : samples(sample, name)) {
    if (!one.name.ends_with("_bucket") || one.label(label) != value) continue;
    const std::string_view text = one.label("le");
    double bound = INFINITY;
    if (text != "+Inf") std::from_chars(text.data(), text.data() + text.size(), bound);
    buckets[bound] = one.value - below;
    below = one.value;
  }
  return buckets;
}

void subtract(Buckets& buckets, const Buckets& before) {
  for (auto& [bound, count] : buckets)
    if (const auto old = before.find(bound); old != before.end())
      count = std::max(count - old->second, 0.0);
}

// As histogram_quantile() of Prometheus: evenly spread within a bucket.
std::optional<double> quantile(const Buckets& buckets, double share) {
  double all = 0;
  for (const auto& [bound, count] : buckets)
    all += count;
  if (all <= 0) return std::nullopt;
  double below = 0, lower = 0;
  for (const auto& [bound, count] : buckets) {
    if (below + count >= share * all && count > 0)
      return std::isinf(bound) ? lower : lower + (bound - lower) * (share * all - below) / count;
    below += count;
    if (!std::isinf(bound)) lower = bound;
  }
  return lower;
}

std::optional<Quantiles> quantiles(const Buckets& buckets) {
  const auto p50 = quantile(buckets, 0.5);
  if (!p50) return std::nullopt;
  return Quantiles{*p50, *quantile(buckets, 0.95), *quantile(buckets, 0.99)};
}

std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string time_text(double seconds) {
  if (seconds < 0.001) return number("%.0f us", seconds * 1e6);
  if (seconds < 0.1) return number("%.1f ms", seconds * 1e3);
  if (seconds < 1) return number("%.0f ms", seconds * 1e3);
  return number("%.2f s", seconds);
}

std::string age_text(double seconds) {
  const auto minutes = static_cast<long long>(seconds / 60);
  if (seconds < 10) return number("%.1f s", seconds);
  if (minutes < 1) return number("%.0f s", seconds);
  if (minutes < 60) return std::to_string(minutes) + " min";
  return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

std::string count_text(double count) {
  return number("%.0f", count);
}

std::string left(std::string text, std::size_t width) {
  if (text.size() > width) text = text.substr(0, width - 1) + "~";
  return text.append(width - text.size(), ' ');
}

std::string right(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 1, ' ') + text;
}

constexpr std::size_t kName = 24, kColumn = 10;

std::string row(const std::string& name, std::initializer_list<std::string> cells) {
  std::string line = left(escape_for_terminal(name), kName);
  for (const std::string& cell : cells)
    line += right(cell, kColumn);
  return line;
}

// Lines that end where the screen does.
class Screen {
 public:
  Screen(std::size_t width, std::size_t height) : width_(width), left_(height) {}
  void line(std::string_view text) {
    if (left_ == 0) return;
    --left_;
    text_.append(text.substr(0, width_)).append("\n");
  }
  std::string take() { return std::move(text_); }

 private:
  std::size_t width_, left_;
  std::string text_;
};

std::int64_t whole(double count) {
  return static_cast<std::int64_t>(count);
}

json::value time_json(const std::optional<Quantiles>& times) {
  if (!times) return nullptr;
  return json::object{{"p50", times->p50}, {"p95", times->p95}, {"p99", times->p99}};
}

}  // namespace

TopFigures top_figures(const TopSample& now, const TopSample* before) {
  TopFigures figures;
  const double started = gauge(now, "process_start_time_seconds").value_or(now.time);
  if (before != nullptr && before->time < started) before = nullptr;
  const TopSample nothing{.metrics = {}, .running = {}, .time = started};
  const TopSample& old = before != nullptr ? *before : nothing;
  figures.up_seconds = std::max(now.time - started, 0.0);
  figures.seconds = std::max(now.time - old.time, 0.001);
  for (const MetricSample& info : samples(now, "sallyport_build_info"))
    figures.version = info.label("version");
  for (const MetricSample& info : samples(now, "sallyport_policy_info"))
    figures.policy = info.label("policy");
  figures.in_flight = gauge(now, "sallyport_calls_in_flight").value_or(0);
  figures.waiting = gauge(now, "sallyport_calls_waiting").value_or(0);
  figures.connections = gauge(now, "sallyport_http_connections").value_or(0);
  figures.audit_lag_seconds = gauge(now, "sallyport_audit_lag_seconds");

  for (const MetricSample& calls : samples(now, "sallyport_calls_total")) {
    ToolFigures& tool = figures.tools[std::string(calls.label("tool"))];
    tool.calls += calls.value;
    if (calls.label("status") == "blocked") tool.refused += calls.value;
    if (calls.label("status") == "error" || calls.label("status") == "killed")
      tool.failed += calls.value;
  }
  auto old_calls = by_label(old, "sallyport_calls_total", "tool");
  constexpr std::string_view kCallTimes = "sallyport_call_duration_seconds";
  for (auto& [name, tool] : figures.tools) {
    tool.per_second = std::max(tool.calls - old_calls[name], 0.0) / figures.seconds;
    figures.calls_per_second += tool.per_second;
    Buckets buckets = buckets_of(now, kCallTimes, "tool", name);
    subtract(buckets, buckets_of(old, kCallTimes, "tool", name));
    tool.times = quantiles(buckets);
  }

  constexpr std::string_view kStageTimes = "sallyport_call_stage_duration_seconds";
  for (const MetricSample& one : samples(now, kStageTimes)) {
    if (!one.name.ends_with("_count")) continue;
    Buckets buckets = buckets_of(now, kStageTimes, "stage", one.label("stage"));
    subtract(buckets, buckets_of(old, kStageTimes, "stage", one.label("stage")));
    if (const auto times = quantiles(buckets))
      figures.stages.emplace_back(one.label("stage"), *times);
  }

  auto old_refusals = by_label(old, "sallyport_refusals_total", "reason");
  for (const auto& [reason, count] : by_label(now, "sallyport_refusals_total", "reason"))
    if (count > 0)
      figures.refusals[reason] = {
          .count = count,
          .per_second = std::max(count - old_refusals[reason], 0.0) / figures.seconds};

  auto answers = by_label(now, "sallyport_deadline_calls_total", "answer");
  double all = 0;
  for (const auto& [answer, count] : by_label(old, "sallyport_deadline_calls_total", "answer"))
    answers[answer] -= count;
  for (const auto& [answer, count] : answers)
    all += count;
  if (all > 0) figures.in_time = answers["in_time"] / all;
  figures.running = now.running;
  return figures;
}

std::string top_text(const TopFigures& figures, std::size_t width, std::size_t height) {
  Screen screen(width, height);
  screen.line("sallyport " + escape_for_terminal(figures.version) + "   policy " +
              escape_for_terminal(figures.policy.substr(0, 12)) + "   up " +
              age_text(figures.up_seconds) + "   over the last " + age_text(figures.seconds));
  std::string line = "calls " + number("%.1f/s", figures.calls_per_second) + "   in flight " +
                     count_text(figures.in_flight) + "   waiting " + count_text(figures.waiting) +
                     "   connections " + count_text(figures.connections);
  if (figures.in_time) line += "   in time " + number("%.2f%%", *figures.in_time * 100);
  if (figures.audit_lag_seconds) line += "   audit lag " + time_text(*figures.audit_lag_seconds);
  screen.line(line);

  screen.line("");
  screen.line(row("TOOL", {"CALLS/S", "CALLS", "REFUSED", "FAILED", "P50", "P95", "P99"}));
  // The busiest first.
  std::vector<std::pair<std::string, ToolFigures>> tools(figures.tools.begin(),
                                                         figures.tools.end());
  std::ranges::sort(tools, {}, [](const auto& entry) {
    return std::tuple(-entry.second.per_second, -entry.second.calls, entry.first);
  });
  const auto times_of = [](const std::optional<Quantiles>& times, double Quantiles::* which) {
    return times ? time_text((*times).*which) : std::string("-");
  };
  for (const auto& [name, tool] : tools)
    screen.line(row(
        name, {number("%.1f", tool.per_second), count_text(tool.calls), count_text(tool.refused),
               count_text(tool.failed), times_of(tool.times, &Quantiles::p50),
               times_of(tool.times, &Quantiles::p95), times_of(tool.times, &Quantiles::p99)}));
  if (!figures.stages.empty()) {
    screen.line("");
    screen.line(row("STAGE", {"", "", "", "", "P50", "P95", "P99"}));
    for (const auto& [stage, times] : figures.stages)
      screen.line(row(stage, {"", "", "", "", time_text(times.p50), time_text(times.p95),
                              time_text(times.p99)}));
  }
  if (!figures.refusals.empty()) {
    screen.line("");
    screen.line(row("REFUSED FOR", {"CALLS/S", "CALLS"}));
    for (const auto& [reason, refusal] : figures.refusals)
      screen.line(row(reason, {number("%.1f", refusal.per_second), count_text(refusal.count)}));
  }
  if (!figures.running.empty()) {
    screen.line("");
    screen.line("RUNNING");
    for (const RunningCall& call : figures.running)
      screen.line(left(escape_for_terminal(call.tool), kName) + "  " +
                  left(escape_for_terminal(call.caller), kName) + "  " +
                  escape_for_terminal(call.call_id));
  }
  return screen.take();
}

json::object top_json(const TopFigures& figures) {
  json::object tools, stages, refusals;
  for (const auto& [name, tool] : figures.tools)
    tools[to_utf8(name)] = json::object{{"calls_per_second", tool.per_second},
                                        {"calls", whole(tool.calls)},
                                        {"refused", whole(tool.refused)},
                                        {"failed", whole(tool.failed)},
                                        {"seconds", time_json(tool.times)}};
  for (const auto& [name, times] : figures.stages)
    stages[to_utf8(name)] = time_json(times);
  for (const auto& [name, refusal] : figures.refusals)
    refusals[to_utf8(name)] =
        json::object{{"calls_per_second", refusal.per_second}, {"calls", whole(refusal.count)}};
  json::array running;
  for (const RunningCall& call : figures.running)
    running.push_back(json::object{{"call_id", to_utf8(call.call_id)},
                                   {"tool", to_utf8(call.tool)},
                                   {"caller", to_utf8(call.caller)}});
  json::object object{{"version", to_utf8(figures.version)},
                      {"policy", to_utf8(figures.policy)},
                      {"up_seconds", figures.up_seconds},
                      {"seconds", figures.seconds},
                      {"calls_per_second", figures.calls_per_second},
                      {"in_flight", whole(figures.in_flight)},
                      {"waiting", whole(figures.waiting)},
                      {"connections", whole(figures.connections)},
                      {"in_time", nullptr},
                      {"audit_lag_seconds", nullptr},
                      {"tools", std::move(tools)},
                      {"stages", std::move(stages)},
                      {"refusals", std::move(refusals)},
                      {"running", std::move(running)}};
  if (figures.in_time) object["in_time"] = *figures.in_time;
  if (figures.audit_lag_seconds) object["audit_lag_seconds"] = *figures.audit_lag_seconds;
  return object;
}

}  // namespace sallyport
