// Watches one running cell: passes its streams on, refuses and counts what the filter reports,
// holds its limits, and ends it. The first cause of an end wins.
#pragma once

#include <chrono>
#include <map>
#include <optional>

#include "cell/board.h"
#include "cell/observe.h"
#include "cell/prepare.h"
#include "cell/process_watch.h"
#include "cell/run.h"
#include "cell/stream_relay.h"
#include "egress/door.h"
#include "kernel/seccomp_install.h"

namespace sallyport {

struct LaunchedCell {
  pid_t pid = -1;
  Fd pidfd;
};

class Supervisor {
 public:
  Supervisor(const CellSpec& spec, const CellStreams& streams, Prepared& cell, Board& board,
             LaunchedCell& launched);

  // Until the cell is ready for its order and, if there is one, `claim` is readable. False: it is
  // gone before.
  bool park(int claim);
  // It has no memory of its own yet, and is to be woken before its order; what park() waits for
  // then is that it is ready. False: it is gone.
  [[nodiscard]] bool dozes() const { return dozes_; }
  bool wake();
  // It gets its order now: the call's spec and streams are in the places that the constructor was
  // given.
  void begin();

  // Until nothing of the cell runs any more, or until the answer is due and something is stuck in
  // the kernel.
  void watch();

  // The runner of a cell that is parked, and why it cannot wait, if it has said so.
  [[nodiscard]] pid_t runner() const { return runner_; }
  [[nodiscard]] std::uint64_t parked_memory() const { return before_.peak_memory_bytes; }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

  // Why the cell was ended from outside; none if it ended by itself.
  [[nodiscard]] Reason verdict() const { return verdict_; }
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] int scratch() const { return scratch_.get(); }
  // Why the launch could not go on; nothing: it is not known here.
  [[nodiscard]] const std::optional<Error>& refusal() const { return refusal_; }
  // Puts what was seen into the outcome: streams, usage, limits that were touched.
  void report(Outcome& outcome);
  // Of the secrets that the cell acts with.
  [[nodiscard]] const Fingerprints& fingerprints() const;

 private:
  using Clock = std::chrono::steady_clock;
  using microseconds = std::chrono::microseconds;

  void poll_once();
  [[nodiscard]] Clock::time_point next_look() const;
  void look_at_limits();
  void look_at_oom();
  void look_at_cgroup();
  void look_at_processes();
  Fd pumped(Sys<Fd> (*pump)(Fd), Fd& tool_end);
  void begin_run(Clock::time_point run);
  [[nodiscard]] int wants_output(const StreamRelay& relay, const Fd& tool_end) const;
  [[nodiscard]] bool can_wait_for_end(const Fd& tool_end, short happened);
  void take_output(StreamRelay& relay, Fd& tool_end);
  void finish_output(StreamRelay& relay, Fd& tool_end);
  [[nodiscard]] bool has_pipes_alone() const;
  [[nodiscard]] Clock::duration until_cpu_limit(microseconds used) const;
  void handle_control();
  void serve_network(const std::vector<Fd>& sockets);
  void handle_call();
  void handle_input();
  [[nodiscard]] bool is_output_over() const;
  void check_output();
  [[nodiscard]] std::uint64_t scratch_used() const;
  [[nodiscard]] bool scratch_full() const;
  void note_scratch();
  void end_cell(Reason reason);
  void note_parked();
  void hear_runner();
  void open_input();
  void reap();

  const CellSpec& spec_;
  const CellStreams& streams_;
  Prepared& cell_;
  Board& board_;
  LaunchedCell& launched_;

  bool pump_failed_ = false;
  StreamRelay output_, error_;
  std::string input_;  // read from the caller, not yet taken by the tool
  bool input_open_;
  std::optional<RefusalListener> listener_;
  std::optional<ProcessWatch> processes_;
  int claim_ = -1;  // while it is parked: what it waits for
  bool parked_ = false, claimed_ = false, dozes_ = false;
  pid_t runner_ = -1;
  std::string complaint_;
  CgroupUsage before_;  // what was used until it was claimed
  std::optional<CallObserver> observer_;
  Fd name_server_;
  std::optional<EgressChannel> network_;
  std::optional<Error> refusal_;
  Fd scratch_;

  Reason verdict_ = Reason::none;
  bool ended_ = false;
  bool heard_end_ = false;  // from init, which has no more to say
  bool started_ = false;
  bool disk_full_ = false;
  std::uint64_t peak_watched_memory_ = 0, peak_watched_processes_ = 0;
  std::uint64_t watched_user_us_ = 0, watched_system_us_ = 0;
  std::uint64_t refusals_ = 0;
  std::map<std::string, std::uint64_t> refused_;
  Clock::time_point output_due_;  // before that, nobody looks for output
  bool looks_for_output_ = true, saw_hang_up_ = false;
  Clock::time_point deadline_, next_limit_look_, give_up_ = Clock::time_point::max();
  Clock::time_point end_;
  Clock::time_point run_;
  std::uint64_t rusage_user_us_ = 0, rusage_system_us_ = 0, rusage_peak_bytes_ = 0;
};

}  // namespace sallyport
