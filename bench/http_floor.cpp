#include "http_floor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sallyport {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kSize = std::size_t{4}
                              << 20;  // of the file, which is written round and round

// What has come to a thread of the server with the requests that it handles now.
thread_local std::vector<Responder> in_hand;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

}  // namespace

// The quickest way to a disk that there is: blocks that have been written before, so that nothing
// of the file system changes, and past the page cache.
DurableConstant::DurableConstant(const std::filesystem::path& file, std::size_t record,
                                 std::string body)
    : record_(record), body_(std::move(body)) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_DSYNC;
  file_ = Fd(::open(file.c_str(), kFlags | O_DIRECT, 0600));
  if (!file_) file_ = Fd(::open(file.c_str(), kFlags, 0600));
  blocks_ = static_cast<char*>(std::aligned_alloc(kBlock, kSize));
  if (!file_ || blocks_ == nullptr) give_up(file.c_str());
  std::memset(blocks_, 'x', kSize);
  if (::pwrite(file_.get(), blocks_, kSize, 0) != static_cast<ssize_t>(kSize) ||
      ::fsync(file_.get()) != 0)
    give_up(file.c_str());
  writer_ = std::thread([this] { write(); });
}

DurableConstant::~DurableConstant() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wake_.notify_one();
  writer_.join();
  std::free(blocks_);
}

void DurableConstant::answer(Responder responder) {
  in_hand.push_back(std::move(responder));
  if (in_hand.size() > 1) return;
  after_these_requests([this] {
    std::vector<Responder> all = std::exchange(in_hand, {});
    std::unique_lock lock(mutex_);
    for (Responder& each : all)
      arrived_.push_back(std::move(each));
    const bool wakes = std::exchange(sleeps_, false);
    lock.unlock();
    if (wakes) wake_.notify_one();
  });
}

// One thread for all connections: the second records of those that are under way go with the first
// ones of those that came meanwhile. Two that write at the same time, and one that waits for more
// to come before it writes, were both measured to be slower.
void DurableConstant::write() {
  std::vector<Responder> begun;
  std::unique_lock lock(mutex_);
  while (true) {
    if (begun.empty() && arrived_.empty()) {
      if (ends_) return;
      sleeps_ = true;
      wake_.wait(lock, [this] { return ends_ || !arrived_.empty(); });
      sleeps_ = false;
    }
    std::vector<Responder> next = std::exchange(arrived_, {});
    lock.unlock();
    force(begun.size() + next.size());
    {
      const AnswersTogether at_once;
      for (Responder& each : begun)
        each.send({.body = body_});
    }
    begun = std::move(next);
    lock.lock();
  }
}

void DurableConstant::force(std::size_t records) {
  const std::size_t size = (records * record_ + kBlock - 1) / kBlock * kBlock;
  if (size > kSize - at_) at_ = 0;
  if (::pwrite(file_.get(), blocks_, size, static_cast<off_t>(at_)) != static_cast<ssize_t>(size))
    give_up("the floor's file");
  at_ += size;
}

}  // namespace sallyport
