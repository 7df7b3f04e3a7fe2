#include "serve/metrics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string_view>

#include "base/text.h"
#include "serve/stages.h"

namespace sallyport {
namespace {

// Counters are not read together with anything else: no order is needed.
using Counter = std::atomic<std::uint64_t>;

void add(Counter& counter, std::uint64_t amount = 1) {
  counter.fetch_add(amount, std::memory_order_relaxed);
}
std::uint64_t read(const Counter& counter) {
  return counter.load(std::memory_order_relaxed);
}

struct Bucket {
  std::int64_t most_us;
  std::string_view text;  // in seconds
};
// From an inline tool to the longest deadlines that people set.
constexpr Bucket kBuckets[] = {
    {100, "0.0001"},    {250, "0.00025"},   {500, "0.0005"},      {1'000, "0.001"},
    {2'500, "0.0025"},  {5'000, "0.005"},   {10'000, "0.01"},     {25'000, "0.025"},
    {50'000, "0.05"},   {100'000, "0.1"},   {250'000, "0.25"},    {500'000, "0.5"},
    {1'000'000, "1"},   {2'500'000, "2.5"}, {5'000'000, "5"},     {10'000'000, "10"},
    {30'000'000, "30"}, {60'000'000, "60"}, {300'000'000, "300"},
};

struct Histogram {
  std::array<Counter, std::size(kBuckets) + 1> buckets{};  // each without those below it
  Counter sum_us{};

  void observe(std::int64_t us) {
    us = std::max<std::int64_t>(us, 0);
    const auto bucket = std::ranges::lower_bound(kBuckets, us, {}, &Bucket::most_us);
    add(buckets[static_cast<std::size_t>(bucket - std::begin(kBuckets))]);
    add(sum_us, static_cast<std::uint64_t>(us));
  }
};

constexpr Status kStatuses[] = {Status::success, Status::error, Status::blocked, Status::killed,
                                Status::pending};
constexpr std::size_t kReasonCount = std::size(kReasons) + 1;  // with Reason::none

// The calls of one tool and tenant.
struct Series {
  std::array<Counter, std::size(kStatuses) * kReasonCount> calls{};

  static std::size_t index(Status status, std::size_t reason) {
    return static_cast<std::size_t>(status) * kReasonCount + reason;
  }
};

// Tool and tenant.
using Pair = std::pair<std::string, std::string>;

// So that a name of the policy can be looked up without a copy of it.
struct NameOrder {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return a < b; }
  template <class A, class B>
  bool operator()(const std::pair<A, A>& a, const std::pair<B, B>& b) const {
    const int tools = std::string_view(a.first).compare(b.first);
    return tools != 0 ? tools < 0 : std::string_view(a.second) < std::string_view(b.second);
  }
};

// Values by name, which are made when they are first seen and never go away. Looking one up takes
// a lock that readers share.
template <class Name, class Value>
class Table {
 public:
  Table(std::size_t most, Name other) : most_(most), other_(std::move(other)) {}

  Value& at(const auto& name) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = values_.find(name); found != values_.end()) return *found->second;
      if (values_.size() >= most_) {
        if (const auto rest = values_.find(other_); rest != values_.end()) return *rest->second;
      }
    }
    const std::unique_lock lock(mutex_);
    const bool full = values_.size() >= most_ && !values_.contains(name);
    auto& value = values_[full ? other_ : Name(name)];
    if (value == nullptr) value = std::make_unique<Value>();
    return *value;
  }

  template <class See>
  void each(See see) const {
    const std::shared_lock lock(mutex_);
    for (const auto& [name, value] : values_)
      see(name, *value);
  }

 private:
  std::size_t most_;
  Name other_;
  mutable std::shared_mutex mutex_;
  std::map<Name, std::unique_ptr<Value>, NameOrder> values_;
};

// Failures that are the service's own, whatever the caller does.
bool is_our_failure(const CallResult& result) {
  switch (result.reason) {
    case Reason::unavailable:
    case Reason::cannot_enforce:
    case Reason::outcome_unknown:
    case Reason::internal:
      return true;
    default:
      return false;
  }
}

enum Answer : std::size_t { kInTime, kLate, kFailed };
constexpr std::string_view kAnswers[] = {"in_time", "late", "failed"};

std::string label_of(const std::string& name) {
  return name.empty() ? "unknown" : to_utf8(name);
}

// The text that is being written.
class Page {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
    text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
  }
  template <class Number>
  void sample(Labels labels, Number value, std::string_view suffix = {}) {
    text_.append(name_).append(suffix);
    char before = '{';
    for (const auto& [name, label] : labels) {
      text_.append(1, before).append(name).append("=\"");
      for (const char c : label) {
        if (c == '\n') {
          text_.append("\\n");
          continue;
        }
        if (c == '\\' || c == '"') text_.append(1, '\\');
        text_.append(1, c);
      }
      text_.append("\"");
      before = ',';
    }
    if (before == ',') text_.append("}");
    char digits[64];
    const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
    text_.append(" ").append(digits, end).append("\n");
  }
  template <class Number>
  void one(std::string_view name, std::string_view type, std::string_view help, Number value) {
    family(name, type, help);
    sample({}, value);
  }
  void histogram(std::string_view label, std::string_view value, const Histogram& histogram) {
    // What is counted while we read must not make the buckets and the count differ.
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < std::size(kBuckets); ++i) {
      count += read(histogram.buckets[i]);
      sample({{label, value}, {"le", kBuckets[i].text}}, count, "_bucket");
    }
    count += read(histogram.buckets.back());
    sample({{label, value}, {"le", "+Inf"}}, count, "_bucket");
    sample({{label, value}}, static_cast<double>(read(histogram.sum_us)) / 1e6, "_sum");
    sample({{label, value}}, count, "_count");
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name_, text_;
};

}  // namespace

struct ServiceMetrics::Counts {
  Table<Pair, Series> calls{kMostPairs, {"other", "other"}};
  Table<std::string, Histogram> tools{kMostTools, "other"};
  std::array<Histogram, kCallStages.size()> stages;
  std::array<Counter, kReasonCount> refusals{};
  std::array<Counter, std::size(kAnswers)> answers{};
  std::array<Counter, 600> http{};
  Counter cells{}, cpu_us{}, output_bytes{};
  Counter reloads_good{}, reloads_bad{};
  std::atomic<bool> last_reload_good = true;
  double started =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();

  void write_calls(Page& page) const;
  void write_service(Page& page, const MetricGauges& gauges) const;
};

ServiceMetrics::ServiceMetrics() : counts_(std::make_unique<Counts>()) {}
ServiceMetrics::~ServiceMetrics() = default;

void ServiceMetrics::observe(const CallResult& result, const CallLabels& labels,
                             std::int64_t total_us) {
  const auto reason = static_cast<std::size_t>(result.reason);
  add(counts_->calls.at(std::pair(labels.tool, labels.tenant))
          .calls[Series::index(result.status, reason)]);
  counts_->tools.at(labels.tool).observe(total_us);
  if (result.status == Status::blocked) add(counts_->refusals[reason]);

  const StageTimes times = stage_times(result, total_us);
  for (std::size_t i = 0; i < times.size(); ++i)
    if (times[i]) counts_->stages[i].observe(*times[i]);

  if (is_our_failure(result))
    add(counts_->answers[kFailed]);
  else if (result.deadline_us > 0 && result.status != Status::blocked &&
           result.status != Status::pending)
    add(counts_->answers[total_us <= result.deadline_us ? kInTime : kLate]);

  if (!result.tier.empty()) {
    add(counts_->cells);
    add(counts_->cpu_us, result.usage.cpu_user_us + result.usage.cpu_system_us);
    add(counts_->output_bytes, result.usage.output_bytes);
  }
}

void ServiceMetrics::reloaded(bool good) {
  add(good ? counts_->reloads_good : counts_->reloads_bad);
  counts_->last_reload_good = good;
}

void ServiceMetrics::http_status(unsigned status) {
  if (status < counts_->http.size()) add(counts_->http[status]);
}

void ServiceMetrics::Counts::write_calls(Page& page) const {
  page.family("sallyport_calls_total", "counter",
              "Calls that have ended, by tool, tenant, status and reason.");
  calls.each([&](const Pair& pair, const Series& series) {
    const std::string tool = label_of(pair.first), tenant = label_of(pair.second);
    for (const Status status : kStatuses) {
      for (std::size_t reason = 0; reason < kReasonCount; ++reason) {
        const std::uint64_t count = read(series.calls[Series::index(status, reason)]);
        if (count == 0) continue;
        const std::string_view name = name_of(static_cast<Reason>(reason));
        page.sample({{"tool", tool},
                     {"tenant", tenant},
                     {"status", name_of(status)},
                     {"reason", name.empty() ? "none" : name}},
                    count);
      }
    }
  });
  page.family("sallyport_refusals_total", "counter",
              "Calls that were refused, by reason. Nothing was run for them.");
  for (const ReasonText& row : kReasons)
    page.sample({{"reason", row.name}}, read(refusals[static_cast<std::size_t>(row.reason)]));
  page.family("sallyport_deadline_calls_total", "counter",
              "Calls with a deadline, by answer: in_time, late, or failed by the service itself.");
  for (std::size_t i = 0; i < std::size(kAnswers); ++i)
    page.sample({{"answer", kAnswers[i]}}, read(answers[i]));
  page.family("sallyport_call_duration_seconds", "histogram",
              "From the arrival of a call to its result, by tool.");
  tools.each([&](const std::string& tool, const Histogram& histogram) {
    page.histogram("tool", label_of(tool), histogram);
  });
  page.family("sallyport_call_stage_duration_seconds", "histogram",
              "Where the time of calls went, by stage.");
  for (std::size_t i = 0; i < kCallStages.size(); ++i)
    page.histogram("stage", kCallStages[i], stages[i]);
  page.one("sallyport_cells_started_total", "counter", "Cells that were started.", read(cells));
  page.one("sallyport_cells_cpu_seconds_total", "counter", "CPU time that cells used.",
           static_cast<double>(read(cpu_us)) / 1e6);
  page.one("sallyport_cells_output_bytes_total", "counter", "Bytes that tools wrote.",
           read(output_bytes));
}

void ServiceMetrics::Counts::write_service(Page& page, const MetricGauges& gauges) const {
  page.one("sallyport_calls_in_flight", "gauge", "Calls that have begun and not ended.",
           gauges.calls_in_flight);
  page.one("sallyport_calls_waiting", "gauge", "Calls that wait for a worker.",
           gauges.calls_waiting);
  if (gauges.audit_waiting)
    page.one("sallyport_audit_waiting_records", "gauge",
             "Records that calls wait for until they are durable.", *gauges.audit_waiting);
  if (gauges.audit_lag_us)
    page.one("sallyport_audit_lag_seconds", "gauge",
             "Since when a call waits for its record to be durable.",
             static_cast<double>(*gauges.audit_lag_us) / 1e6);
  page.family("sallyport_policy_reloads_total", "counter",
              "Times that the policy file was read again, by result.");
  page.sample({{"result", "good"}}, read(reloads_good));
  page.sample({{"result", "bad"}}, read(reloads_bad));
  page.one("sallyport_policy_last_reload_good", "gauge",
           "0: the policy file was bad when it was last read, and an older one is in force.",
           last_reload_good ? 1 : 0);
  page.family("sallyport_policy_info", "gauge", "The hash of the policy in force.");
  page.sample({{"policy", gauges.policy}}, 1);

  page.family("sallyport_http_responses_total", "counter", "Answers to HTTP requests, by status.");
  for (std::size_t status = 0; status < http.size(); ++status)
    if (const std::uint64_t count = read(http[status]); count != 0)
      page.sample({{"code", std::to_string(status)}}, count);
  page.one("sallyport_http_requests_total", "counter", "HTTP requests that were read.",
           gauges.http_requests);
  page.one("sallyport_http_refused_total", "counter",
           "HTTP requests that were malformed or past a limit.", gauges.http_refused);
  page.one("sallyport_http_connections", "gauge", "Open connections.", gauges.connections);
  page.one("sallyport_http_connections_accepted_total", "counter",
           "Connections that were accepted.", gauges.connections_accepted);
  if (gauges.spans_sent)
    page.one("sallyport_trace_spans_sent_total", "counter", "Spans that the collector took.",
             *gauges.spans_sent);
  if (gauges.spans_dropped)
    page.one("sallyport_trace_spans_dropped_total", "counter",
             "Spans that were dropped: the collector was away or too slow.", *gauges.spans_dropped);
  page.family("sallyport_build_info", "gauge", "The version that runs.");
  page.sample({{"version", SALLYPORT_VERSION}}, 1);
  page.one("process_start_time_seconds", "gauge", "When the service started, since the epoch.",
           started);
}

void write_pool(Page& page, const PoolStatus& pool) {
  struct Row {
    std::string_view name, type, help;
    std::uint64_t value;
  };
  const Row rows[] = {
      {"hits_total", "counter", "Calls that found a cell waiting.", pool.hits},
      {"misses_total", "counter", "Calls that waited for a cell to be made.", pool.misses},
      {"expired_total", "counter", "Calls that waited for a cell in vain.", pool.expired},
      {"built_total", "counter", "Cells that were made before their call.", pool.built},
      {"failed_total", "counter", "Cells that could not be made, or died while they waited.",
       pool.failed},
      {"retired_total", "counter", "Cells that went unused.", pool.retired},
      {"templates_total", "counter", "Interpreters of which an image was taken.", pool.templates},
      {"parked", "gauge", "Cells that wait for a call.", pool.parked},
      {"parked_bytes", "gauge", "Memory of the cells that wait.", pool.memory},
      {"building", "gauge", "Cells that are being made.", pool.building},
      {"waiting", "gauge", "Calls that wait for a cell.", pool.waiting},
      {"classes", "gauge", "Kinds of cells that are known.", pool.classes},
  };
  for (const Row& row : rows)
    page.one("sallyport_pool_" + std::string(row.name), row.type, row.help, row.value);
  page.one("sallyport_pool_build_seconds_total", "counter", "Time that making them took.",
           static_cast<double>(pool.build_us) / 1e6);
}

std::string ServiceMetrics::render(const MetricGauges& gauges) const {
  Page page;
  counts_->write_calls(page);
  counts_->write_service(page, gauges);
  if (gauges.pool) write_pool(page, *gauges.pool);
  return page.take();
}

}  // namespace sallyport
