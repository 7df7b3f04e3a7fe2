#include "cell/java_store.h"

#include <cstdint>
#include <optional>

#include "base/base64.h"

namespace sallyport {
namespace {

// Without a password Java does not look at the digest that ends a store; it only has to be there.
constexpr std::size_t kDigestSize = 20;

void add_number(std::string& store, std::uint64_t value, int size) {
  for (int i = size - 1; i >= 0; --i)
    store.push_back(static_cast<char>(value >> (8 * i)));
}

void add_text(std::string& store, std::string_view text) {
  add_number(store, text.size(), 2);
  store.append(text);
}

// The next certificate, taken from the text; empty: it cannot be read. None: there are no more.
std::optional<std::string> take_certificate(std::string_view& pem) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----", kEnd = "-----END";
  const std::size_t begin = pem.find(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  pem.remove_prefix(begin + kBegin.size());
  const std::size_t end = pem.find(kEnd);
  if (end == std::string_view::npos) return std::nullopt;
  std::string text(pem.substr(0, end));
  pem.remove_prefix(end);
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
  return from_base64(text).value_or("");
}

void add_certificate(std::string& store, std::uint64_t number, std::string_view der) {
  constexpr std::uint64_t kTrusted = 2;
  add_number(store, kTrusted, 4);
  add_text(store, "c" + std::to_string(number));
  add_number(store, 0, 8);  // since when
  add_text(store, "X.509");
  add_number(store, der.size(), 4);
  store.append(der);
}

}  // namespace

std::string begin_java_store(std::string_view pem) {
  constexpr std::uint64_t kMagic = 0xFEED'FEED, kVersion = 2;
  std::string entries;
  std::uint64_t count = 0;
  while (const auto der = take_certificate(pem))
    if (!der->empty()) add_certificate(entries, ++count, *der);
  std::string store;
  add_number(store, kMagic, 4);
  add_number(store, kVersion, 4);
  add_number(store, count + 1, 4);
  return store + entries;
}

std::string java_entry(std::string_view pem) {
  std::string entry;
  add_certificate(entry, 0, take_certificate(pem).value_or(""));
  return entry + std::string(kDigestSize, '\0');
}

}  // namespace sallyport
