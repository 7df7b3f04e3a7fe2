#include "launch/wire.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "policy/limit_table.h"

namespace sallyport {
namespace {

constexpr std::uint32_t kClaimVersion = 0x32435053;    // "SPC2"
constexpr std::uint32_t kOutcomeVersion = 0x314f5053;  // "SPO1"

// Far more than any call has; see kMostFiles and kMostGlobs in tool/cell_call.cpp.
constexpr std::size_t kMostEntries = 4096;

// Writer and Reader offer the same operations, so that one description of a value serves both ways
// and they cannot disagree.
class Writer {
 public:
  static constexpr bool kReads = false;
  explicit Writer(std::size_t most) : most_(most) {}

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

class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

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

template <class Wire>
void visit(Wire& wire, Limits& limits) {
#define SALLYPORT_VISIT_LIMIT(name, type, sentence) visit(wire, limits.name);
  SALLYPORT_LIMITS(SALLYPORT_VISIT_LIMIT)
#undef SALLYPORT_VISIT_LIMIT
}

// ---- A claim. The bindings name every member: one that is added and forgotten here does not
// compile.

template <class Wire>
void visit(Wire& wire, Grant& grant) {
  auto& [host, inside, write, optional] = grant;
  visit(wire, host);
  visit(wire, inside);
  visit(wire, write);
  visit(wire, optional);
}

template <class Wire>
void visit(Wire& wire, InputFile& input) {
  auto& [host, name, content] = input;
  visit(wire, host);
  visit(wire, name);
  visit_optional(wire, content, [](Wire& to, std::string& bytes) { visit_bytes(to, bytes); });
}

template <class Wire>
void visit(Wire& wire, Requirement& requirement) {
  auto& [layer, level] = requirement;
  visit(wire, layer);
  visit(wire, level);
}

template <class Wire>
void visit(Wire& wire, CellSpec& spec) {
  auto& [call_id, command, environment, grants, write_mode, inputs, outputs, output_directory, root,
         cwd, hostname, use_stdin, input, limits, syscalls, requirements, observation, uids] = spec;
  (void)observation;
  (void)uids;
  const auto each = [](Wire& to, auto& value) { visit(to, value); };
  visit(wire, call_id);
  visit(wire, command);
  visit_list(wire, environment, [](Wire& to, std::pair<std::string, std::string>& variable) {
    visit(to, variable.first);
    visit(to, variable.second);
  });
  visit_list(wire, grants, each);
  visit_enum(wire, write_mode, WriteMode::copy);
  visit_list(wire, inputs, each);
  visit(wire, outputs);
  visit(wire, output_directory);
  visit(wire, root);
  visit(wire, cwd);
  visit(wire, hostname);
  visit(wire, use_stdin);
  visit_optional(wire, input, [](Wire& to, std::string& bytes) { visit_bytes(to, bytes); });
  visit(wire, limits);
  visit(wire, syscalls);
  visit_list(wire, requirements, each);
}

template <class Wire>
void visit(Wire& wire, Claim& claim) {
  std::uint32_t version = kClaimVersion;
  visit(wire, version);
  if constexpr (Wire::kReads)
    if (version != kClaimVersion) return wire.refuse();
  visit(wire, claim.tenant);
  visit(wire, claim.spec);
}

// ---- An outcome

template <class Wire>
void visit(Wire& wire, Usage& usage) {
  auto& [wall, user, system, peak, processes, read, written, output, final] = usage;
  visit(wire, wall);
  visit(wire, user);
  visit(wire, system);
  visit(wire, peak);
  visit(wire, processes);
  visit(wire, read);
  visit(wire, written);
  visit(wire, output);
  visit(wire, final);
}

// In the order of its keys, each of them once.
template <class Wire>
void visit_counts(Wire& wire, std::map<std::string, std::uint64_t>& counts) {
  std::vector<std::pair<std::string, std::uint64_t>> list(counts.begin(), counts.end());
  visit_list(wire, list, [](Wire& to, std::pair<std::string, std::uint64_t>& row) {
    visit_bytes(to, row.first);
    visit(to, row.second);
  });
  if constexpr (Wire::kReads) {
    counts.clear();
    for (auto& row : list) {
      if (!counts.empty() && row.first <= counts.rbegin()->first) return wire.refuse();
      counts.insert(std::move(row));
    }
  }
}

template <class Wire>
void visit(Wire& wire, Outcome& outcome) {
  std::uint32_t version = kOutcomeVersion;
  visit(wire, version);
  if constexpr (Wire::kReads)
    if (version != kOutcomeVersion) return wire.refuse();
  auto& [call_id, status, reason, message, hint, output, error, exit_code, truncated, limits_hit,
         refused_syscalls, artifacts, findings, usage, layers, timings] = outcome;
  visit_bytes(wire, call_id);
  visit_enum(wire, status, Status::pending);
  visit_enum(wire, reason, Reason::internal);
  for (std::string* text : {&message, &hint, &output, &error})
    visit_bytes(wire, *text);
  visit(wire, exit_code);
  visit(wire, truncated);
  visit(wire, limits_hit);
  visit_counts(wire, refused_syscalls);
  visit_list(wire, artifacts, [](Wire& to, Artifact& artifact) {
    auto& [name, size] = artifact;
    visit_bytes(to, name);
    visit(to, size);
  });
  visit_list(wire, findings, [](Wire& to, Finding& finding) {
    auto& [kind, path, why] = finding;
    for (std::string* text : {&kind, &path, &why})
      visit_bytes(to, *text);
  });
  visit(wire, usage);
  visit_list(wire, layers, [](Wire& to, Layer& layer) {
    auto& [name, value, in_force, level] = layer;
    visit_bytes(to, name);
    visit_bytes(to, value);
    visit(to, in_force);
    visit(to, level);
  });
  visit_list(wire, timings, [](Wire& to, Timing& timing) {
    auto& [step, microseconds] = timing;
    visit_bytes(to, step);
    visit(to, microseconds);
  });
}

template <class Value>
Result<std::string> write(const Value& value, std::size_t most, const char* what) {
  Writer writer(most);
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
Result<Value> read(std::string_view bytes, std::size_t most, const char* what) {
  Value value{};
  Reader reader(bytes.substr(0, most));
  visit(reader, value);
  if (reader.failed() || !reader.at_end() || bytes.size() > most)
    return fail(Reason::cannot_enforce, std::string("these bytes are not ") + what);
  return value;
}

}  // namespace

Result<std::string> encode(const Claim& claim) {
  return write(claim, kLargestClaim, "the call");
}

Result<std::string> encode(const Outcome& outcome) {
  return write(outcome, kLargestOutcome, "the outcome");
}

Result<Claim> decode_claim(std::string_view bytes) {
  return read<Claim>(bytes, kLargestClaim, "a claim");
}

Result<Outcome> decode_outcome(std::string_view bytes) {
  return read<Outcome>(bytes, kLargestOutcome, "an outcome");
}

}  // namespace sallyport
