#include "warm_measures.h"

#include "warm_report.h"

namespace sallyport::warm {
namespace {

enum class Shown { ratio, gibibytes };

// One number divided by another, or one alone, which must be at most or at least so much.
struct Promise {
  const char* what;
  const char *ours, *theirs;
  double bar, goal;
  bool at_most = true;
  Shown shown = Shown::ratio;
};

// The order and the numbers of the promise; the code below has none of its own.
constexpr Promise kPromises[] = {
    {"Python `print(…)` p50, against unsandboxed `python3 -c`", "latency.python.sallyport.p50_us",
     "latency.python.bare.p50_us", 1.0 / 12, 1.0 / 20},
    {"Python `print(…)` p50, against bubblewrap", "latency.python.sallyport.p50_us",
     "latency.python.bubblewrap.p50_us", 1.0 / 15, 1.0 / 25},
    {"Python `print(…)` p50, against crun", "latency.python.sallyport.p50_us",
     "latency.python.crun.p50_us", 1.0 / 16, 1.0 / 25},
    {"Python `print(…)` p50, against runc", "latency.python.sallyport.p50_us",
     "latency.python.runc.p50_us", 1.0 / 25, 1.0 / 25},
    {"Python `print(…)` p99, against the p50 of unsandboxed python3",
     "latency.python.sallyport.p99_us", "latency.python.bare.p50_us", 1.0 / 2, 1.0 / 5},
    {"Python with numpy imported p50, against unsandboxed", "latency.numpy.sallyport.p50_us",
     "latency.numpy.bare.p50_us", 1.0 / 50, 1.0 / 100},
    {"`/bin/true` p50, against a bare spawn", "latency.true.sallyport.p50_us",
     "latency.true.bare.p50_us", 2, 1.4},
    {"`/bin/true` p50, against bubblewrap", "latency.true.sallyport.p50_us",
     "latency.true.bubblewrap.p50_us", 1.0 / 3, 1.0 / 5},
    {"Python calls/s, 32 in flight, against unsandboxed python3 spawns/s",
     "throughput.python.sallyport.per_second", "throughput.python.bare.per_second", 4, 6, false},
    {"`/bin/true` calls/s, 32 in flight, against bubblewrap",
     "throughput.true.sallyport.per_second", "throughput.true.bubblewrap.per_second", 2.5, 4,
     false},
    {"1,000 idle warm Python cells", "idle.bytes_of_1000", "", 1, 0.7, true, Shown::gibibytes},
    {"Python p50 with 4 CPU hogs, against bubblewrap", "hogs.python.sallyport.p50_us",
     "hogs.python.bubblewrap.p50_us", 1.0 / 8, 1.0 / 15},
    {"`/bin/true` p50 with 4 CPU hogs, against bubblewrap", "hogs.true.sallyport.p50_us",
     "hogs.true.bubblewrap.p50_us", 1.0 / 8, 1.0 / 15},
};

std::string without_zeros(std::string text) {
  while (text.ends_with('0'))
    text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string text_of(const Promise& promise, double value) {
  if (promise.shown == Shown::gibibytes) return without_zeros(fixed(value, 2)) + " GiB";
  if (value > 0.7) return without_zeros(fixed(value, value < 10 ? 2 : 1)) + "×";
  return "1/" + without_zeros(fixed(1 / value, 1));
}

}  // namespace

std::vector<Measure> measures(const json::object& all) {
  std::vector<Measure> list;
  for (const Promise& promise : kPromises) {
    const std::string sign = promise.at_most ? "≤ " : "≥ ";
    Measure measure{.what = promise.what,
                    .bar = sign + text_of(promise, promise.bar),
                    .goal = sign + text_of(promise, promise.goal),
                    .found = "–",
                    .met = "not measured"};
    double value = number_at(all, promise.ours);
    if (*promise.theirs != '\0') {
      const double theirs = number_at(all, promise.theirs);
      value = theirs > 0 ? value / theirs : 0;
    }
    if (promise.shown == Shown::gibibytes) value /= 1 << 30;
    if (value > 0) {
      const auto meets = [&](double wanted) {
        return promise.at_most ? value <= wanted : value >= wanted;
      };
      measure.value = value;
      measure.found = text_of(promise, value);
      measure.met = meets(promise.goal) ? "goal" : meets(promise.bar) ? "bar" : "no";
    }
    list.push_back(std::move(measure));
  }
  return list;
}

}  // namespace sallyport::warm
