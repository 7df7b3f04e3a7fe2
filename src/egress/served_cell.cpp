#include "egress/served_cell.h"

#include <utility>

namespace sallyport {

namespace asio = boost::asio;

ServedCell::ServedCell(asio::io_context& io, Outside& outside, NetworkMap map,
                       std::vector<std::string> placeholders, std::unique_ptr<Authority> authority,
                       Fd channel)
    : names(io),
      io_(io),
      outside_(outside),
      lookups_(outside.lookups),
      map_(std::move(map)),
      grants_(map_.rules().grants, std::move(placeholders), outside.secrets),
      authority_(std::move(authority)),
      channel_(io) {
  boost::system::error_code ignored;
  ignored = channel_.assign(channel.release(), ignored);
}

ServedCell::~ServedCell() = default;

void ServedCell::end() {
  if (std::exchange(ended_, true)) return;
  boost::system::error_code ignored;
  ignored = names.close(ignored);
  for (auto& listener : listeners)
    ignored = listener.close(ignored);
  // Closing ends what waits, later and not from here: the list stays as it is.
  for (Link* link : open_)
    link->close();
}

void ServedCell::note(const NetworkEvent& event) {
  if (notes_ >= kMostNotes || !send_event(channel_.native_handle(), event)) {
    ++unlisted_count_;
    unlisted_.sent += event.sent;
    unlisted_.received += event.received;
    return;
  }
  ++notes_;
}

bool ServedCell::note_unlisted() {
  if (unlisted_count_ == 0) return true;
  unlisted_.kind = "unlisted";
  unlisted_.verdict = "unknown";
  unlisted_.why = std::to_string(unlisted_count_) + " more events are not listed";
  return send_event(channel_.native_handle(), unlisted_);
}

void ServedCell::note_name(std::string name, bool allowed) {
  if (noted_names_.size() >= kMostNames || !noted_names_.emplace(name, allowed).second) return;
  note({.kind = "name",
        .verdict = allowed ? "allowed" : "refused",
        .host = std::move(name),
        .why = allowed ? "" : "no rule allows this name"});
}

bool ServedCell::take_request() {
  return ++requests_ <= map_.rules().requests;
}

bool ServedCell::take_handshake() {
  constexpr std::uint64_t kPerRequest = 4, kBeside = 64;
  return ++handshakes_ <= kPerRequest * map_.rules().requests + kBeside;
}

bool ServedCell::count_sent(std::size_t bytes) {
  return (sent_ += bytes) <= map_.rules().upload.bytes;
}

bool ServedCell::count_received(std::size_t bytes) {
  return (received_ += bytes) <= map_.rules().download.bytes;
}

}  // namespace sallyport
