// What a cell's init is to start. In a cell that is made ahead of need it comes last, through
// memory that init shares with its supervisor: both have it at the same address, so that pointers
// mean the same to both and init has nothing to read, check or copy.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

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

// Memory for one order, to be made before init is.
class OrderSpace {
 public:
  static Sys<OrderSpace> make();
  OrderSpace(OrderSpace&& other) noexcept;
  OrderSpace& operator=(OrderSpace&& other) noexcept;
  OrderSpace(const OrderSpace&) = delete;
  OrderSpace& operator=(const OrderSpace&) = delete;
  ~OrderSpace();

  [[nodiscard]] const Order& order() const { return *order_; }
  // False: it does not fit, and nothing is to be started.
  [[nodiscard]] bool put(const CommandLine& command);

 private:
  explicit OrderSpace(Order* order) : order_(order) {}
  Order* order_;  // at the beginning of the space
};

}  // namespace sallyport
