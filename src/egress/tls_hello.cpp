#include "egress/tls_hello.h"

#include <bitset>
#include <cstdint>
#include <utility>

#include "egress/byte_reader.h"

namespace sallyport {
namespace {

constexpr std::size_t kRecordHeader = 5, kMessageHeader = 4, kLongestRecord = std::size_t{16} << 10;
constexpr std::size_t kRandom = 32, kLongestSession = 32;
constexpr unsigned char kHandshake = 22, kMajorVersion = 3, kClientHello = 1, kHostNameType = 0;

enum Extension : std::uint16_t {
  kServerName = 0,
  kProtocols = 16,
  kEncryptedHello = 0xfe0d,
  kEncryptedName = 0xffce,  // what came before it, of draft-ietf-tls-esni-01
};

constexpr std::string_view kBroken = "The TLS hello is malformed.";

unsigned char byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  return ByteReader(bytes.substr(at)).number(size).value_or(0);
}

}  // namespace

TlsHelloParser::State TlsHelloParser::refuse(std::string_view sentence) {
  fault_ = sentence;
  name_.reset();
  protocols_.clear();
  return state_ = State::refused;
}

TlsHelloParser::State TlsHelloParser::parse(std::string_view bytes) {
  if (state_ != State::incomplete || bytes.empty()) return state_;
  // The headers are judged as far as they have come; the rest when it is whole, and so only once.
  if (byte_at(bytes, 0) != kHandshake)
    return refuse("The connection is not TLS: it does not begin with a handshake.");
  if (bytes.size() < 2) return state_;
  if (byte_at(bytes, 1) != kMajorVersion)
    return refuse("The connection is not TLS: its version is unknown.");
  if (bytes.size() < kRecordHeader) return state_;
  const std::size_t length = number_at(bytes, 3, 2);
  if (length == 0 || length > kLongestRecord)
    return refuse("The first TLS record has a length that is not allowed.");
  // Servers put a hello together from several records; a filter that does not, or does it
  // differently, sees another name or none.
  constexpr std::string_view kInPieces = "The TLS hello is spread over several records.";
  if (length < kMessageHeader) return refuse(kInPieces);
  if (bytes.size() <= kRecordHeader) return state_;
  if (byte_at(bytes, kRecordHeader) != kClientHello)
    return refuse("The TLS connection does not begin with the hello of a client.");
  if (bytes.size() < kRecordHeader + kMessageHeader) return state_;
  const std::size_t body = number_at(bytes, kRecordHeader + 1, 3);
  if (body > length - kMessageHeader) return refuse(kInPieces);
  if (body < length - kMessageHeader)
    return refuse("Something follows the TLS hello in its record.");
  if (bytes.size() < kRecordHeader + length) return state_;
  return hello(bytes.substr(kRecordHeader + kMessageHeader, body));
}

TlsHelloParser::State TlsHelloParser::hello(std::string_view body) {
  ByteReader reader(body);
  const auto version = reader.number(2);
  if (!version || *version >> 8 != kMajorVersion || !reader.bytes(kRandom)) return refuse(kBroken);
  const auto session = reader.vector(1);
  if (!session || session->size() > kLongestSession) return refuse(kBroken);
  const auto ciphers = reader.vector(2);
  if (!ciphers || ciphers->empty() || ciphers->size() % 2 != 0) return refuse(kBroken);
  const auto compressions = reader.vector(1);
  // Every hello offers to do without compression.
  if (!compressions || !compressions->contains('\0')) return refuse(kBroken);
  if (!reader.at_end()) {
    const auto list = reader.vector(2);
    if (!list || !reader.at_end()) return refuse(kBroken);
    if (extensions(*list) == State::refused) return state_;
  }
  if (!name_) return refuse("The TLS hello has no server name.");
  return state_ = State::complete;
}

TlsHelloParser::State TlsHelloParser::extensions(std::string_view list) {
  std::bitset<1 << 16> seen;
  for (ByteReader reader(list); !reader.at_end();) {
    const auto type = reader.number(2);
    const auto body = reader.vector(2);
    if (!type || !body) return refuse(kBroken);
    if (seen.test(*type)) return refuse("The TLS hello has an extension twice.");
    seen.set(*type);
    switch (*type) {
      case kServerName:
        if (server_name(*body) == State::refused) return state_;
        break;
      case kProtocols:
        if (offered_protocols(*body) == State::refused) return state_;
        break;
      case kEncryptedHello:
      case kEncryptedName:
        return refuse("The TLS hello is encrypted: the server that it is for cannot be seen.");
      default:
        break;
    }
  }
  return state_;
}

TlsHelloParser::State TlsHelloParser::server_name(std::string_view body) {
  ByteReader reader(body);
  const auto list = reader.vector(2);
  if (!list || !reader.at_end()) return refuse(kBroken);
  ByteReader entries(*list);
  const auto type = entries.number(1);
  if (!type) return refuse(kBroken);
  if (*type != kHostNameType)
    return refuse("The TLS hello has a server name of a kind that is not known.");
  const auto text = entries.vector(2);
  if (!text) return refuse(kBroken);
  if (!entries.at_end()) return refuse("The TLS hello has more than one server name.");
  auto name = HostName::parse(*text);
  if (!name) return refuse("The server name in the TLS hello is not the name of a host.");
  name_ = std::move(*name);
  return state_;
}

TlsHelloParser::State TlsHelloParser::offered_protocols(std::string_view body) {
  ByteReader reader(body);
  const auto list = reader.vector(2);
  if (!list || list->empty() || !reader.at_end()) return refuse(kBroken);
  protocols_.reserve(4);
  for (ByteReader entries(*list); !entries.at_end();) {
    const auto protocol = entries.vector(1);
    if (!protocol || protocol->empty()) return refuse(kBroken);
    if (protocols_.size() == kMostProtocols)
      return refuse("The TLS hello offers too many protocols.");
    protocols_.emplace_back(*protocol);
  }
  return state_;
}

}  // namespace sallyport
