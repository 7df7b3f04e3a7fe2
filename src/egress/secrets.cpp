#include "egress/secrets.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>

namespace sallyport {
namespace {

namespace asio = boost::asio;

// Less than whoever makes cells waits for its answer.
constexpr std::chrono::milliseconds kPatience{4000}, kPause{5};

void wipe(std::string& value) {
  ::explicit_bzero(value.data(), value.size());
  value.clear();
}

}  // namespace

Secrets::~Secrets() {
  for (auto& [name, news] : known_)
    wipe(news.value);
}

void Secrets::take(SecretNews news) {
  SecretNews& known = known_[news.name];
  wipe(known.value);
  known = std::move(news);
  if (!known.value.empty()) return;
  for (const Watch* watch : watches_)
    if (watch->names_.contains(", " + known.name + ", ")) watch->link_.reset();
}

Secrets::Watch::Watch(Secrets& secrets, std::string_view names, Link& link)
    : secrets_(secrets), names_(", " + std::string(names) + ", "), link_(link) {
  secrets_.watches_.insert(this);
}

Secrets::Watch::~Watch() {
  secrets_.watches_.erase(this);
}

const std::string& Secrets::value_of(const std::string& name) const {
  static const std::string nothing;
  const auto found = known_.find(name);
  return found == known_.end() ? nothing : found->second.value;
}

std::string Secrets::why_not(const std::string& name) const {
  const auto found = known_.find(name);
  if (found == known_.end()) return "nothing is known about it yet";
  return found->second.why.empty() ? "it is empty" : found->second.why;
}

bool Secrets::knows(std::span<const std::string> names) const {
  return std::ranges::all_of(names, [&](const std::string& name) { return known_.contains(name); });
}

Task<void> Secrets::wait_for(std::span<const std::string> names) {
  asio::steady_timer pause(co_await asio::this_coro::executor);
  for (auto waited = kPause; !knows(names) && waited < kPatience; waited += kPause) {
    pause.expires_after(kPause);
    co_await pause.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

}  // namespace sallyport
