#include "egress/dns_message.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "base/parse.h"
#include "egress/byte_reader.h"
#include "http/characters.h"

namespace sallyport {
namespace {

constexpr std::size_t kHeader = 12, kLongestLabel = 63, kLongestWireName = 255;
constexpr std::size_t kMostRecords = 512, kMostAliases = 16;
constexpr int kMostJumps = 32;
constexpr std::uint16_t kTypeCname = 5, kTypeOpt = 41, kClassInternet = 1;

// A name as a message spells it, in lower case and without pointers: the length before each label,
// 0 at the end. A label may hold any byte, a dot too, so that only this form can be compared.
using WireName = std::string;

WireName wire_name(const HostName& name) {
  WireName wire;
  for (std::string_view rest = name.to_text(); !rest.empty();) {
    const std::string_view label = take(rest, '.');
    wire.push_back(static_cast<char>(label.size()));
    wire.append(label);
  }
  wire.push_back('\0');
  return wire;
}

void append_number(std::string& bytes, std::uint32_t value, int size) {
  for (int shift = (size - 1) * 8; shift >= 0; shift -= 8)
    bytes.push_back(static_cast<char>(value >> shift & 0xff));
}

std::unexpected<Error> refuse(std::string_view fault) {
  return fail(Reason::unavailable, "the answer of the name server " + std::string(fault));
}

std::unexpected<Error> malformed() {
  return refuse("is malformed");
}

struct Record {
  WireName owner;
  std::uint32_t type = 0, group = 0, ttl = 0;  // group: its class
  std::size_t at = 0, length = 0;              // of its data, within the message
};

class MessageReader {
 public:
  explicit MessageReader(std::string_view message) : message_(message) {}

  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool at_end() const { return at_ == message_.size(); }
  void go_to(std::size_t at) { at_ = at; }

  std::optional<std::uint32_t> number(std::size_t size) {
    const auto value = ByteReader(message_.substr(at_)).number(size);
    if (value) at_ += size;
    return value;
  }

  std::optional<WireName> name() {
    WireName wire;
    std::size_t from = at_, at = at_;
    for (int jumps = 0; at < message_.size();) {
      const auto length = static_cast<unsigned char>(message_[at++]);
      if (length > kLongestLabel) {
        // A pointer leads back, before where this part of the name began: there is no way round.
        if (length < 0xc0 || at >= message_.size() || jumps == kMostJumps) return std::nullopt;
        const std::size_t target =
            (length & 0x3fU) << 8 | static_cast<unsigned char>(message_[at++]);
        if (target < kHeader || target >= from) return std::nullopt;
        if (jumps++ == 0) at_ = at;
        from = at = target;
        continue;
      }
      if (at + length > message_.size() || wire.size() + 1 + length > kLongestWireName)
        return std::nullopt;
      wire.push_back(static_cast<char>(length));
      std::ranges::transform(message_.substr(at, length), std::back_inserter(wire), lower_char);
      at += length;
      if (length > 0) continue;
      if (jumps == 0) at_ = at;
      return wire;
    }
    return std::nullopt;
  }

  std::optional<Record> record() {
    auto owner = name();
    if (!owner) return std::nullopt;
    const auto type = number(2), group = number(2), ttl = number(4), length = number(2);
    if (!type || !group || !ttl || !length || *length > message_.size() - at_) return std::nullopt;
    const std::size_t data = at_;
    at_ += *length;
    // A time beyond 31 bits is none (RFC 2181).
    return Record{.owner = std::move(*owner),
                  .type = *type,
                  .group = *group,
                  .ttl = *ttl > std::numeric_limits<std::int32_t>::max() ? 0 : *ttl,
                  .at = data,
                  .length = *length};
  }

 private:
  std::string_view message_;
  std::size_t at_ = 0;
};

template <std::size_t size>
std::array<std::uint8_t, size> bytes_at(std::string_view message, std::size_t at) {
  std::array<std::uint8_t, size> bytes{};
  std::ranges::transform(message.substr(at, size), bytes.begin(),
                         [](char c) { return static_cast<std::uint8_t>(c); });
  return bytes;
}

struct Alias {
  WireName owner, target;
  std::uint32_t ttl = 0;
};

// What the records of the answer say about a name.
class AnswerRecords {
 public:
  AnswerRecords(std::string_view message, DnsType type) : message_(message), type_(type) {}

  [[nodiscard]] bool add(Record record) {
    if (record.group != kClassInternet) return true;
    if (record.type == kTypeCname) {
      MessageReader data(message_);
      data.go_to(record.at);
      auto target = data.name();
      if (!target || data.at() != record.at + record.length) return false;
      aliases_.push_back({std::move(record.owner), std::move(*target), record.ttl});
    } else if (record.type == static_cast<std::uint16_t>(type_)) {
      if (record.length != (type_ == DnsType::a ? 4 : 16)) return false;
      addresses_.push_back(std::move(record));
    }
    return true;
  }

  // Follows the aliases of `name`, and gives `answer` what is known about their end.
  [[nodiscard]] Result<void> resolve(WireName name, DnsAnswer& answer) const {
    std::uint32_t ttl = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t steps = 0;; ++steps) {
      const auto alias = std::ranges::find(aliases_, name, &Alias::owner);
      if (alias == aliases_.end()) break;
      if (steps == kMostAliases) return refuse("has aliases that lead in a circle, or too far");
      if (std::ranges::count(aliases_, name, &Alias::owner) > 1)
        return refuse("has two aliases for one name");
      ttl = std::min(ttl, alias->ttl);
      name = alias->target;
    }
    answer.addresses.reserve(addresses_.size());
    for (const Record& record : addresses_) {
      if (record.owner != name) continue;
      ttl = std::min(ttl, record.ttl);
      const IpAddress address = type_ == DnsType::a
                                    ? IpAddress::v4(bytes_at<4>(message_, record.at))
                                    : IpAddress::v6(bytes_at<16>(message_, record.at));
      if (std::ranges::find(answer.addresses, address) == answer.addresses.end())
        answer.addresses.push_back(address);
    }
    if (!answer.addresses.empty()) answer.ttl = ttl;
    return {};
  }

 private:
  std::string_view message_;
  DnsType type_;
  std::vector<Alias> aliases_;
  std::vector<Record> addresses_;
};

}  // namespace

std::string make_dns_query(std::uint16_t id, const HostName& name, DnsType type) {
  std::string query;
  append_number(query, id, 2);
  append_number(query, 0x0100, 2);  // a question, to be followed up for us
  append_number(query, 1, 2);
  append_number(query, 0, 4);
  append_number(query, 1, 2);
  query.append(wire_name(name));
  append_number(query, static_cast<std::uint16_t>(type), 2);
  append_number(query, kClassInternet, 2);
  query.push_back('\0');  // EDNS: of the root
  append_number(query, kTypeOpt, 2);
  append_number(query, kLongestDnsDatagram, 2);
  query.append(6, '\0');  // no flags, and nothing to say
  return query;
}

Result<DnsAnswer> parse_dns_answer(std::string_view message, std::uint16_t id, const HostName& name,
                                   DnsType type) {
  MessageReader reader(message);
  const auto its_id = reader.number(2), flags = reader.number(2), questions = reader.number(2);
  const auto answers = reader.number(2), authorities = reader.number(2),
             additional = reader.number(2);
  if (!its_id || !flags || !questions || !answers || !authorities || !additional)
    return malformed();
  constexpr std::uint32_t kIsAnswer = 0x8000, kKind = 0x7800, kTruncated = 0x0200;
  WireName wanted = wire_name(name);
  if (*its_id != id || (*flags & (kIsAnswer | kKind)) != kIsAnswer || *questions != 1 ||
      reader.name() != wanted || reader.number(2) != static_cast<std::uint16_t>(type) ||
      reader.number(2) != kClassInternet)
    return refuse("is one to another question");

  DnsAnswer answer{.rcode = *flags & 0xfU, .truncated = (*flags & kTruncated) != 0};
  if (answer.truncated) return answer;
  const std::size_t count = std::size_t{*answers} + *authorities + *additional;
  if (count > kMostRecords) return refuse("has too many records");
  AnswerRecords records(message, type);
  for (std::size_t i = 0; i < count; ++i) {
    auto record = reader.record();
    if (!record) return malformed();
    // What is said beside the answer is not believed, only read.
    if (i < *answers && !records.add(std::move(*record))) return malformed();
  }
  if (!reader.at_end()) return malformed();
  if (answer.rcode != DnsAnswer::kNoError) return answer;
  if (auto resolved = records.resolve(std::move(wanted), answer); !resolved)
    return std::unexpected(std::move(resolved.error()));
  return answer;
}

}  // namespace sallyport
