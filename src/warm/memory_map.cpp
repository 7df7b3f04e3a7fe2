#include "warm/memory_map.h"

#include <sys/mman.h>

#include <charconv>

#include "base/parse.h"

namespace sallyport {
namespace {

std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return take(line, ' ');
}

// "7f0c4a600000-7f0c4a622000 r--p 00000000 08:01 1055 /usr/lib/libc.so.6"
std::optional<MemoryArea> parse_head(std::string_view line) {
  MemoryArea area;
  std::string_view range = next_word(line);
  const auto start = number(take(range, '-'), 16), end = number(range, 16);
  const std::string_view rights = next_word(line);
  const auto offset = number(next_word(line), 16);
  (void)next_word(line);  // the device, of which stat() tells the same
  const auto inode = number(next_word(line), 10);
  if (!start || !end || *end <= *start || !offset || !inode || rights.size() != 4)
    return std::nullopt;
  area.start = *start;
  area.size = *end - *start;
  area.offset = *offset;
  area.inode = *inode;
  area.protection = (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) |
                    (rights[2] == 'x' ? PROT_EXEC : 0);
  area.shared = rights[3] == 's';
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  area.name = line;
  return area;
}

// "Anonymous:             8 kB" is a property; every other line begins with an area.
bool is_property(std::string_view line) {
  const std::size_t end = line.find_first_of(": ");
  return end != std::string_view::npos && line[end] == ':' && line[0] >= 'A' && line[0] <= 'Z';
}

}  // namespace

std::optional<std::vector<MemoryArea>> parse_smaps(std::string_view text) {
  std::vector<MemoryArea> areas;
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    if (line.empty()) continue;
    if (!is_property(line)) {
      auto area = parse_head(line);
      if (!area) return std::nullopt;
      areas.push_back(std::move(*area));
    } else if (line.starts_with("Anonymous:")) {
      line.remove_prefix(std::string_view("Anonymous:").size());
      const auto size = number(next_word(line), 10);
      if (!size || areas.empty()) return std::nullopt;
      areas.back().changed = *size != 0;
    }
  }
  return areas;
}

}  // namespace sallyport
