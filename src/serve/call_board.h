// The calls that a service knows: in flight, and finished a while ago. Who asks about one must be
// of its tenant; to everybody else it is as if it were not there.
#pragma once

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/short_mutex.h"
#include "http/server.h"
#include "sallyport/boundary.h"
#include "serve/kept_call.h"

namespace sallyport {

// What is kept of a call that has ended: the text of its result, whose size is known.
struct EndedCall {
  std::string json;
  std::map<std::string, std::string> collected;  // artifacts
};

// One call: its streams as they come, and its result.
class ServedCall {
 public:
  ServedCall(std::string id, std::string tenant, std::string caller, std::string tool);
  // One that has ended, as it was.
  ServedCall(const KeptCall& kept, std::string tenant);

  const std::string id, tenant, caller, tool;

  // Makes the call end; one that waits for a worker ends before it begins.
  void cancel();
  [[nodiscard]] bool is_cancelled() const { return cancelled_; }
  // Readable once it is cancelled; it lives until the call is finished. -1: there are no more.
  [[nodiscard]] int cancel_descriptor();

  // A piece of what the tool wrote. Bytes that are not whole characters yet wait for the next one.
  void add_output(std::string_view stream, std::string_view bytes);
  // Nothing more will come. What is kept of it.
  std::shared_ptr<const EndedCall> end(const CallResult& result);

  // None: it has not ended.
  [[nodiscard]] std::shared_ptr<const EndedCall> result() const;
  [[nodiscard]] std::uint64_t memory() const;
  // What it leaves; none: it has not ended, or there is more than a short text of its result.
  [[nodiscard]] KeptCall only_result() const;

  // Sends the events behind number `after` (0: all), then further ones as they come, then the
  // result, as server-sent events, and closes. False: it has too many readers.
  [[nodiscard]] bool follow(std::shared_ptr<HttpStream> reader, std::uint64_t after);

 private:
  void add_event(std::string_view name, std::string_view data);  // with the lock held
  void flush_partial();

  Fd cancel_;                            // made when somebody asks for it
  std::atomic<bool> cancelled_ = false;  // written with the lock held
  mutable std::mutex mutex_;
  std::vector<std::string> events_;             // number i+1 at i, as they are sent
  std::map<std::string, std::string> partial_;  // by stream: the beginning of a character
  std::uint64_t bytes_ = 0;
  std::vector<std::shared_ptr<HttpStream>> readers_;
  std::shared_ptr<const EndedCall> result_;
};

struct CallBoardLimits {
  std::chrono::seconds kept{600};  // how long a call that has ended is known
  std::size_t calls = 10'000;      // of one tenant that have ended
  std::uint64_t bytes = std::uint64_t{64}
                        << 20;  // of one tenant that have ended: output, artifacts
};

class CallBoard {
 public:
  explicit CallBoard(CallBoardLimits limits = {}) : limits_(limits) {}

  std::shared_ptr<ServedCall> begin(std::string id, std::string tenant, std::string caller,
                                    std::string tool);
  // The call has its result: it is kept for a while, and the tenant's oldest ones make room.
  void ended(const std::shared_ptr<ServedCall>& call, std::chrono::steady_clock::time_point now);
  // None: there is none of that id, or it is another tenant's.
  [[nodiscard]] std::shared_ptr<ServedCall> find(const std::string& id,
                                                 const std::string& tenant) const;
  // Forgets calls that ended too long ago.
  void expire(std::chrono::steady_clock::time_point now);
  void cancel_all();
  [[nodiscard]] std::size_t in_flight() const;
  // Those in flight, for a live view.
  [[nodiscard]] std::vector<std::shared_ptr<ServedCall>> running() const;

 private:
  struct Ended {
    std::shared_ptr<ServedCall> call;  // null: all that it left is kept
    KeptCall kept;
    const std::string* tenant;
    std::chrono::steady_clock::time_point when;
    std::uint64_t bytes;

    [[nodiscard]] std::string_view id() const { return call != nullptr ? call->id : kept.id(); }
  };
  struct TenantCalls {
    std::deque<Ended> ended;  // oldest first
    std::uint64_t bytes = 0;
  };
  // By the id, which is the value's own text.
  template <class Value>
  using ById = boost::unordered_flat_map<std::string_view, Value, std::hash<std::string_view>>;

  // Takes it out; it is cold, and goes when the lock is given back.
  [[nodiscard]] Ended forget_oldest(TenantCalls& calls);

  CallBoardLimits limits_;
  mutable ShortMutex mutex_;
  ById<std::shared_ptr<ServedCall>> running_;
  ById<const Ended*> known_;                  // of those that have ended
  std::map<std::string, TenantCalls> ended_;  // by tenant
  std::size_t in_flight_ = 0;
};

}  // namespace sallyport
