// What the gates cost: the whole way of a call in and out, without a cell. The tool is a function
// that does nothing; its ten arguments hold a path below a directory and a host of a list; three
// rates apply. Beside it, in the same run and interleaved, reading and writing the same arguments
// as JSON, to have something to compare with on any machine.
//
// Also: how long a policy of 1,000 tools takes to load.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/json.h"
#include "sallyport/boundary.h"

namespace {

namespace json = boost::json;
using namespace sallyport;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kPolicy = R"(
version: 1
roles: { agent: { permissions: [read:data], rate: 1000000/s } }
tenants: { acme: { rate: 1000000/s } }
callers: { agent_1: { role: agent, tenant: acme, rate: 1000000/s } }
tools:
  orders:
    tier: inline
    needs: [read:data]
    rate: 1000000/s
    args:
      customer: { type: string, pattern: "^cus_[0-9]+$" }
      region:   { type: string, enum: [eu, us, asia] }
      note:     { type: string, maxLength: 200 }
      file:     { type: path, below: /usr/share, exists: false }
      host:     { type: host, hosts: ["*.example.com"] }
      limit:    { type: integer, minimum: 1, maximum: 500 }
      amount:   { type: number, exclusiveMinimum: 0 }
      tags:     { type: array, items: { type: string }, maxItems: 10 }
      detailed: { type: boolean }
      filter:   { type: object, properties: { status: { type: string } }, additionalProperties: false }
)";

constexpr std::string_view kArguments = R"({
  "customer": "cus_12345", "region": "eu", "note": "a short note about this call",
  "file": "reports.csv", "host": "api.example.com", "limit": 50, "amount": 12.5,
  "tags": ["new", "large"], "detailed": true, "filter": {"status": "open"}})";

double micros(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

double at(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

void print(const char* name, std::vector<double>& times) {
  std::ranges::sort(times);
  std::printf("%-34s p50 %7.2f us   p95 %7.2f us   p99 %7.2f us\n", name, at(times, 0.5),
              at(times, 0.95), at(times, 0.99));
}

std::string large_policy(int tools) {
  std::string text =
      "version: 1\nroles: { agent: [read:data] }\ncallers: { a: { role: agent } }\ntools:\n";
  for (int i = 0; i < tools; ++i)
    text += "  tool_" + std::to_string(i) +
            ":\n    run: [/usr/bin/report, \"{month}\", \"{limit}\"]\n"
            "    needs: [read:data]\n    description: Report of one month.\n"
            "    rate: [10/min, 100/h]\n    limits: { timeout: 5s, memory: 128MiB }\n"
            "    args:\n      month: { type: string, pattern: \"^[0-9]{4}-[0-9]{2}$\" }\n"
            "      limit: { type: integer, minimum: 1, maximum: 500, default: 50 }\n";
  return text;
}

Policy load(std::string_view text) {
  auto policy = Policy::parse(text);
  if (policy) return std::move(*policy);
  for (const PolicyProblem& problem : policy.error())
    std::fprintf(stderr, "%s\n", to_text(problem).c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20'000;
  auto boundary = Boundary::open(load(kPolicy));
  if (!boundary) return std::fprintf(stderr, "%s\n", boundary.error().message.c_str()), 1;
  const auto added =
      boundary->add({.name = "orders", .body = [](const json::object&) -> Result<json::value> {
                       return json::value(1);
                     }});
  if (!added) return std::fprintf(stderr, "%s\n", added.error().message.c_str()), 1;

  CallRequest request;
  request.caller = "agent_1";
  request.tool = "orders";
  std::vector<double> gates, texts;
  for (int i = 0; i < rounds; ++i) {
    const auto begin = Clock::now();
    auto arguments = parse_json(kArguments);
    const std::string again = json::serialize(*arguments);
    const auto read = Clock::now();
    request.arguments = arguments->as_object();
    const auto ready = Clock::now();
    const CallResult result = boundary->call(request);
    const auto end = Clock::now();
    if (result.status != Status::success || again.empty()) {
      std::fprintf(stderr, "%s\n", result.message.c_str());
      return 1;
    }
    texts.push_back(micros(read - begin));
    gates.push_back(micros(end - ready));
  }
  print("the gates, in and out", gates);
  print("its arguments, read and written", texts);
  std::printf("%-34s p50 %7.2f\n\n", "ratio", at(gates, 0.5) / at(texts, 0.5));

  const std::string text = large_policy(1000);
  const auto begin = Clock::now();
  const Policy policy = load(text);
  std::printf("a policy of 1,000 tools (%zu kB) loads in %.0f ms\n", text.size() / 1000,
              micros(Clock::now() - begin) / 1000);
}
