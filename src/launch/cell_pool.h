// Which cells are made ahead of need, and which claim gets which of them. Book-keeping only: it
// starts no process and waits for nothing, so that it can be tested by its answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "launch/packet.h"
#include "policy/rules.h"

namespace sallyport {

// What `sallyport_pool_…` metrics show.
struct PoolStatus {
  std::uint64_t hits = 0;       // claims that found a cell
  std::uint64_t misses = 0;     // claims that had to wait for one to be made
  std::uint64_t expired = 0;    // claims that waited in vain
  std::uint64_t built = 0;      // cells made
  std::uint64_t build_us = 0;   // time that took, all together
  std::uint64_t failed = 0;     // cells that could not be made, or died before their claim
  std::uint64_t retired = 0;    // cells that went unused
  std::uint64_t templates = 0;  // images of interpreters that are there
  std::uint64_t parked = 0;     // cells that wait now
  std::uint64_t building = 0;   // cells that are being made now
  std::uint64_t waiting = 0;    // claims that wait now
  std::uint64_t classes = 0;
  std::uint64_t memory = 0;  // of the cells that wait now, in bytes
};

class CellPool {
 public:
  using Clock = std::chrono::steady_clock;
  using Handle = int;  // of the supervisor of one cell; the caller's number

  struct WaitingClaim {
    Fd connection;
    Packet claim;
    Clock::time_point until;
  };
  struct HandOver {
    Handle to;
    WaitingClaim claim;
  };
  struct Build {
    PacketId id;
    int class_bytes;     // a memory file that stays the pool's
    bool spare = false;  // enough wait already: it has time
    bool dozes = false;  // so many wait before it that it need not be ready to the last page
  };

  // So many cells are made at a time while claims wait, so that one that waits for the kernel does
  // not hold up others; and ahead of need.
  struct Builders {
    unsigned wanted, ahead;
  };
  CellPool(PoolRules settings, Builders builders) : settings_(settings), builders_(builders) {}

  // A claim of a class that may be parked. Its class is kept if it is new; if there are too many
  // that somebody waits for, the claim comes back.
  [[nodiscard]] std::optional<WaitingClaim> add(WaitingClaim claim, Clock::time_point now);

  // A class that has had no claim yet, and of which `min` are to wait; not if there are too many.
  void expect(const PacketId& id, Fd bytes, Clock::time_point now);

  // The next claim that has a cell, oldest first.
  [[nodiscard]] std::optional<HandOver> next_hand_over(Clock::time_point now);
  // The next cell to make, if one is to be made now: for the oldest claim first, then ahead of
  // need. `busy`: calls run, which one that has time would only be in the way of.
  [[nodiscard]] std::optional<Build> next_build(Clock::time_point now, bool busy);

  // What became of it.
  void building(const PacketId& id, Handle handle, Clock::time_point now);
  void not_building(const PacketId& id, Clock::time_point now);  // it could not even be begun
  void ready(Handle handle, std::uint64_t memory_bytes, bool dozes, Clock::time_point now);
  void gone(Handle handle, Clock::time_point now);

  // The next cell to wake, if one dozes among those that the next claims get; it is ready() again
  // afterwards. `busy` as above.
  [[nodiscard]] std::optional<Handle> next_wake(bool busy);

  // Those that are not wanted any more; they are forgotten here.
  [[nodiscard]] std::vector<Handle> surplus(Clock::time_point now);
  // All that are parked: a better way to make them is there.
  [[nodiscard]] std::vector<Handle> retire(const PacketId& id);
  // The same for one that is parked.
  void retire(Handle handle);
  // While a better way is being found, cells of the class are made for claims only.
  void hold(const PacketId& id, bool held);
  // Claims that waited for too long.
  [[nodiscard]] std::vector<WaitingClaim> expired(Clock::time_point now);

  // When the answers above may change by themselves, as long as that is so.
  [[nodiscard]] std::optional<Clock::time_point> next_change(bool busy) const;
  [[nodiscard]] PoolStatus status() const;
  // Of a class that is known; -1 otherwise.
  [[nodiscard]] int class_bytes(const PacketId& id) const;
  // In a child of the launcher: claims of others are not its own.
  void forget_claims();
  void note_template() { ++status_.templates; }

 private:
  struct Cell {
    Handle handle;
    Clock::time_point since;
    std::uint64_t memory = 0;
    enum { awake, dozing, waking } state = awake;
  };
  struct Class {
    Fd bytes;
    std::deque<Cell> parked;  // the oldest first
    std::vector<Cell> building;
    std::deque<WaitingClaim> waiting;  // the oldest first
    unsigned want = 0;                 // so many should be parked
    bool held = false;
    Clock::time_point used, not_before;
  };

  // Whether so many wait that the next one is not urgent.
  static bool has_time(const Class& kind) { return 2 * kind.parked.size() > kind.want; }
  [[nodiscard]] bool has_room() const { return memory_ < settings_.memory.bytes; }
  [[nodiscard]] std::size_t count_building() const;
  [[nodiscard]] std::size_t count_waking() const;
  bool forget_oldest_class();
  void release(Cell cell) { memory_ -= cell.memory; }

  PoolRules settings_;
  Builders builders_;
  std::map<PacketId, Class> classes_;
  std::vector<Handle> dropped_;  // of classes that were forgotten
  std::uint64_t memory_ = 0;
  PoolStatus status_;
};

}  // namespace sallyport
