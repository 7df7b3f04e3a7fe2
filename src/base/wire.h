// Values as bytes between processes of ours. The reader is strict: every length and every count is
// bounded, no byte may be left over, and there is one form only. A structure is described once, by
// a `visit` that names every member, and that description serves both ways.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "sallyport/units.h"

namespace sallyport {

// Far more than any call has; see kMostFiles and kMostGlobs in tool/cell_call.cpp.
inline constexpr std::size_t kMostEntries = 4096;

// WireWriter and WireReader offer the same operations, so that one description of a value serves
// both ways and they cannot disagree.
class WireWriter {
 public:
  static constexpr bool kReads = false;
  explicit WireWriter(std::size_t most) : most_(most) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::string take() { return std::move(bytes_); }
  void refuse() { failed_ = true; }

  void number(std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      bytes_.push_back(static_cast<char>(value >> (8 * i)));
  }
  void bytes(const std::string& text) {
    if (text.size() > most_ || bytes_.size() > most_ - text.size()) {
      failed_ = true;
      return;
    }
    number(text.size(), 4);
    bytes_.append(text);
  }

 private:
  std::size_t most_;
  std::string bytes_;
  bool failed_ = false;
};

class WireReader {
 public:
  static constexpr bool kReads = true;
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  void refuse() { failed_ = true; }

  std::uint64_t number(std::size_t size) {
    if (failed_ || rest_.size() < size) {
      failed_ = true;
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    rest_.remove_prefix(size);
    return value;
  }
  void bytes(std::string& text) {
    const std::uint64_t size = number(4);
    if (failed_ || size > rest_.size()) {
      failed_ = true;
      return;
    }
    text.assign(rest_.substr(0, size));
    rest_.remove_prefix(size);
  }
  // No list may be longer than the bytes that are left for it.
  std::size_t count(std::size_t most) {
    const std::uint64_t value = number(4);
    if (value > most || value > rest_.size()) failed_ = true;
    return failed_ ? 0 : static_cast<std::size_t>(value);
  }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

// ---- Values

template <class Wire, class Number>
  requires std::is_integral_v<Number>
void visit(Wire& wire, Number& value) {
  using Plain = std::make_unsigned_t<Number>;
  if constexpr (Wire::kReads)
    value = static_cast<Number>(static_cast<Plain>(wire.number(sizeof(Number))));
  else
    wire.number(static_cast<Plain>(value), sizeof(Number));
}

template <class Wire>
void visit(Wire& wire, bool& value) {
  if constexpr (Wire::kReads) {
    const std::uint64_t read = wire.number(1);
    if (read > 1) wire.refuse();
    value = read == 1;
  } else {
    wire.number(value ? 1 : 0, 1);
  }
}

// The last value of an enumeration bounds it.
template <class Wire, class Enum>
void visit_enum(Wire& wire, Enum& value, Enum last) {
  if constexpr (Wire::kReads) {
    const std::uint64_t read = wire.number(1);
    if (read > static_cast<std::uint64_t>(last)) return wire.refuse();
    value = static_cast<Enum>(read);
  } else {
    wire.number(static_cast<std::uint64_t>(value), 1);
  }
}

// Any bytes.
template <class Wire>
void visit_bytes(Wire& wire, std::string& value) {
  wire.bytes(value);
}

// Text that becomes a C string: with a NUL in it, what is checked would not be what is used.
template <class Wire>
void visit(Wire& wire, std::string& value) {
  wire.bytes(value);
  if constexpr (Wire::kReads)
    if (value.find('\0') != std::string::npos) wire.refuse();
}

template <class Wire>
void visit(Wire& wire, double& value) {
  auto bits = std::bit_cast<std::uint64_t>(value);
  visit(wire, bits);
  value = std::bit_cast<double>(bits);
  if constexpr (Wire::kReads)
    if (!std::isfinite(value) || std::signbit(value)) wire.refuse();
}

template <class Wire>
void visit(Wire& wire, Duration& value) {
  std::int64_t count = value.count();
  visit(wire, count);
  value = Duration(count);
  if constexpr (Wire::kReads)
    if (value < Duration::zero() || value > kGreatestDuration) wire.refuse();
}

template <class Wire>
void visit(Wire& wire, ByteSize& value) {
  visit(wire, value.bytes);
  if constexpr (Wire::kReads)
    if (value > kGreatestSize) wire.refuse();
}

template <class Wire>
void visit(Wire& wire, Rate& value) {
  visit(wire, value.per_second);
}

template <class Wire, class Value, class Visit>
void visit_optional(Wire& wire, std::optional<Value>& value, Visit each) {
  bool there = value.has_value();
  visit(wire, there);
  if (!there || wire.failed()) {
    value.reset();
    return;
  }
  if (!value) value.emplace();
  each(wire, *value);
}

template <class Wire, class Value>
void visit(Wire& wire, std::optional<Value>& value) {
  visit_optional(wire, value, [](Wire& to, Value& some) { visit(to, some); });
}

template <class Wire, class Value, class Visit>
void visit_list(Wire& wire, std::vector<Value>& list, Visit each) {
  if constexpr (Wire::kReads) {
    const std::size_t count = wire.count(kMostEntries);
    list.clear();
    for (std::size_t i = 0; i < count && !wire.failed(); ++i)
      each(wire, list.emplace_back());
  } else {
    if (list.size() > kMostEntries) return wire.refuse();
    wire.number(list.size(), 4);
    for (Value& value : list)
      each(wire, value);
  }
}

template <class Wire>
void visit(Wire& wire, std::vector<std::string>& list) {
  visit_list(wire, list, [](Wire& to, std::string& text) { visit(to, text); });
}

// ---- Whole values

template <class Value>
Result<std::string> write_wire(const Value& value, std::size_t most, const char* what) {
  WireWriter writer(most);
  // A writer changes nothing; one description serves both ways.
  visit(writer, const_cast<Value&>(value));
  std::string bytes = writer.take();
  if (!writer.failed() && bytes.size() <= most) return bytes;
  return fail(Reason::result_too_large, std::string(what) + " is larger than " +
                                            to_text(ByteSize{most}) + " or has more than " +
                                            std::to_string(kMostEntries) +
                                            " entries of one kind, the most that can travel");
}

template <class Value>
Result<Value> read_wire(std::string_view bytes, std::size_t most, const char* what) {
  Value value{};
  WireReader reader(bytes.substr(0, most));
  visit(reader, value);
  if (reader.failed() || !reader.at_end() || bytes.size() > most)
    return fail(Reason::cannot_enforce, std::string("these bytes are not ") + what);
  return value;
}

}  // namespace sallyport
