#include "serve/traces.h"

#include <sys/random.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "http/client.h"
#include "serve/stages.h"

namespace sallyport {
namespace {

constexpr int kInternal = 1, kError = 2;  // SpanKind, StatusCode of OTLP

struct Parent {
  std::string trace, span;  // hexadecimal
  bool sampled = true;
};

// "00-TRACE-SPAN-FLAGS" of the W3C. None: there is no parent, or it is not valid.
std::optional<Parent> parse_parent(std::string_view text) {
  const auto is_hex = [](std::string_view digits) {
    return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  };
  const auto is_id = [&](std::string_view digits) {
    return is_hex(digits) && digits.find_first_not_of('0') != std::string_view::npos;
  };
  if (text.size() < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  const std::string_view version = text.substr(0, 2), flags = text.substr(53, 2);
  if (!is_hex(version) || version == "ff" || !is_hex(flags)) return std::nullopt;
  // Later versions may put more behind it; this one may not.
  if (text.size() > 55 && (version == "00" || text[55] != '-')) return std::nullopt;
  Parent parent{.trace = std::string(text.substr(3, 32)), .span = std::string(text.substr(36, 16))};
  if (!is_id(parent.trace) || !is_id(parent.span)) return std::nullopt;
  const char low = flags[1];
  parent.sampled = ((low <= '9' ? low - '0' : low - 'a' + 10) & 1) != 0;
  return parent;
}

// What is known about one call, and all of it that leaves this process.
struct CallSpan {
  Parent parent;               // without a span: the call begins a trace
  std::uint64_t first_id = 0;  // the next ones are those of its children
  std::string call_id, tool, tenant, policy;
  Status status{};
  Reason reason{};
  std::int64_t end_ns = 0, total_us = 0;
  StageTimes stages;

  [[nodiscard]] std::uint64_t size() const {
    std::uint64_t spans = 1;
    for (const auto& stage : stages)
      spans += stage ? 1 : 0;
    return spans;
  }
};

std::uint64_t random_id() {
  std::uint64_t id = 0;
  while (::getrandom(&id, sizeof(id), 0) != sizeof(id)) {
  }
  // Room for the children, and never zero.
  return (id & ~std::uint64_t{0xF}) | 1;
}

std::string hex(std::uint64_t id) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; id >>= 4)
    text[i] = kDigits[id & 0xF];
  return text;
}

json::object attribute(std::string_view key, std::string_view value) {
  return {{"key", key}, {"value", json::object{{"stringValue", to_utf8(value)}}}};
}

// 64-bit numbers are strings in the JSON of protobuf.
json::object base_span(const CallSpan& call, std::uint64_t id, std::string_view parent,
                       std::string_view name, std::int64_t begin_ns, std::int64_t end_ns) {
  json::object span{{"traceId", call.parent.trace},
                    {"spanId", hex(id)},
                    {"name", to_utf8(name)},
                    {"kind", kInternal},
                    {"startTimeUnixNano", std::to_string(begin_ns)},
                    {"endTimeUnixNano", std::to_string(end_ns)}};
  if (!parent.empty()) span["parentSpanId"] = parent;
  return span;
}

void add_spans(const CallSpan& call, json::array& spans) {
  const std::int64_t begin = call.end_ns - call.total_us * 1000;
  json::object span = base_span(call, call.first_id, call.parent.span, "execute_tool " + call.tool,
                                begin, call.end_ns);
  json::array attributes{attribute("gen_ai.operation.name", "execute_tool"),
                         attribute("gen_ai.tool.name", call.tool),
                         attribute("gen_ai.tool.call.id", call.call_id),
                         attribute("gen_ai.tool.type", "function"),
                         attribute("sallyport.tenant", call.tenant),
                         attribute("sallyport.status", name_of(call.status)),
                         attribute("sallyport.policy", call.policy)};
  if (call.reason != Reason::none)
    attributes.push_back(attribute("sallyport.reason", name_of(call.reason)));
  if (call.status != Status::success && call.status != Status::pending) {
    attributes.push_back(
        attribute("error.type", call.reason != Reason::none ? name_of(call.reason) : "_OTHER"));
    span["status"] = json::object{{"code", kError}};
  }
  span["attributes"] = std::move(attributes);
  spans.push_back(std::move(span));

  // Stages follow each other without a gap.
  std::int64_t at = begin;
  for (std::size_t i = 0; i < kCallStages.size(); ++i) {
    if (!call.stages[i]) continue;
    const std::int64_t end = std::min(at + *call.stages[i] * 1000, call.end_ns);
    spans.push_back(base_span(call, call.first_id + 1 + i, hex(call.first_id),
                              std::string("sallyport.").append(kCallStages[i]), at, end));
    at = end;
  }
}

std::string encode(const std::vector<CallSpan>& calls) {
  json::array spans;
  for (const CallSpan& call : calls)
    add_spans(call, spans);
  const json::object scope{{"name", "sallyport"}, {"version", SALLYPORT_VERSION}};
  const json::object resource{
      {"attributes", json::array{attribute("service.name", "sallyport"),
                                 attribute("service.version", SALLYPORT_VERSION)}}};
  return json::serialize(json::object{
      {"resourceSpans",
       json::array{json::object{
           {"resource", resource},
           {"scopeSpans",
            json::array{json::object{{"scope", scope}, {"spans", std::move(spans)}}}}}}}});
}

std::uint64_t count_spans(const std::vector<CallSpan>& calls) {
  std::uint64_t spans = 0;
  for (const CallSpan& call : calls)
    spans += call.size();
  return spans;
}

}  // namespace

struct Traces::Queue {
  explicit Queue(TraceSettings given) : settings(std::move(given)) {
    while (settings.url.ends_with('/'))
      settings.url.pop_back();
    settings.url += "/v1/traces";
  }

  // Sends what waits at intervals, and less and less often to a collector that is away.
  void run() {
    std::chrono::milliseconds pause = settings.interval;
    std::unique_lock lock(mutex);
    for (;;) {
      const auto enough = [&] {
        return ending || (pause == settings.interval && waiting.size() >= settings.batch);
      };
      wake.wait_for(lock, pause, enough);
      const bool last = ending;
      bool reached = true;
      while (reached && !waiting.empty()) {
        const std::size_t size = std::min(waiting.size(), settings.batch);
        std::vector<CallSpan> calls(
            std::make_move_iterator(waiting.begin()),
            std::make_move_iterator(waiting.begin() + static_cast<std::ptrdiff_t>(size)));
        waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(size));
        lock.unlock();
        reached = send(calls);
        lock.lock();
      }
      pause = reached ? settings.interval : std::min(pause * 2, settings.longest_pause);
      if (last) {
        for (const CallSpan& call : waiting)
          dropped += call.size();
        waiting.clear();
        return;
      }
    }
  }

  bool send(const std::vector<CallSpan>& calls) {
    bool taken = false;
    std::string why;
    try {
      const auto reply = fetch({.url = settings.url,
                                .method = "POST",
                                .body = encode(calls),
                                .deadline = settings.patience,
                                .most_bytes = std::size_t{64} << 10});
      taken = reply && reply->status / 100 == 2;
      why = !reply ? reply.error().message : "it answers " + std::to_string(reply->status);
    } catch (const std::exception&) {  // out of memory
      why = "out of memory";
    }
    (taken ? sent : dropped) += count_spans(calls);
    // Once per change, however long it is away.
    if (taken != was_taken)
      log_line("traces", taken ? json::object{{"state", "sent again"}}
                               : json::object{{"state", "dropped"}, {"message", why}});
    was_taken = taken;
    return taken;
  }

  TraceSettings settings;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<CallSpan> waiting;
  bool ending = false;
  bool was_taken = true;  // of the thread alone
  std::atomic<std::uint64_t> sent = 0, dropped = 0;
  std::thread thread;
};

Traces::Traces(std::unique_ptr<Queue> queue) : queue_(std::move(queue)) {}

Result<std::unique_ptr<Traces>> Traces::open(TraceSettings settings) {
  if (auto checked = check_fetch_url(settings.url); !checked)
    return std::unexpected(checked.error());
  auto queue = std::make_unique<Queue>(std::move(settings));
  queue->thread = std::thread([&queue = *queue] { queue.run(); });
  return std::unique_ptr<Traces>(new Traces(std::move(queue)));
}

Traces::~Traces() {
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->ending = true;
  }
  queue_->wake.notify_all();
  queue_->thread.join();
}

void Traces::record(const CallResult& result, const CallLabels& labels, const std::string& parent,
                    std::int64_t total_us) {
  auto given = parse_parent(parent);
  if (given && !given->sampled) return;
  CallSpan call{
      .parent = given ? std::move(*given) : Parent{.trace = result.call_id, .span = {}},
      .first_id = random_id(),
      .call_id = result.call_id,
      .tool = std::string(labels.tool.empty() ? "unknown" : labels.tool),
      .tenant = std::string(labels.tenant.empty() ? "unknown" : labels.tenant),
      .policy = result.policy,
      .status = result.status,
      .reason = result.reason,
      .end_ns =
          std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count(),
      .total_us = std::max<std::int64_t>(total_us, 0),
      .stages = stage_times(result, total_us)};
  bool enough = false;
  {
    const std::lock_guard lock(queue_->mutex);
    if (queue_->waiting.size() >= queue_->settings.most_waiting) {
      queue_->dropped += call.size();
      return;
    }
    queue_->waiting.push_back(std::move(call));
    enough = queue_->waiting.size() == queue_->settings.batch;
  }
  if (enough) queue_->wake.notify_one();
}

TraceNumbers Traces::numbers() const {
  return {.sent = queue_->sent, .dropped = queue_->dropped};
}

}  // namespace sallyport
