#include "cell/order.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

namespace sallyport {
namespace {

// A million bytes of arguments and as much of environment, with their pointers. Only what is
// written to takes up memory.
constexpr std::size_t kSpace = std::size_t{4} << 20;

// Hands out the space from its beginning to its end.
class Writer {
 public:
  Writer(char* next, char* end) : next_(next), end_(end) {}

  const char* text(const std::string& words) {
    char* const place = take(words.size() + 1, 1);
    if (place != nullptr) std::memcpy(place, words.c_str(), words.size() + 1);
    return place;
  }

  // A list that ends with a null pointer; null itself if it does not fit.
  const char* const* list(const std::vector<std::string>& words) {
    auto* const place = reinterpret_cast<const char**>(
        take((words.size() + 1) * sizeof(const char*), alignof(const char*)));
    if (place == nullptr) return nullptr;
    for (std::size_t i = 0; i < words.size(); ++i) {
      place[i] = text(words[i]);
      if (place[i] == nullptr) return nullptr;
    }
    place[words.size()] = nullptr;
    return place;
  }

 private:
  char* take(std::size_t size, std::size_t alignment) {
    const auto address = reinterpret_cast<std::uintptr_t>(next_);
    const std::size_t gap = (alignment - address % alignment) % alignment;
    if (static_cast<std::size_t>(end_ - next_) < size + gap) return nullptr;
    char* const place = next_ + gap;
    next_ = place + size;
    return place;
  }

  char *next_, *end_;
};

}  // namespace

Sys<OrderSpace> OrderSpace::make() {
  void* const space = ::mmap(nullptr, kSpace, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return sys_fail("mmap", "order");
  return OrderSpace(new (space) Order{});
}

OrderSpace::OrderSpace(OrderSpace&& other) noexcept
    : order_(std::exchange(other.order_, nullptr)) {}

OrderSpace& OrderSpace::operator=(OrderSpace&& other) noexcept {
  std::swap(order_, other.order_);
  return *this;
}

OrderSpace::~OrderSpace() {
  if (order_ != nullptr) ::munmap(order_, kSpace);
}

bool OrderSpace::put(const CommandLine& command) {
  char* const begin = reinterpret_cast<char*>(order_);
  Writer writer(begin + sizeof(Order), begin + kSpace);
  *order_ = {.executables = writer.list(command.executables),
             .argv = writer.list(command.argv),
             .envp = writer.list(command.environment)};
  return order_->executables != nullptr && order_->argv != nullptr && order_->envp != nullptr;
}

}  // namespace sallyport
