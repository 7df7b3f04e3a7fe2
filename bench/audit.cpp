// What the audit log costs: durable records a second, by the number of threads that write; and over
// a generated log of N million records, how fast it is verified and searched.
//
//   bench_audit [MILLIONS [DIRECTORY]]
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "audit/journal.h"
#include "audit/prove.h"
#include "audit/search.h"
#include "audit/verify.h"
#include "base/fd.h"
#include "base/sha256.h"

namespace {

using namespace sallyport;
namespace fs = std::filesystem;

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

json::object record_of(std::string_view kind, std::uint64_t call) {
  json::object record{{"record", kind},
                      {"call_id", sha256_hex(std::to_string(call)).substr(0, 32)},
                      {"tenant", "acme"},
                      {"caller", "agent_" + std::to_string(call * 7919 % 1000)},
                      {"tool", "tool_" + std::to_string(call % 40)},
                      {"policy", std::string(64, 'p')},
                      {"address", "203.0.113.7"},
                      {"arguments_hmac", std::string(64, 'h')}};
  if (kind == "outcome") {
    const bool blocked = call % 50 == 0;
    record["status"] = blocked ? "blocked" : "success";
    if (blocked) record["reason"] = call % 100'000 == 0 ? "locked_out" : "permission";
    record["wall_us"] = call % 100'000;
    record["exit_code"] = 0;
  }
  return record;
}

void measure_writers(int state, unsigned threads) {
  constexpr std::uint64_t kRecords = 20'000;
  auto journal = audit_journal(state);
  if (!journal) return (void)std::printf("%s\n", journal.error().message.c_str());
  const std::uint64_t count = threads == 1 ? kRecords / 10 : kRecords;
  std::atomic<std::uint64_t> next = 0;
  const Stopwatch watch;
  std::vector<std::thread> writers;
  for (unsigned i = 0; i < threads; ++i)
    writers.emplace_back([&] {
      for (std::uint64_t call = next++; call < count; call = next++)
        if (!(*journal)->write(record_of("outcome", call))) std::printf("refused\n");
    });
  for (std::thread& writer : writers)
    writer.join();
  std::printf("%2u threads: %.0f durable records/s\n", threads,
              static_cast<double>(count) / watch.seconds());
}

void measure_syncs(const std::string& path) {
  constexpr int kSyncs = 200;
  const Fd file(::open((path + "/sync").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const std::string line(500, 'x');
  const Stopwatch watch;
  for (int i = 0; i < kSyncs; ++i)
    (void)!(::write(file.get(), line.data(), line.size()) + ::fdatasync(file.get()));
  std::printf("one fdatasync of this disk: %.0f us\n", watch.seconds() / kSyncs * 1e6);
}

// Written by the journal itself, in groups that wait for the disk together.
void generate(int state, std::uint64_t records) {
  constexpr std::size_t kTogether = 10'000;
  auto journal = audit_journal(state);
  if (!journal) return (void)std::printf("%s\n", journal.error().message.c_str());
  std::vector<json::object> group;
  for (std::uint64_t i = 0; i < records; ++i) {
    group.push_back(record_of(i % 2 == 0 ? "intent" : "outcome", i / 2));
    if (group.size() < kTogether && i + 1 < records) continue;
    for (const auto& written : (*journal)->write_all(std::exchange(group, {})))
      if (!written) return (void)std::printf("%s\n", written.error().message.c_str());
  }
}

void measure_search(int state, const char* what, const AuditQuery& query) {
  const Stopwatch watch;
  const auto page = search_audit(state, query);
  std::printf("search %-46s %8.1f ms, %zu records\n", what, watch.seconds() * 1e3,
              page ? page->records.size() : 0);
}

void measure_reading(const std::string& path, int state, double millions) {
  const auto records = static_cast<std::uint64_t>(millions * 1e6);
  {
    const Stopwatch watch;
    generate(state, records);
    std::printf("generated %.1f million records in %.1f s\n", millions, watch.seconds());
  }
  {
    const Stopwatch watch;
    (void)audit_journal(state);
    std::printf("opened with a head: %.2f ms\n", watch.seconds() * 1e3);
  }
  fs::remove(path + "/audit/acme/head");  // as after a crash
  {
    const Stopwatch watch;
    (void)audit_journal(state);
    std::printf("opened without a head, all records read: %.2f s\n", watch.seconds());
  }
  {
    const Stopwatch watch;
    const auto report = verify_audit(state, {});
    const double seconds = watch.seconds();
    if (!report || !report->good())
      return (void)std::printf("bad: %s\n",
                               report ? report->streams.back().bad->what.c_str() : "unreadable");
    const auto bytes = static_cast<double>(
        std::ranges::find(report->streams, "acme", &StreamReport::stream)->bytes);
    std::printf("verified %.0f MB in %.2f s: %.0f MB/s, %.2f million records/s\n", bytes / 1e6,
                seconds, bytes / 1e6 / seconds, millions / seconds);
  }
  const std::string call = sha256_hex(std::to_string(records / 4)).substr(0, 32);
  measure_search(state, "one call, indexes not made yet:", {.call_id = call});
  measure_search(state, "one call:", {.call_id = call});
  measure_search(state, "one call that is not there:", {.call_id = "none"});
  measure_search(state, "the last 100 of a caller in 1000:", {.caller = "agent_7"});
  measure_search(state, "the first 100 of a caller:", {.caller = "agent_7", .newest_first = false});
  measure_search(state, "a rare reason, all:", {.reason = "locked_out", .limit = 0});
  measure_search(state,
                 "blocked calls of a caller, 100:", {.caller = "agent_50", .status = "blocked"});
  measure_search(state, "a tool and a reason never seen together:",
                 {.tool = "tool_7", .reason = "locked_out"});
  {
    const Stopwatch watch;
    const auto proof = prove_record(state, "acme", records / 2);
    std::printf("proof of one record: %.2f s%s\n", watch.seconds(), proof ? "" : ", refused");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double millions = argc > 1 ? std::strtod(argv[1], nullptr) : 1;
  std::string path = std::string(argc > 2 ? argv[2] : "/tmp") + "/sallyport-bench-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return std::perror(path.c_str()), 1;
  for (const char* part : {"writers", "reading"})
    fs::create_directory(path + "/" + part, path);
  {
    const Fd state(::open((path + "/writers").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    measure_syncs(path);
    for (const unsigned threads : {1U, 8U, 32U})
      measure_writers(state.get(), threads);
  }
  const Fd state(::open((path + "/reading").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  measure_reading(path + "/reading", state.get(), millions);
  fs::remove_all(path);
}
