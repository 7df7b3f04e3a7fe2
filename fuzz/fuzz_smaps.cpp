// The memory of a process as the kernel lists it is read without a crash, whatever the list says;
// file names in it are chosen by whoever made the files.
#include <cstdint>
#include <string_view>

#include "check.h"
#include "warm/memory_map.h"

using namespace sallyport;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto areas = parse_smaps(text);
  if (!areas) return 0;
  FUZZ_CHECK(areas->size() <= size);
  for (const MemoryArea& area : *areas) {
    FUZZ_CHECK(area.size > 0 && area.start + area.size > area.start);
    FUZZ_CHECK((area.protection & ~7) == 0);
    FUZZ_CHECK(area.name.find('\n') == std::string::npos);
  }
  return 0;
}
