// What a cell says to the proxy (SOCKS, CONNECT, absolute URLs, and TLS or requests behind them),
// however it is cut: it ends, and nothing but the allowed hosts is ever dialled, which here leads
// nowhere. The placeholder of a credential never gets through.
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "check.h"
#include "egress/connection.h"

using namespace sallyport;

namespace {

// A client that has said all it will ever say.
class SaidLink final : public Link {
 public:
  SaidLink(std::string_view bytes, std::size_t piece) : bytes_(bytes), piece_(piece) {}

  Task<std::size_t> read(std::span<char> room) override {
    const std::size_t size = closed_ ? 0 : std::min({piece_, room.size(), bytes_.size()});
    bytes_.copy(room.data(), size);
    bytes_.remove_prefix(size);
    co_return size;
  }
  Task<bool> write(std::string_view bytes) override {
    heard += bytes;
    co_return !closed_;
  }
  Task<void> finish() override { co_return; }
  void close() override { closed_ = true; }
  void reset() override { closed_ = true; }
  [[nodiscard]] bool failed() const override { return false; }

  std::string heard;

 private:
  std::string_view bytes_;
  std::size_t piece_;
  bool closed_ = false;
};

const std::string kPlaceholder = "ghp_PLACEHOLDER";

EgressRules rules() {
  EgressRules rules;
  const auto add = [&](const char* host, EgressScheme scheme, std::uint16_t port) {
    rules.allow.push_back({.host = host,
                           .port = port,
                           .scheme = scheme,
                           .internal = true,
                           .address = "127.0.0.1",
                           .methods = {},
                           .paths = {},
                           .id = "rule"});
  };
  // Nobody listens there.
  add("a.example", EgressScheme::http, 1);
  add("b.example", EgressScheme::https, 2);
  add("*.c.example", EgressScheme::http, 1);
  rules.grants.push_back({.credential = "token", .to = {{.host = "d.example"}}, .variable = "T"});
  return rules;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  boost::asio::io_context io(1);
  Outside outside{
      .lookups = std::make_shared<const LookupSettings>(), .trust = HostTrust(""), .secrets = {}};
  outside.secrets.take({.name = "token", .value = "the secret itself", .why = {}});
  auto map = NetworkMap::make(rules());
  auto door = make_door();
  FUZZ_CHECK(map && door);
  {
    ServedCell cell(io, outside, std::move(*map), {kPlaceholder}, nullptr, std::move(door->egress));
    SaidLink link(bytes, std::max<std::size_t>(data[0], 1));
    BufferedLink client(link);
    boost::asio::co_spawn(io, serve_proxy(cell, client), boost::asio::detached);
    io.run();
    FUZZ_CHECK(!link.heard.contains("the secret itself"));
  }
  std::string packet(std::size_t{1} << 16, '\0');
  for (ssize_t got;
       (got = ::recv(door->outside.get(), packet.data(), packet.size(), MSG_DONTWAIT)) > 0;) {
    const auto event = read_wire<NetworkEvent>(
        std::string_view(packet).substr(0, static_cast<std::size_t>(got)), packet.size(), "event");
    FUZZ_CHECK(event);
    FUZZ_CHECK(event->verdict == "refused" || event->verdict == "failed");
    if (event->verdict == "failed")
      FUZZ_CHECK(event->host == "a.example" || event->host == "b.example" ||
                 event->host.ends_with(".c.example"));
  }
  return 0;
}
