#include "warm_contest.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

namespace sallyport::warm {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kPause = 3ms;      // before each turn
constexpr unsigned kWarmUp = 20;  // of a service: it makes ready what is asked for
constexpr auto kLeadIn = 500ms;   // of a slice
constexpr auto kSlice = 1200ms;
constexpr auto kSettle = 400ms;  // before a slice, and after the warm-up

// Who is next, for one round: each contestant's turns at equal distances.
std::vector<std::size_t> order_of(const std::vector<Contestant>& contestants) {
  std::vector<std::pair<double, std::size_t>> places;
  for (std::size_t i = 0; i < contestants.size(); ++i)
    for (unsigned turn = 0; turn < contestants[i].turns; ++turn)
      places.emplace_back((turn + 0.5) / contestants[i].turns, i);
  std::ranges::sort(places);
  std::vector<std::size_t> order;
  for (const auto& place : places)
    order.push_back(place.second);
  return order;
}

struct Slice {
  double calls = 0, seconds = 0;
  std::vector<double> took;
};

void take_slice(const Contestant& contestant, Slice& slice) {
  std::vector<Once> clients;
  for (unsigned i = 0; i < contestant.turns; ++i)
    clients.push_back(contestant.open());
  std::mutex mutex;
  const auto begin = Clock::now() + kLeadIn, end = begin + kSlice;
  std::vector<std::thread> threads;
  for (const Once& once : clients)
    threads.emplace_back([&] {
      double calls = 0;
      std::vector<double> took;
      for (Clock::time_point from = Clock::now(), to; from < end; from = to) {
        const double microseconds = once();
        to = Clock::now();
        const std::chrono::duration<double> inside = std::min(to, end) - std::max(from, begin);
        if (inside.count() <= 0) continue;
        calls += inside.count() / std::chrono::duration<double>(to - from).count();
        took.push_back(microseconds);
      }
      const std::lock_guard lock(mutex);
      slice.calls += calls;
      slice.took.insert(slice.took.end(), took.begin(), took.end());
    });
  for (std::thread& thread : threads)
    thread.join();
  slice.seconds += std::chrono::duration<double>(kSlice).count();
}

}  // namespace

Contestant served(const std::string& name, const Service& service,
                  std::function<double(Client&)> once, unsigned turns) {
  return {name,
          [service, once = std::move(once)]() -> Once {
            auto client = std::make_shared<Client>(service);
            return [client, once] { return once(*client); };
          },
          turns, kWarmUp};
}

Contestant ours(const Service& service, Kind kind, unsigned turns) {
  return served(
      "sallyport", service,
      [kind](Client& client) { return client.call(name_of(kind), next_question(kind)); }, turns);
}

Contestant theirs(const Peer& peer, unsigned turns) {
  return {peer.name, [peer]() -> Once { return [peer] { return run(peer); }; }, turns};
}

json::object take_turns(const std::vector<Contestant>& contestants, unsigned rounds) {
  std::vector<Once> clients;
  for (const Contestant& contestant : contestants) {
    clients.push_back(contestant.open());
    for (unsigned i = 0; i < contestant.warm_up; ++i)
      clients.back()();
  }
  std::this_thread::sleep_for(kSettle);
  const std::vector<std::size_t> order = order_of(contestants);
  std::vector<std::vector<double>> took(contestants.size());
  for (unsigned round = 0; round < rounds; ++round)
    for (const std::size_t who : order) {
      std::this_thread::sleep_for(kPause);
      took[who].push_back(clients[who]());
    }
  json::object all;
  for (std::size_t i = 0; i < contestants.size(); ++i)
    all[contestants[i].name] = to_json(summarise(std::move(took[i])));
  return all;
}

json::object take_slices(const std::vector<Contestant>& contestants, unsigned slices) {
  std::vector<Slice> totals(contestants.size());
  for (unsigned slice = 0; slice < slices; ++slice)
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      std::this_thread::sleep_for(kSettle);
      take_slice(contestants[i], totals[i]);
    }
  json::object all;
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    json::object one = to_json(summarise(std::move(totals[i].took)));
    one["per_second"] = totals[i].calls / totals[i].seconds;
    one["in_flight"] = contestants[i].turns;
    all[contestants[i].name] = std::move(one);
  }
  return all;
}

}  // namespace sallyport::warm
