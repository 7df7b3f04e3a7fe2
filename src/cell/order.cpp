#include "cell/order.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "base/process_number.h"

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

  [[nodiscard]] const char* next() const { return next_; }

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

// A larger one is given back.
constexpr std::size_t kMostKept = std::size_t{64} << 10;

std::atomic<std::size_t> spaces = 0;  // of this process

// The one that waits for its next cell. One is kept only when there is no other, and make() takes
// it first: so no init begins with one that will be another cell's.
struct Kept {
  std::mutex mutex;
  // A child has the memory of its parent, but must not use it for cells of its own.
  std::pair<std::uint64_t, pid_t> owner;
  std::optional<OrderSpace> space;
};

Kept& kept_space() {
  static Kept kept;
  return kept;
}

std::pair<std::uint64_t, pid_t> this_process() {
  return {process_number(), ::getpid()};
}

}  // namespace

Sys<OrderSpace> OrderSpace::make() {
  Kept& kept = kept_space();
  const std::scoped_lock lock(kept.mutex);
  if (kept.space && kept.owner == this_process()) {
    OrderSpace space(std::move(*kept.space));
    kept.space.reset();
    return space;
  }
  void* const space = ::mmap(nullptr, kSpace, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) return sys_fail("mmap", "order");
  ++spaces;
  return OrderSpace(new (space) Space{});
}

void OrderSpace::keep(OrderSpace space) {
  Kept& kept = kept_space();
  const std::scoped_lock lock(kept.mutex);
  if (space.space_ == nullptr || space.used_ > kMostKept || spaces != 1) return;
  // Nothing of one call is there when the next cell is made.
  std::memset(static_cast<void*>(space.space_), 0, space.used_);
  new (space.space_) Space{};
  space.used_ = sizeof(Space);
  kept.owner = this_process();
  kept.space.emplace(std::move(space));
}

OrderSpace::OrderSpace(OrderSpace&& other) noexcept
    : space_(std::exchange(other.space_, nullptr)), used_(other.used_) {}

OrderSpace& OrderSpace::operator=(OrderSpace&& other) noexcept {
  std::swap(space_, other.space_);
  std::swap(used_, other.used_);
  return *this;
}

OrderSpace::~OrderSpace() {
  if (space_ == nullptr) return;
  ::munmap(space_, kSpace);
  --spaces;
}

bool OrderSpace::put(const CommandLine& command) {
  char* const begin = reinterpret_cast<char*>(space_);
  Writer writer(begin + sizeof(Space), begin + kSpace);
  Order& order = space_->order;
  order = {.executables = writer.list(command.executables),
           .argv = writer.list(command.argv),
           .envp = writer.list(command.environment)};
  used_ = std::max(used_, static_cast<std::size_t>(writer.next() - begin));
  return order.executables != nullptr && order.argv != nullptr && order.envp != nullptr;
}

}  // namespace sallyport
