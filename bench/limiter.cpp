// What the ledger costs: memory for 100,000 callers with three rates each and ten calls each, for
// full windows, and the time of one call.
//
//   limiter [CALLERS]
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "access/ledger.h"
#include "access/state_directory.h"

namespace {

using namespace sallyport;
using namespace std::chrono_literals;

Moment g_now{1h};

Moment clock_of_bench() {
  return g_now;
}

double resident_mb() {
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return static_cast<double>(pages * ::sysconf(_SC_PAGESIZE)) / 1e6;
}

double allocated() {
  const auto info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

struct Caller {
  explicit Caller(std::size_t number)
      : name("agent_" + std::to_string(number)),
        rates{{.key = "caller/" + name, .rule = "callers.rate", .rate = {60, 1min}},
              {.key = "caller/" + name, .rule = "callers.rate", .rate = {1000, 1h}},
              {.key = "tenant/acme", .rule = "tenants.acme.rate", .rate = {4'000'000'000, 1s}}} {}
  std::string name, address;
  std::vector<RateRule> rates;
  std::vector<ConcurrencyRule> concurrency{{.key = "tenant/acme", .rule = "c", .most = 16}};
  std::optional<BudgetRule> budget;

  [[nodiscard]] bool call(Ledger& ledger) const {
    const auto ticket = ledger.admit({.caller = name,
                                      .address = address,
                                      .rates = rates,
                                      .concurrency = concurrency,
                                      .budget = budget,
                                      .cpu_limit = 1s});
    if (ticket) ledger.settle(*ticket, {.cpu = 1ms});
    return ticket.has_value();
  }
};

void measure_many_callers(std::size_t callers) {
  const double resident = resident_mb(), before = allocated();
  const auto ledger =
      memory_ledger({.lockout = Lockout{.within = 5min, .lasts = 15min}}, clock_of_bench);
  std::size_t refused = 0;
  std::vector<double> microseconds;
  for (int round = 0; round < 10; ++round)
    for (std::size_t i = 0; i < callers; ++i) {
      g_now += 50us;
      const Caller caller(i);
      const auto begin = std::chrono::steady_clock::now();
      if (!caller.call(*ledger)) ++refused;
      microseconds.push_back(
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
              .count());
    }
  const double samples = static_cast<double>(microseconds.capacity() * sizeof(double));
  const double used = allocated() - before - samples;
  std::ranges::sort(microseconds);
  std::printf(
      "%zu callers, 3 rates, 10 calls each: %.1f MB (%.0f bytes a caller), %zu refused; "
      "process %.1f MB larger\n",
      callers, used / 1e6, used / static_cast<double>(callers), refused,
      resident_mb() - resident - samples / 1e6);
  std::printf("admit and settle: p50 %.2f us, p99 %.2f us\n", microseconds[microseconds.size() / 2],
              microseconds[microseconds.size() * 99 / 100]);
}

void measure_full_windows() {
  constexpr std::size_t kCallers = 1000, kCalls = 1000;
  const auto ledger = memory_ledger({}, clock_of_bench);
  const double before = allocated();
  for (std::size_t i = 0; i < kCallers; ++i) {
    Caller caller(i);
    caller.rates = {caller.rates[1]};
    for (std::size_t call = 0; call < kCalls; ++call)
      if (!caller.call(*ledger)) std::printf("refused\n");
  }
  std::printf("full windows of 1000/h: %.2f bytes a call\n",
              (allocated() - before) / static_cast<double>(kCallers * kCalls));
}

void measure_directory() {
  std::string name = "/tmp/sallyport-bench-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return;
  const auto directory = open_state_directory(name);
  if (!directory) return;
  const auto ledger = directory_ledger(directory->get(), {}, clock_of_bench);
  if (!ledger) return;
  constexpr std::size_t kCallers = 1000;
  std::vector<double> microseconds;
  for (int round = 0; round < 3; ++round)
    for (std::size_t i = 0; i < kCallers; ++i) {
      g_now += 1ms;
      const Caller caller(i);
      const auto begin = std::chrono::steady_clock::now();
      if (!caller.call(**ledger)) std::printf("refused\n");
      if (round > 0)
        microseconds.push_back(
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
                .count());
    }
  std::ranges::sort(microseconds);
  struct stat status{};
  (void)::fstatat(directory->get(), "ledger", &status, 0);
  std::printf(
      "state directory with %zu callers: admit and settle p50 %.0f us, p99 %.0f us; "
      "file of %lld bytes\n",
      kCallers, microseconds[microseconds.size() / 2], microseconds[microseconds.size() * 99 / 100],
      static_cast<long long>(status.st_size));
  for (const char* file : {"ledger", "ledger.lock", "calls"})
    (void)::unlinkat(directory->get(), file, 0);
  (void)::rmdir(name.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  measure_many_callers(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000);
  measure_full_windows();
  measure_directory();
}
