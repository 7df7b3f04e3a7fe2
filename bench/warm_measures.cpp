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
  const char* bones = "";  // the same number of those who do nothing else
  bool at_most = true;
  Shown shown = Shown::ratio;
};

constexpr char kPythonBones[] = "latency.python.waiting python3, two records.p50_us";
constexpr char kCommandBones[] = "latency.true.bare, two records.p50_us";
constexpr char kCellBones[] = "throughput.true.namespaces, cgroups.per_second";

// The order and the numbers of the promise; the code below has none of its own.
constexpr Promise kPromises[] = {
    {"Python `print(…)` p50, against unsandboxed `python3 -c`", "latency.python.sallyport.p50_us",
     "latency.python.bare.p50_us", 1.0 / 12, 1.0 / 20, kPythonBones},
    {"Python `print(…)` p50, against bubblewrap", "latency.python.sallyport.p50_us",
     "latency.python.bubblewrap.p50_us", 1.0 / 15, 1.0 / 25, kPythonBones},
    {"Python `print(…)` p50, against crun", "latency.python.sallyport.p50_us",
     "latency.python.crun.p50_us", 1.0 / 16, 1.0 / 25, kPythonBones},
    {"Python `print(…)` p50, against runc", "latency.python.sallyport.p50_us",
     "latency.python.runc.p50_us", 1.0 / 25, 1.0 / 25, kPythonBones},
    {"Python `print(…)` p99, against the p50 of unsandboxed python3",
     "latency.python.sallyport.p99_us", "latency.python.bare.p50_us", 1.0 / 2, 1.0 / 5,
     "latency.python.waiting python3, two records.p99_us"},
    {"Python with numpy imported p50, against unsandboxed", "latency.numpy.sallyport.p50_us",
     "latency.numpy.bare.p50_us", 1.0 / 50, 1.0 / 100,
     "latency.numpy.waiting python3, two records.p50_us"},
    {"`/bin/true` p50, against a bare spawn", "latency.true.sallyport.p50_us",
     "latency.true.bare.p50_us", 2, 1.4, kCommandBones},
    {"`/bin/true` p50, against bubblewrap", "latency.true.sallyport.p50_us",
     "latency.true.bubblewrap.p50_us", 1.0 / 3, 1.0 / 5, kCommandBones},
    {"Python calls/s, 32 in flight, against unsandboxed python3 spawns/s",
     "throughput.python.sallyport.per_second", "throughput.python.bare.per_second", 4, 6,
     kCellBones, false},
    {"`/bin/true` calls/s, 32 in flight, against bubblewrap",
     "throughput.true.sallyport.per_second", "throughput.true.bubblewrap.per_second", 2.5, 4,
     kCellBones, false},
    {"1,000 idle warm Python cells", "idle.bytes_of_1000", "", 1, 0.7, "", true, Shown::gibibytes},
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

// 0: it was not measured.
double value_of(const json::object& all, const Promise& promise, const char* whose) {
  const double value = number_at(all, whose);
  if (promise.shown == Shown::gibibytes) return value / (1 << 30);
  const double theirs = number_at(all, promise.theirs);
  return theirs > 0 ? value / theirs : 0;
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
                    .met = "not measured",
                    .bones = "–"};
    const double value = value_of(all, promise, promise.ours);
    const double bones = value_of(all, promise, promise.bones);
    if (bones > 0) measure.bones = text_of(promise, bones);
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
