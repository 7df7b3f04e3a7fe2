#include "cell/process_memory.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/parse.h"

namespace sallyport {
namespace {

constexpr std::uintptr_t kPage = 4096;
// What a thread's own block may take up behind its pointer.
constexpr std::uintptr_t kThreadBlock = 2 * kPage;
constexpr std::uintptr_t kStackBelow = 64 * kPage;
constexpr std::uintptr_t kLargestStack = std::uintptr_t{8} << 20;

std::uintptr_t next_page(std::uintptr_t address) {
  return (address + kPage - 1) / kPage * kPage;
}

Sys<ProcessMemory> look() {
  const std::string stat = read_file("/proc/self/stat").value_or("");
  std::string_view rest = stat;
  rest.remove_prefix(std::min(rest.rfind(')'), rest.size()));
  take(rest, ' ');
  // Fields by their numbers in proc(5); the first behind the name is 3.
  constexpr int kFirst = 3, kStackStart = 28, kHeapStart = 47, kArgumentsStart = 48,
                kEnvironmentEnd = 51;
  std::array<std::uintptr_t, kEnvironmentEnd + 1> fields{};
  for (std::size_t field = kFirst; field < fields.size(); ++field)
    fields[field] = whole_number<std::uintptr_t>(take(rest, ' ')).value_or(0);
  ProcessMemory memory;
  memory.is_static = ::getauxval(AT_BASE) == 0;
  memory.heap = reinterpret_cast<char*>(fields[kHeapStart]);
  memory.stack = reinterpret_cast<char*>(fields[kStackStart]);
  memory.text = reinterpret_cast<char*>(fields[kArgumentsStart]);
  memory.text_size = fields[kEnvironmentEnd] - fields[kArgumentsStart];
  if (memory.text == nullptr || memory.heap == nullptr || memory.stack == nullptr ||
      fields[kEnvironmentEnd] <= fields[kArgumentsStart])
    return sys_fail("read", "/proc/self/stat", EIO);
  return memory;
}

}  // namespace

Sys<ProcessMemory> own_process_memory() {
  static const Sys<ProcessMemory> memory = look();
  return memory ? memory : look();
}

void hide_text(const ProcessMemory& memory, const char* name, std::size_t name_size) {
  if (memory.text_size <= name_size) return;
  std::memset(memory.text, 0, memory.text_size);
  std::memcpy(memory.text, name, name_size);
}

Sys<void> drop_heap(ProcessMemory memory) {
  if (!memory.is_static) return {};
  const auto end = next_page(reinterpret_cast<std::uintptr_t>(::sbrk(0)));
  auto begin = next_page(reinterpret_cast<std::uintptr_t>(memory.heap));
  // A static program has the block of its first thread there, before everything else.
  const auto thread = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  if (thread >= begin - kPage && thread < end) begin = next_page(thread + kThreadBlock);
  if (begin < end && ::munmap(reinterpret_cast<void*>(begin), end - begin) != 0)
    return sys_fail("munmap", "heap");
  // Below this frame lies what earlier calls have left. Below the stack of the first thread the
  // kernel keeps a gap, so that nothing else can be meant; of other threads' that is not known.
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) / kPage * kPage;
  const auto top = reinterpret_cast<std::uintptr_t>(memory.stack);
  if (here <= top && top - here < kLargestStack)
    (void)::madvise(reinterpret_cast<void*>(here - kStackBelow), kStackBelow - kPage,
                    MADV_DONTNEED);
  return {};
}

}  // namespace sallyport
