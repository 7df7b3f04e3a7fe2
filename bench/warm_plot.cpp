#include "warm_plot.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "warm_question.h"
#include "warm_report.h"

namespace sallyport::warm {
namespace {

constexpr double kWidth = 860, kLeft = 190, kRight = 740, kRow = 22;

// Colours that read on both: only the paper, the ink and our own colour change.
constexpr const char* kStyle = R"(<style>
  text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328; }
  .paper { fill: #ffffff; } .head { font-weight: 600; font-size: 15px; } .group { font-weight: 600; }
  .faint { fill: #59636e; font-size: 12px; } .grid { stroke: #d1d9e0; } .end { text-anchor: end; }
  .middle { text-anchor: middle; } .line { stroke-width: 3; stroke-linecap: round; }
  .ours { fill: #0a66c2; stroke: #0a66c2; } .peer { fill: #8b949e; stroke: #8b949e; }
  text.ours { stroke: none; font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .paper { fill: #0d1117; } .faint { fill: #9198a1; } .grid { stroke: #30363d; }
    .ours { fill: #58a6ff; stroke: #58a6ff; }
  }
</style>
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

// 1 µs, 10 µs, ... 1 s.
std::string power_text(double power) {
  const int steps = static_cast<int>(power);
  constexpr const char* kUnits[] = {" µs", " ms", " s"};
  const int unit = std::clamp(steps / 3, 0, 2);
  return fixed(std::pow(10, steps - 3 * unit), 0) + kUnits[unit];
}

class Drawing {
 public:
  void text(double x, double y, const std::string& classes, std::string_view words) {
    body_ += "<text x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) + "\" class=\"" + classes +
             "\">" + escaped(words) + "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2, const std::string& classes) {
    body_ += "<line x1=\"" + fixed(x1, 1) + "\" y1=\"" + fixed(y1, 1) + "\" x2=\"" + fixed(x2, 1) +
             "\" y2=\"" + fixed(y2, 1) + "\" class=\"" + classes + "\"/>\n";
  }
  void dot(double x, double y, const std::string& classes) {
    body_ += "<circle cx=\"" + fixed(x, 1) + "\" cy=\"" + fixed(y, 1) + "\" r=\"5.5\" class=\"" +
             classes + "\"/>\n";
  }
  void bar(double x, double y, double width, double height, const std::string& classes) {
    body_ += "<rect x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) + "\" width=\"" +
             fixed(width, 1) + "\" height=\"" + fixed(height, 1) + "\" rx=\"2\" class=\"" +
             classes + "\"/>\n";
  }
  [[nodiscard]] std::string whole(double height) const {
    const std::string size = fixed(kWidth, 0) + " " + fixed(height, 0);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + size + "\" width=\"" +
           fixed(kWidth, 0) + "\" height=\"" + fixed(height, 0) +
           "\" role=\"img\">\n<title>Sallyport beside other ways to run a tool</title>\n" + kStyle +
           "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n" + body_ + "</svg>\n";
  }

 private:
  std::string body_;
};

const char* class_of(std::string_view name) {
  return name.starts_with("sallyport") ? "ours" : "peer";
}

// A dot at the median, a line from there to p99, on a scale where each step is ten times the last:
// the times lie too far apart for any other.
double draw_latency(Drawing& drawing, const json::object& latency, double y) {
  double least = 1e12, most = 0;
  for (const auto& [kind, contest] : latency)
    for (const auto& [name, one] : contest.as_object()) {
      least = std::min(least, number_at(one.as_object(), "p50_us"));
      most = std::max(most, number_at(one.as_object(), "p99_us"));
    }
  const double first = std::floor(std::log10(least)), last = std::ceil(std::log10(most));
  const auto x = [&](double microseconds) {
    return kLeft + (std::log10(microseconds) - first) / (last - first) * (kRight - kLeft);
  };
  drawing.text(20, y, "head", "Time of one call, 1 in flight");
  drawing.text(kRight, y, "faint end",
               "dot: median, line: to p99; each step is ten times the last");
  y += 14;
  const double top = y;
  double rows = 0;
  for (const auto& [kind, contest] : latency)
    rows += 1.4 + static_cast<double>(contest.as_object().size());
  const double bottom = top + rows * kRow + 4;
  for (double power = first; power <= last; ++power) {
    const double at = x(std::pow(10, power));
    drawing.line(at, top, at, bottom, "grid");
    drawing.text(at, bottom + 16, "faint middle", power_text(power));
  }
  for (const Kind kind : {Kind::python, Kind::numpy, Kind::command, Kind::node}) {
    const json::value* contest = find(latency, name_of(kind));
    if (contest == nullptr) continue;
    y += kRow * 1.2;
    drawing.text(20, y, "group", title_of(kind));
    for (const auto& [name, one] : contest->as_object()) {
      y += kRow;
      const std::string name_class = class_of(name);
      const double p50 = number_at(one.as_object(), "p50_us");
      const double p99 = number_at(one.as_object(), "p99_us");
      drawing.text(kLeft - 14, y, name_class == "ours" ? "end ours" : "end", name);
      drawing.line(x(p50), y - 4.5, x(p99), y - 4.5, "line " + name_class);
      drawing.dot(x(p50), y - 4.5, name_class);
      drawing.text(kRight + 14, y, name_class == "ours" ? "ours" : "", time_text(p50));
    }
    y += kRow * 0.2;
  }
  return bottom + 52;
}

double draw_throughput(Drawing& drawing, const json::object& throughput, double y) {
  drawing.text(20, y, "head", "Calls a second, 32 in flight");
  y += 14;
  for (const Kind kind : {Kind::python, Kind::command}) {
    const json::value* contest = find(throughput, name_of(kind));
    if (contest == nullptr) continue;
    double most = 0;
    for (const auto& [name, one] : contest->as_object())
      most = std::max(most, number_at(one.as_object(), "per_second"));
    y += kRow * 1.2;
    drawing.text(20, y, "group", title_of(kind));
    for (const auto& [name, one] : contest->as_object()) {
      if (number_at(one.as_object(), "in_flight") == 1) continue;
      y += kRow;
      const std::string name_class = class_of(name);
      const double rate = number_at(one.as_object(), "per_second");
      drawing.text(kLeft - 14, y, name_class == "ours" ? "end ours" : "end", name);
      drawing.bar(kLeft, y - 11, rate / most * (kRight - kLeft), 13, name_class);
      drawing.text(kRight + 14, y, name_class == "ours" ? "ours" : "", fixed(rate, 0) + "/s");
    }
    y += kRow * 0.2;
  }
  return y + 24;
}

}  // namespace

std::string plot(const json::object& all) {
  Drawing drawing;
  double y = 32;
  if (const json::value* latency = find(all, "latency"); latency != nullptr)
    y = draw_latency(drawing, latency->as_object(), y);
  if (const json::value* throughput = find(all, "throughput"); throughput != nullptr)
    y = draw_throughput(drawing, throughput->as_object(), y);
  return drawing.whole(y);
}

}  // namespace sallyport::warm
