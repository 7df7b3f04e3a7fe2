#include "redact/ready_nets.h"

#include <cstring>

// Of nets/ready_nets_data.c, which only the program has.
extern "C" {
[[gnu::weak]] extern const char sallyport_ready_nets[];
[[gnu::weak]] extern const char sallyport_ready_nets_end[];
}

namespace sallyport {
namespace {

void put(std::string& bytes, std::uint64_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Takes a number off the front, if there is one.
std::optional<std::uint64_t> take_number(std::string_view& bytes) {
  std::uint64_t number = 0;
  if (bytes.size() < sizeof(number)) return std::nullopt;
  std::memcpy(&number, bytes.data(), sizeof(number));
  bytes.remove_prefix(sizeof(number));
  return number;
}

}  // namespace

std::string pack_ready_nets(const std::vector<ReadyNet>& nets) {
  std::string bytes;
  for (const ReadyNet& net : nets) {
    put(bytes, net.mask);
    put(bytes, net.widths.size());
    for (const std::uint32_t width : net.widths)
      put(bytes, width);
    put(bytes, net.database.size());
    bytes += net.database;
  }
  return bytes;
}

std::optional<ReadyNet> find_ready_net(std::string_view bytes, unsigned mask) {
  while (const auto groups = take_number(bytes)) {
    ReadyNet net{.mask = static_cast<unsigned>(*groups)};
    const std::uint64_t count = take_number(bytes).value_or(UINT64_MAX);
    if (count > bytes.size() / sizeof(std::uint64_t)) return std::nullopt;
    for (std::uint64_t i = 0; i < count; ++i)
      net.widths.push_back(static_cast<std::uint32_t>(*take_number(bytes)));
    const std::uint64_t size = take_number(bytes).value_or(UINT64_MAX);
    if (size > bytes.size()) return std::nullopt;
    net.database = bytes.substr(0, size);
    bytes.remove_prefix(size);
    if (net.mask == mask) return net;
  }
  return std::nullopt;
}

std::optional<ReadyNet> find_ready_net(unsigned mask) {
  const char* const begin = sallyport_ready_nets;
  if (begin == nullptr) return std::nullopt;
  return find_ready_net({begin, static_cast<std::size_t>(sallyport_ready_nets_end - begin)}, mask);
}

}  // namespace sallyport
