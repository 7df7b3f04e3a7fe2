#include "kernel/seccomp_names.h"

#include <linux/audit.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace sallyport {

namespace {

constexpr std::uint32_t kX32Bit = 0x4000'0000;

struct NamedCall {
  std::size_t number;
  std::string_view name;
};

constexpr NamedCall kTable[] = {
#define SALLYPORT_CALL(name, number) {number, #name},
#include "syscall_names.inc"
#undef SALLYPORT_CALL
};

constexpr std::size_t kLast = std::ranges::max(kTable, {}, &NamedCall::number).number;

constexpr auto kNames = [] {
  std::array<std::string_view, kLast + 1> names;
  for (const NamedCall& call : kTable)
    names[call.number] = call.name;
  return names;
}();

}  // namespace

std::span<const std::string_view> call_names() {
  return kNames;
}

std::string name_of_call(const seccomp_data& call) {
  const auto number = static_cast<std::uint32_t>(call.nr);
  if (call.arch != AUDIT_ARCH_X86_64) return "i386 syscall " + std::to_string(number);
  if ((number & kX32Bit) != 0) return "x32 syscall " + std::to_string(number ^ kX32Bit);
  if (number <= kLast && !kNames[number].empty()) return std::string(kNames[number]);
  return "syscall " + std::to_string(number);
}

}  // namespace sallyport
