#include "kernel/program_constants.h"

#include <link.h>
#include <sys/mman.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/parse.h"
#include "kernel/memory_file.h"

namespace sallyport {
namespace {

constexpr std::uintptr_t kPage = 4096;

struct Pages {
  std::uintptr_t begin = 0, end = 0;
};

// Of the first object that there is, which is the program.
int note_constants(dl_phdr_info* object, std::size_t, void* place) {
  for (const ElfW(Phdr) & part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (part.p_type != PT_GNU_RELRO) continue;
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    *static_cast<Pages*>(place) = {.begin = (begin + kPage - 1) / kPage * kPage,
                                   .end = (begin + part.p_memsz) / kPage * kPage};
  }
  return 1;
}

std::uintptr_t address(std::string_view text) {
  std::uintptr_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return number;
}

bool is_read_only(const Pages& pages) {
  const std::string maps = read_file("/proc/self/maps").value_or("");
  for (std::string_view rest = maps; !rest.empty();) {
    std::string_view line = take(rest, '\n');
    const std::uintptr_t begin = address(take(line, '-'));
    const std::uintptr_t end = address(take(line, ' '));
    if (begin <= pages.begin && pages.end <= end) return line.starts_with("r--p");
  }
  return false;
}

}  // namespace

std::span<const char> program_constants() {
  Pages pages;
  ::dl_iterate_phdr(note_constants, &pages);
  if (pages.begin >= pages.end || !is_read_only(pages)) return {};
  return {reinterpret_cast<const char*>(pages.begin), pages.end - pages.begin};
}

Sys<void> share_program_constants() {
  const std::span<const char> constants = program_constants();
  if (constants.empty()) return sys_fail("dl_iterate_phdr", "constants", ENOENT);
  const auto file = make_memory_file({constants.data(), constants.size()});
  if (!file) return std::unexpected(file.error());
  // In one call: there is no moment in which nothing is there.
  if (::mmap(const_cast<char*>(constants.data()), constants.size(), PROT_READ,
             MAP_PRIVATE | MAP_FIXED, file->get(), 0) == MAP_FAILED)
    return sys_fail("mmap", "constants");
  return {};
}

}  // namespace sallyport
