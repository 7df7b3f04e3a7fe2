// Any text is a URL, a host, a pattern or an address, or is refused; what is taken has one spelling
// and no second reading.
#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "check.h"
#include "input/url.h"

using namespace sallyport;

static void check_error(const Error& error) {
  FUZZ_CHECK(error.reason == Reason::argument);
  FUZZ_CHECK(!error.message.empty() && !error.hint.empty());
  FUZZ_CHECK(escape_for_terminal(error.message) == error.message);
  FUZZ_CHECK(escape_for_terminal(error.hint) == error.hint);
}

static void check_host(std::string_view text) {
  const auto host = HostName::parse(text);
  if (!host) return check_error(host.error());
  const std::string& name = host->to_text();
  FUZZ_CHECK(HostName::parse(name)->to_text() == name);
  FUZZ_CHECK(!name.empty() && name.size() <= 253 && !name.contains("..") && !name.ends_with('.'));
  FUZZ_CHECK(name.size() == text.size());
  // What the oldest and most generous parser takes for an address is never a name.
  in_addr address{};
  FUZZ_CHECK(inet_aton(name.c_str(), &address) == 0);
  const auto pattern = HostPattern::parse("*." + name);
  FUZZ_CHECK(pattern.has_value() == (name.contains('.') && name.size() <= 253));
  FUZZ_CHECK(!pattern || !pattern->matches(*host));
  FUZZ_CHECK(HostPattern::parse(name)->matches(*host));
}

static void check_address(std::string_view text) {
  const auto address = IpAddress::parse(text);
  if (!address) return check_error(address.error());
  FUZZ_CHECK(IpAddress::parse(address->to_text()) == *address);
  FUZZ_CHECK(!text.contains('\0'));
  std::array<unsigned char, 16> bytes{};
  FUZZ_CHECK(inet_pton(address->is_v4() ? AF_INET : AF_INET6, std::string(text).c_str(),
                       bytes.data()) == 1);
  FUZZ_CHECK(std::ranges::equal(bytes, address->bytes()));
  FUZZ_CHECK(!HostName::parse(text));
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_host(text);
  check_address(text);
  if (const auto entry = HostPort::parse(text)) {
    FUZZ_CHECK(HostPort::parse(entry->to_text()) == *entry);
  }

  const auto url = Url::parse(text, {.allow_ip = true});
  if (!url) {
    check_error(url.error());
    return 0;
  }
  const std::string normal = url->to_text();
  FUZZ_CHECK(std::ranges::all_of(normal, [](char c) { return c > 0x20 && c < 0x7F; }));
  FUZZ_CHECK(!normal.contains('\\') && !normal.contains('#'));
  FUZZ_CHECK(normal.starts_with(url->scheme() + "://" + url->host_text()));
  const char behind = normal[url->scheme().size() + 3 + url->host_text().size()];
  FUZZ_CHECK(behind == '/' || behind == ':');
  FUZZ_CHECK(url->port() != 0 && url->path().starts_with('/'));
  FUZZ_CHECK(!url->path().contains("/../") && !url->path().ends_with("/.."));
  if (const auto* address = std::get_if<IpAddress>(&url->host()))
    FUZZ_CHECK(!is_internal(*address));
  const auto again = Url::parse(normal, {.allow_ip = true, .max_length = normal.size()});
  FUZZ_CHECK(again && again->to_text() == normal);
  return 0;
}
