#include "serve/call_board.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/container/small_vector.hpp>

#include "base/json.h"
#include "base/recycled.h"
#include "base/text.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostReaders = 16;    // of one call, at the same time
constexpr std::size_t kSmallResult = 4096;  // a larger one stays where it is

// How many bytes at the end of a text are the beginning of a character that is not all there.
std::size_t cut_off_bytes(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const std::string_view end = text.substr(text.size() - back);
    if ((static_cast<unsigned char>(end[0]) & 0xC0U) == 0x80U) continue;
    return first_utf8_char(end).cut_off ? back : 0;
  }
  return 0;
}

std::string event_text(std::uint64_t number, std::string_view name, std::string_view data) {
  return "id: " + std::to_string(number) + "\nevent: " + std::string(name) +
         "\ndata: " + std::string(data) + "\n\n";
}

// An entry of the same id goes as a whole: the key is its value's own text.
void put(auto& table, std::string_view id, const auto& value) {
  if (const auto [place, added] = table.try_emplace(id, value); !added) {
    table.erase(place);
    table.emplace(id, value);
  }
}

}  // namespace

ServedCall::ServedCall(std::string id, std::string tenant, std::string caller, std::string tool)
    : id(std::move(id)),
      tenant(std::move(tenant)),
      caller(std::move(caller)),
      tool(std::move(tool)) {}

ServedCall::ServedCall(const KeptCall& kept, std::string tenant)
    : ServedCall(std::string(kept.id()), std::move(tenant), std::string(kept.caller()),
                 std::string(kept.tool())) {
  result_ = std::make_shared<const EndedCall>(
      EndedCall{.json = std::string(kept.json()), .collected = {}});
}

void ServedCall::cancel() {
  const std::lock_guard lock(mutex_);
  if (result_ != nullptr) return;
  cancelled_ = true;
  const std::uint64_t one = 1;
  if (cancel_) (void)!::write(cancel_.get(), &one, sizeof(one));
}

int ServedCall::cancel_descriptor() {
  const std::lock_guard lock(mutex_);
  if (!cancel_ && result_ == nullptr)
    cancel_ = Fd(::eventfd(cancelled_ ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK));
  return cancel_.get();
}

void ServedCall::add_event(std::string_view name, std::string_view data) {
  events_.push_back(event_text(events_.size() + 1, name, data));
  bytes_ += events_.back().size();
  // A reader that is gone, or too slow, can come back and ask for the rest.
  std::erase_if(readers_, [&](const auto& reader) { return !reader->write(events_.back()); });
}

void ServedCall::add_output(std::string_view stream, std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  std::string& text = partial_[std::string(stream)].append(bytes);
  const std::size_t rest = cut_off_bytes(text);
  const std::string tail = text.substr(text.size() - rest);
  text.resize(text.size() - rest);
  if (!text.empty()) add_event(stream, json::serialize(json::object{{"text", to_utf8(text)}}));
  text = tail;
}

void ServedCall::flush_partial() {
  for (const auto& [stream, text] : partial_)
    if (!text.empty()) add_event(stream, json::serialize(json::object{{"text", to_utf8(text)}}));
  partial_.clear();
}

std::shared_ptr<const EndedCall> ServedCall::end(const CallResult& result) {
  const std::lock_guard lock(mutex_);
  if (result_ != nullptr) return result_;
  flush_partial();
  result_ = std::make_shared<const EndedCall>(
      EndedCall{.json = to_json_text(result), .collected = result.collected});
  if (!readers_.empty() || !events_.empty()) {
    add_event("result", result_->json);
    for (const auto& reader : readers_)
      reader->close();
    readers_.clear();
  }
  cancel_.reset();  // calls that have ended are kept, and descriptors are few
  return result_;
}

std::shared_ptr<const EndedCall> ServedCall::result() const {
  const std::lock_guard lock(mutex_);
  return result_;
}

std::uint64_t ServedCall::memory() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t bytes = 1024 + bytes_;
  if (result_ == nullptr) return bytes;
  bytes += result_->json.size();
  for (const auto& [name, content] : result_->collected)
    bytes += name.size() + content.size();
  return bytes;
}

KeptCall ServedCall::only_result() const {
  const std::lock_guard lock(mutex_);
  if (result_ == nullptr || result_->json.size() > kSmallResult || !events_.empty() ||
      !result_->collected.empty())
    return {};
  return {id, caller, tool, result_->json};
}

bool ServedCall::follow(std::shared_ptr<HttpStream> reader, std::uint64_t after) {
  const std::lock_guard lock(mutex_);
  if (result_ == nullptr && readers_.size() >= kMostReaders) return false;
  // A call that nobody followed has no event for its result yet.
  if (result_ != nullptr && events_.empty()) add_event("result", result_->json);
  // Whoever asks for what comes behind the end still gets the result.
  if (result_ != nullptr) after = std::min<std::uint64_t>(after, events_.size() - 1);
  for (std::uint64_t i = after; i < events_.size(); ++i)
    if (!reader->write(events_[i])) return true;
  if (result_ != nullptr)
    reader->close();
  else
    readers_.push_back(std::move(reader));
  return true;
}

std::shared_ptr<ServedCall> CallBoard::begin(std::string id, std::string tenant, std::string caller,
                                             std::string tool) {
  auto call =
      std::allocate_shared<ServedCall>(RecycledAllocator<ServedCall>(), std::move(id),
                                       std::move(tenant), std::move(caller), std::move(tool));
  const std::lock_guard lock(mutex_);
  put(running_, call->id, call);
  ++in_flight_;
  return call;
}

CallBoard::Ended CallBoard::forget_oldest(TenantCalls& calls) {
  Ended& oldest = calls.ended.front();
  if (const auto known = known_.find(oldest.id());
      known != known_.end() && known->second == &oldest)
    known_.erase(known);
  calls.bytes -= oldest.bytes;
  Ended forgotten = std::move(oldest);
  calls.ended.pop_front();
  return forgotten;
}

void CallBoard::ended(const std::shared_ptr<ServedCall>& call,
                      std::chrono::steady_clock::time_point now) {
  const std::uint64_t bytes = call->memory();
  KeptCall kept = call->only_result();
  const bool whole = kept.id().empty();
  boost::container::small_vector<Ended, 4> forgotten;
  const std::lock_guard lock(mutex_);
  --in_flight_;
  if (const auto own = running_.find(call->id); own != running_.end() && own->second == call)
    running_.erase(own);
  auto& [tenant, calls] = *ended_.try_emplace(call->tenant).first;
  const Ended& last =
      calls.ended.emplace_back(whole ? call : nullptr, std::move(kept), &tenant, now, bytes);
  put(known_, last.id(), &last);
  calls.bytes += bytes;
  while (!calls.ended.empty() &&
         (calls.ended.size() > limits_.calls || calls.bytes > limits_.bytes ||
          now - calls.ended.front().when > limits_.kept))
    forgotten.push_back(forget_oldest(calls));
}

std::shared_ptr<ServedCall> CallBoard::find(const std::string& id,
                                            const std::string& tenant) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = running_.find(id); found != running_.end())
    return found->second->tenant == tenant ? found->second : nullptr;
  const auto found = known_.find(id);
  if (found == known_.end() || *found->second->tenant != tenant) return nullptr;
  const Ended& ended = *found->second;
  return ended.call != nullptr ? ended.call : std::make_shared<ServedCall>(ended.kept, tenant);
}

void CallBoard::expire(std::chrono::steady_clock::time_point now) {
  std::vector<Ended> forgotten;
  const std::lock_guard lock(mutex_);
  for (auto& [tenant, calls] : ended_)
    while (!calls.ended.empty() && now - calls.ended.front().when > limits_.kept)
      forgotten.push_back(forget_oldest(calls));
}

void CallBoard::cancel_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, call] : running_)
    call->cancel();
}

std::size_t CallBoard::in_flight() const {
  const std::lock_guard lock(mutex_);
  return in_flight_;
}

std::vector<std::shared_ptr<ServedCall>> CallBoard::running() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<ServedCall>> list;
  for (const auto& [id, call] : running_)
    if (call->result() == nullptr) list.push_back(call);
  return list;
}

}  // namespace sallyport
