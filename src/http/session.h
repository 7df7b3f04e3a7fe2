// One connection: its requests in their order, each answered before the next is looked at. So a
// client may send several at once (pipelining), and what it sends ahead waits in the kernel.
//
// All sessions of a loop live on its thread; only answers come from others.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "http/service.h"

namespace boost::asio {
class io_context;
}

namespace sallyport {

using SteadyTime = std::chrono::steady_clock::time_point;

class Session {
 public:
  virtual ~Session() = default;
  // Ends the phase it is in if its time is up: with 408 when a request was on its way.
  virtual void look_at_clock(SteadyTime now) = 0;
  // Ends it at once.
  virtual void abort() = 0;
  // No byte of a request has come since the last answer, and none waits in the kernel.
  [[nodiscard]] virtual bool is_quiet() const = 0;
};

// The sessions of one loop, and what they need to know about it.
class SessionTable {
  enum class List { unfinished, in_call, leaving };
  struct Entry {
    Session* session;
    List list;
  };

 public:
  using Place = std::list<Entry>::iterator;

  [[nodiscard]] Place add(Session& session) {
    auto& unfinished = list(List::unfinished);
    return unfinished.insert(unfinished.end(), Entry{&session, List::unfinished});
  }
  void remove(Place place) { list(place->list).erase(place); }
  // The request is whole: from now on the client is not what is waited for.
  void begin_call(Place place) { move(place, List::in_call); }
  // Something has come, or was answered: the last in the queue of those that may be closed.
  void wait(Place place) { move(place, List::unfinished); }

  // Takes the one that has kept us waiting the longest out of that queue; null: none. A head or
  // body that never ends does not protect a connection from being closed for another.
  [[nodiscard]] Session* take_oldest() {
    const auto& unfinished = list(List::unfinished);
    if (unfinished.empty()) return nullptr;
    const Place oldest = list(List::unfinished).begin();
    move(oldest, List::leaving);
    return oldest->session;
  }

  template <class Visit>
  void each(Visit visit) const {
    for (const auto& sessions : lists_)
      for (const Entry& entry : sessions)
        visit(*entry.session);
  }

  bool draining = false;
  std::string date;  // of the answers

 private:
  std::list<Entry>& list(List which) { return lists_[static_cast<std::size_t>(which)]; }
  void move(Place place, List to) {
    if (place->list == List::leaving) return;
    list(to).splice(list(to).end(), list(place->list), place);
    place->list = to;
  }

  std::array<std::list<Entry>, 3> lists_;
};

struct Accepted {
  Fd socket;
  std::optional<IpAddress> peer;  // nothing: a unix socket
  bool tls = false;
  bool by_operator = false;
};

// Begins to serve a connection. `table` must last as long as `io` runs; `ended` is called on its
// thread when the session has left the table.
void start_session(const std::shared_ptr<boost::asio::io_context>& io,
                   std::shared_ptr<HttpService> service, SessionTable& table, Accepted accepted,
                   std::function<void()> ended);

}  // namespace sallyport
