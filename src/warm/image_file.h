// An image as a value, and as the sealed memory file that cells get.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "warm/image_format.h"

namespace sallyport {

struct Image {
  ImageHeader header{};  // its counts are those of the file; write_image() sets them
  std::vector<ImageFile> files;
  std::vector<ImageSegment> segments;  // offsets are relative to the first of the pages
  std::vector<ImageRange> ranges;
  std::string pages;
};

// Why there is no image, as an error for whoever asked for one.
[[nodiscard]] std::unexpected<Error> no_image(std::string message);
[[nodiscard]] std::unexpected<Error> no_image_after(const char* call);

// What a file is known by; its path is left empty.
[[nodiscard]] ImageFile identify(const struct stat& status);

// Whether there was as much as that.
[[nodiscard]] bool read_whole(int file, std::uint64_t from, void* to, std::size_t size);

// An error: it has too many areas, or there is no memory for it.
[[nodiscard]] Result<Fd> write_image(Image image);

// Of a file that write_image() has made.
[[nodiscard]] Result<Image> read_image(int file);

}  // namespace sallyport
