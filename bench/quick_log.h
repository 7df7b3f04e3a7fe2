// The quickest way of bytes to a disk that we know: blocks that have been written before, so that
// nothing of the file system changes, and past the page cache. For floors: it keeps nothing.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/fd.h"

namespace sallyport {

class QuickLog {
 public:
  // Ends the program where there can be none.
  explicit QuickLog(const std::string& path);
  // So many bytes are on the disk when this returns.
  void force(std::size_t bytes);

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  Fd file_;
  std::unique_ptr<char, Free> blocks_;
  std::size_t at_ = 0;
};

}  // namespace sallyport
