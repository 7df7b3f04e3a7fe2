#include "quick_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace sallyport {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kSize = std::size_t{4} << 20;  // which is written round and round

void must(bool done, const char* what) {
  if (done) return;
  std::perror(what);
  std::exit(1);
}

}  // namespace

QuickLog::QuickLog(const std::string& path)
    : blocks_(static_cast<char*>(std::aligned_alloc(kBlock, kSize))) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_DSYNC;
  file_ = Fd(::open(path.c_str(), kFlags | O_DIRECT, 0600));
  if (!file_) file_ = Fd(::open(path.c_str(), kFlags, 0600));
  must(file_ && blocks_, path.c_str());
  std::memset(blocks_.get(), 'x', kSize);
  must(::pwrite(file_.get(), blocks_.get(), kSize, 0) == static_cast<ssize_t>(kSize) &&
           ::fsync(file_.get()) == 0,
       path.c_str());
}

void QuickLog::force(std::size_t bytes) {
  const std::size_t size = (bytes + kBlock - 1) / kBlock * kBlock;
  must(size <= kSize, "too much for the floor's file");
  if (size > kSize - at_) at_ = 0;
  must(::pwrite(file_.get(), blocks_.get(), size, static_cast<off_t>(at_)) ==
           static_cast<ssize_t>(size),
       "the floor's file");
  at_ += size;
}

}  // namespace sallyport
