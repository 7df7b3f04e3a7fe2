// What a cell's init is to start. In a cell that is made ahead of need it comes last, through
// memory that init shares with its supervisor: both have it at the same address, so that pointers
// mean the same to both and init has nothing to read, check or copy.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "cell/board.h"

namespace sallyport {

// Lists of C strings, each ending with a null pointer, as execve takes them.
struct Order {
  const char* const* executables = nullptr;  // candidates in order
  const char* const* argv = nullptr;
  const char* const* envp = nullptr;
};

// The same as values.
struct CommandLine {
  std::vector<std::string> executables, argv, environment;
};

// Memory for one cell's board and order, to be made before init is.
class OrderSpace {
 public:
  static Sys<OrderSpace> make();
  // For the next make() of this process: such memory takes longer to get from the kernel and to
  // give back than to clear. Only when nothing that has it lives any more.
  static void keep(OrderSpace space);
  OrderSpace(OrderSpace&& other) noexcept;
  OrderSpace& operator=(OrderSpace&& other) noexcept;
  OrderSpace(const OrderSpace&) = delete;
  OrderSpace& operator=(const OrderSpace&) = delete;
  ~OrderSpace();

  [[nodiscard]] Board& board() const { return space_->board; }
  [[nodiscard]] const Order& order() const { return space_->order; }
  // False: it does not fit, and nothing is to be started.
  [[nodiscard]] bool put(const CommandLine& command);

 private:
  struct Space {
    Board board;
    Order order;
    // and behind them what the order points to
  };
  explicit OrderSpace(Space* space) : space_(space) {}
  Space* space_;
  std::size_t used_ = sizeof(Space);  // the most that was written
};

}  // namespace sallyport
