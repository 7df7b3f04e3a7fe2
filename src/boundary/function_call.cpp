#include "boundary/function_call.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <ctime>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/text.h"
#include "policy/load.h"

namespace sallyport {
namespace {

constexpr int kMostWorkers = 64;
constexpr std::uint32_t kProof = 64;  // times that a function has to be quick
std::atomic<int> workers = 0;

std::int64_t thread_cpu_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// The CPU time of one function of this thread. Asking the kernel costs more than a short function
// does, so that it is asked as rarely as that is no loss: a function that took no longer than
// kShort counts with the time that it took, and between two questions there is kApart. What a
// function is said to have used is never less than what it used, and never more than it took.
class CpuMeter {
 public:
  CpuMeter() {
    if (begin_ - asked_at > kApart) ask(begin_);
    before_ = answer;
  }

  struct Times {
    std::int64_t took_ns, used_ns;
  };
  [[nodiscard]] Times stop() const {
    const std::int64_t now = monotonic_ns(), took = now - begin_;
    if (took <= kShort) return {took, took};
    ask(now);
    return {took, std::min(took, answer - before_)};
  }

 private:
  static constexpr std::int64_t kShort = 50'000, kApart = 200'000;

  static void ask(std::int64_t now) {
    answer = thread_cpu_ns();
    asked_at = now;
  }
  static thread_local std::int64_t asked_at, answer;

  std::int64_t begin_ = monotonic_ns(), before_ = 0;
};

thread_local std::int64_t CpuMeter::asked_at = std::numeric_limits<std::int64_t>::min() / 2;
thread_local std::int64_t CpuMeter::answer = 0;

struct Answer {
  Result<json::value> value;
  std::uint64_t cpu_us = 0;
  std::int64_t wall_us = 0;
};

Result<json::value> guarded(const RegisteredFunction& function, const json::object& arguments) {
  try {
    return function.body(arguments);
  } catch (const std::exception& error) {
    return fail(Reason::exit, "the function threw: " + to_utf8(error.what()));
  } catch (...) {
    return fail(Reason::exit, "the function threw something that is no exception");
  }
}

Answer measured(const RegisteredFunction& function, const json::object& arguments) {
  const CpuMeter cpu;
  Answer answer{guarded(function, arguments)};
  const auto [took, used] = cpu.stop();
  answer.cpu_us = static_cast<std::uint64_t>(used / 1000);
  answer.wall_us = took / 1000;
  if (function.pace) function.pace->took(took);
  return answer;
}

// What a worker and the call that waits for it share. The worker may outlive the boundary, so it
// has copies of all it uses.
struct Errand {
  std::function<Result<json::value>(const json::object&)> body;
  json::object arguments;
  std::mutex mutex;
  std::condition_variable done;
  std::optional<Answer> answer;
};

std::optional<Answer> on_a_thread(const Passage& passage) {
  auto errand = std::make_shared<Errand>();
  errand->body = passage.function->body;
  errand->arguments = passage.arguments;
  std::thread([errand] {
    Answer answer = measured({.tool = {}, .args = {}, .body = errand->body}, errand->arguments);
    {
      const std::lock_guard lock(errand->mutex);
      errand->answer = std::move(answer);
    }
    errand->done.notify_one();
    --workers;
  }).detach();

  std::unique_lock lock(errand->mutex);
  errand->done.wait_for(lock, passage.limits.timeout, [&] { return errand->answer.has_value(); });
  return std::move(errand->answer);
}

void tell(Answer answer, CallResult& result) {
  result.usage.cpu_user_us = answer.cpu_us;
  result.usage.wall_us = answer.wall_us;
  if (answer.value) {
    result.data = std::move(*answer.value);
    return;
  }
  const Error& error = answer.value.error();
  result.status = Status::error;
  result.reason = error.reason == Reason::internal ? Reason::exit : error.reason;
  result.message = error.message;
  result.hint = error.hint;
}

}  // namespace

Pass run_function(Passage& passage) {
  CallResult& result = passage.result;
  if (passage.tool->tier != Tier::thread) {
    result.tier = "inline";
    tell(measured(*passage.function, passage.arguments), result);
  } else {
    const std::int64_t begin = monotonic_ns();
    if (workers.fetch_add(1) >= kMostWorkers) {
      --workers;
      return Block{Reason::unavailable, "tools." + passage.tool->name + ".tier",
                   "too many functions are still running", "try again later"};
    }
    result.tier = "thread";
    if (auto answer = on_a_thread(passage)) {
      tell(std::move(*answer), result);
    } else {
      result.status = Status::killed;
      result.reason = Reason::timeout;
      result.message = passage.tool->name + " did not answer within " +
                       to_text(passage.limits.timeout) +
                       "; it may still be running, and its answer will be dropped";
      result.usage.final = false;
    }
    result.usage.wall_us = (monotonic_ns() - begin) / 1000;
  }
  return {};
}

Result<RegisteredFunction> make_function_tool(const Rules& rules, Function function,
                                              const QuickFunctions& quick) {
  const std::string rule = "tools." + function.name;
  if (!function.body) return fail(Reason::argument, rule + ": the function has no body");
  RegisteredFunction registered;
  registered.pace =
      std::make_shared<Pace>(Pace::Bounds{.usual_ns = std::chrono::nanoseconds(quick.usual).count(),
                                          .most_ns = std::chrono::nanoseconds(quick.most).count(),
                                          .proof = kProof});
  registered.body = std::move(function.body);
  auto args = compile_arguments(function.args, rule + ".args");
  if (!args) return fail(Reason::argument, to_text(args.error().front()));

  if (const auto entry = rules.tools.find(function.name); entry != rules.tools.end()) {
    if (entry->second.kind != ToolKind::function)
      return fail(Reason::argument,
                  rule + ": the policy has a tool of this name that is not a function",
                  "write it with `tier: inline` or `tier: thread` and without use, run, http, mcp");
    registered.tool = entry->second;
  } else {
    registered.tool = rules.defaults;
    registered.tool.name = function.name;
    registered.tool.kind = ToolKind::function;
    registered.tool.tier = Tier::inline_call;
  }
  Tool& tool = registered.tool;
  if (tool.description.empty()) tool.description = std::move(function.description);
  if (function.tier == FunctionTier::thread) tool.tier = Tier::thread;
  for (std::string& permission : function.needs)
    if (std::ranges::find(tool.needs, permission) == tool.needs.end())
      tool.needs.push_back(std::move(permission));
  if (tool.args.empty())
    tool.args = std::move(*args);
  else
    registered.args = std::move(*args);
  return registered;
}

}  // namespace sallyport
