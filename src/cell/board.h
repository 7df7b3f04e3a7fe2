// What the cell's init tells the supervisor: one shared page, written by init, read by the
// supervisor. The tool never has it: its address space is replaced by execve.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>

#include "base/error.h"

namespace sallyport {

struct Board {
  static constexpr int kMaxSteps = 48;

  std::atomic<int> step;          // index of the launch step under way
  std::atomic<bool> step_failed;  // then call, path and err say how
  char call[32];
  char path[256];
  int err;
  std::int64_t step_end_ns[kMaxSteps];  // CLOCK_MONOTONIC at the end of each step

  std::int64_t run_ns;          // when the tool was started
  std::atomic<int> exec_errno;  // execve failed with this; the tool never ran
  std::atomic<bool> tool_ended;
  int tool_status;  // as from waitpid

  void report(const SysError& error) {
    std::strncpy(call, error.call, sizeof(call) - 1);
    std::strncpy(path, error.path, sizeof(path) - 1);
    err = error.err;
    step_failed = true;
  }
};

// Owns the shared page.
class SharedBoard {
 public:
  static Sys<SharedBoard> make() {
    void* page =
        ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return sys_fail("mmap", "launch board");
    return SharedBoard(new (page) Board{});
  }
  SharedBoard(SharedBoard&& other) noexcept : board_(std::exchange(other.board_, nullptr)) {}
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  SharedBoard& operator=(SharedBoard&&) = delete;
  ~SharedBoard() {
    if (board_ != nullptr) ::munmap(board_, sizeof(Board));
  }
  Board* operator->() const { return board_; }
  [[nodiscard]] Board* get() const { return board_; }

 private:
  explicit SharedBoard(Board* board) : board_(board) {}
  Board* board_;
};

}  // namespace sallyport
