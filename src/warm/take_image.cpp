#include "warm/take_image.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/file.h"
#include "base/parse.h"
#include "warm/image_file.h"
#include "warm/memory_map.h"

namespace sallyport {
namespace {

constexpr std::uint64_t kPage = 4096;
// So many empty pages are worth an area of their own.
constexpr std::uint64_t kEmptyRun = 16;
// Below the stack as it was: from there the kernel lets it grow, as it does with any other.
constexpr std::uint64_t kStackRoom = 32 * kPage;
constexpr int kTries = 1000;
constexpr std::uint64_t kLowestHeap = std::uint64_t{1} << 40;

std::vector<std::uint64_t> list_numbers(const std::string& directory) {
  std::vector<std::uint64_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), ::closedir);
  if (!entries) return numbers;
  while (const dirent* entry = ::readdir(entries.get()))
    if (const auto number = whole_number<std::uint64_t>(entry->d_name)) numbers.push_back(*number);
  return numbers;
}

class Taking {
 public:
  Taking(pid_t process, std::string_view name, ByteSize most)
      : process_(process), proc_("/proc/" + std::to_string(process) + "/"), most_(most) {
    name.copy(image_.header.name, sizeof(image_.header.name) - 1);
  }
  ~Taking() {
    if (stopped_) ::ptrace(PTRACE_DETACH, process_, nullptr, SIGKILL);
  }
  Taking(const Taking&) = delete;
  Taking& operator=(const Taking&) = delete;

  Result<Fd> take() {
    for (auto step : {&Taking::stop, &Taking::look, &Taking::read_registers, &Taking::read_thread,
                      &Taking::lay_out})
      if (auto done = (this->*step)(); !done) return std::unexpected(std::move(done.error()));
    return write_image(std::move(image_));
  }

 private:
  Result<void> stop();
  [[nodiscard]] bool waits() const;
  Result<void> look();
  Result<void> read_registers();
  Result<void> read_thread();
  Result<void> lay_out();
  Result<void> add(const MemoryArea& area);
  Result<void> add_file(const MemoryArea& area);
  Result<void> add_pages(const MemoryArea& area, bool may_split);
  Result<void> read(std::uint64_t from, std::span<char> to);
  void add_run(const MemoryArea& area, std::uint64_t begin, std::uint64_t end, bool empty);

  pid_t process_;
  std::string proc_;
  ByteSize most_;
  bool stopped_ = false;
  user_regs_struct now_{};
  Image image_;
};

// It says that it waits a moment before it does.
Result<void> Taking::stop() {
  if (::ptrace(PTRACE_SEIZE, process_, nullptr, 0) != 0) return no_image_after("ptrace");
  for (int tries = 0; tries < kTries; ++tries) {
    if (::ptrace(PTRACE_INTERRUPT, process_, nullptr, nullptr) != 0)
      return no_image_after("ptrace");
    int status = 0;
    if (::waitpid(process_, &status, __WALL) != process_ || !WIFSTOPPED(status))
      return no_image("it has ended");
    stopped_ = true;
    if (::ptrace(PTRACE_GETREGS, process_, nullptr, &now_) != 0) return no_image_after("ptrace");
    if (waits()) return {};
    ::ptrace(PTRACE_CONT, process_, nullptr, nullptr);
    stopped_ = false;
    ::usleep(1000);
  }
  return no_image("it does not wait for its order");
}

bool Taking::waits() const {
  std::array<unsigned char, 2> instruction{};
  const iovec to{.iov_base = instruction.data(), .iov_len = instruction.size()};
  const iovec from{.iov_base = reinterpret_cast<void*>(now_.rip - 2), .iov_len = 2};
  return now_.orig_rax == SYS_read && now_.rdi == SALLYPORT_ORDER_FD &&
         ::process_vm_readv(process_, &to, 1, &from, 1, 0) == 2 &&
         instruction == std::array<unsigned char, 2>{0x0f, 0x05};
}

// What an image cannot hold: a restored process would believe to have it.
Result<void> Taking::look() {
  if (list_numbers(proc_ + "task").size() != 1) return no_image("it has threads");
  const auto descriptors = list_numbers(proc_ + "fd");
  const auto other = std::ranges::find_if(
      descriptors, [](std::uint64_t number) { return number > SALLYPORT_IMAGE_FD; });
  if (descriptors.empty()) return no_image("its descriptors cannot be listed");
  if (other != descriptors.end())
    return no_image("it keeps a descriptor open (" + std::to_string(*other) + ")");
  return {};
}

Result<void> Taking::read_registers() {
  image_.header.registers = {.rbx = now_.rbx,
                             .rbp = now_.rbp,
                             .r12 = now_.r12,
                             .r13 = now_.r13,
                             .r14 = now_.r14,
                             .r15 = now_.r15,
                             .rax = SYS_read,
                             .rdi = now_.rdi,
                             .rsi = now_.rsi,
                             .rdx = now_.rdx,
                             .r10 = now_.r10,
                             .r8 = now_.r8,
                             .r9 = now_.r9,
                             .rsp = now_.rsp,
                             .rip = now_.rip - 2};
  image_.header.thread_pointer = now_.fs_base;
  return {};
}

// What the kernel keeps for a thread at addresses of its choice.
Result<void> Taking::read_thread() {
  void* head = nullptr;
  std::size_t size = 0;
  if (::syscall(SYS_get_robust_list, process_, &head, &size) != 0)
    return no_image_after("get_robust_list");
  image_.header.robust_list = reinterpret_cast<std::uint64_t>(head);
  struct {
    std::uint64_t area;
    std::uint32_t size, signature, flags, unused;
  } rseq{};
  constexpr int kGetRseq = 0x420f;  // PTRACE_GET_RSEQ_CONFIGURATION, Linux 5.13
  if (::ptrace(static_cast<__ptrace_request>(kGetRseq), process_, sizeof(rseq), &rseq) > 0) {
    image_.header.restart_area = rseq.area;
    image_.header.restart_size = rseq.size;
    image_.header.restart_signature = rseq.signature;
  }
  return {};
}

Result<void> Taking::lay_out() {
  const auto areas = parse_smaps(read_file((proc_ + "smaps").c_str()).value_or("?"));
  if (!areas) return no_image("its memory cannot be listed");
  for (const MemoryArea& area : *areas)
    if (auto added = add(area); !added) return added;
  if (image_.header.vdso == 0 && image_.header.specials != 0) return no_image("it has no vdso");
  return {};
}

Result<void> Taking::add(const MemoryArea& area) {
  if (area.name == "[vsyscall]") return {};
  if (area.start < SALLYPORT_RESTORE_END) return no_image("it lies too low in memory");
  if (area.name == "[vdso]") image_.header.vdso = area.start;
  if (area.name == "[vdso]" || area.name.starts_with("[vvar")) {
    if (image_.header.specials == std::size(image_.header.special))
      return no_image("too many areas");
    image_.header.special[image_.header.specials++] = {.start = area.start, .size = area.size};
    return {};
  }
  if (area.shared && (area.inode == 0 || (area.protection & PROT_WRITE) != 0))
    return no_image("it shares memory (" + area.name + ")");
  // Memory for a heap is taken from where the kernel has put it, and a restored process has another
  // place: as long as this one is far above it, asking for more there fails as it should.
  if (area.name == "[heap]" && area.start < kLowestHeap)
    return no_image("its heap lies too low in memory");
  if (area.name == "[stack]")
    image_.segments.push_back({.start = area.start - kStackRoom,
                               .size = kStackRoom,
                               .offset = 0,
                               .protection = area.protection,
                               .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN,
                               .file = -1,
                               .unused = 0});
  if (area.inode != 0 && !area.changed) return add_file(area);
  if ((area.protection & PROT_READ) == 0 || (area.inode == 0 && !area.changed)) {
    add_run(area, 0, area.size, true);
    return {};
  }
  return add_pages(area, area.inode == 0 && area.name != "[stack]");
}

Result<void> Taking::add_file(const MemoryArea& area) {
  // As the cell names it, through the process's own root.
  struct stat status{};
  if (!area.name.starts_with('/') || area.name.size() >= SALLYPORT_FILE_NAME ||
      ::stat((proc_ + "root" + area.name).c_str(), &status) != 0 || status.st_ino != area.inode)
    return no_image("a file that it has mapped is not there (" + area.name + ")");
  const auto known = std::ranges::find_if(
      image_.files, [&](const ImageFile& file) { return area.name == file.path; });
  const auto index = static_cast<std::int32_t>(known - image_.files.begin());
  if (known == image_.files.end()) {
    if (image_.files.size() == SALLYPORT_MOST_FILES)
      return no_image("it has mapped too many files");
    ImageFile file = identify(status);
    area.name.copy(file.path, sizeof(file.path) - 1);
    image_.files.push_back(file);
  }
  image_.segments.push_back({.start = area.start,
                             .size = area.size,
                             .offset = area.offset,
                             .protection = area.protection,
                             .flags = area.shared ? MAP_SHARED : MAP_PRIVATE,
                             .file = index,
                             .unused = 0});
  return {};
}

Result<void> Taking::read(std::uint64_t from, std::span<char> to) {
  const iovec here{.iov_base = to.data(), .iov_len = to.size()};
  const iovec there{.iov_base = reinterpret_cast<void*>(from), .iov_len = to.size()};
  if (::process_vm_readv(process_, &here, 1, &there, 1, 0) != static_cast<ssize_t>(to.size()))
    return no_image_after("process_vm_readv");
  return {};
}

// Long runs of empty pages become memory without a file, so that writing to them copies nothing.
Result<void> Taking::add_pages(const MemoryArea& area, bool may_split) {
  if (image_.pages.size() + area.size > most_.bytes)
    return no_image("it has more than " + to_text(most_) + " of memory");
  std::string content(area.size, '\0');
  if (auto done = read(area.start, content); !done) return done;
  const std::uint64_t count = area.size / kPage;
  const auto is_empty = [&](std::uint64_t page) {
    const std::string_view bytes = std::string_view(content).substr(page * kPage, kPage);
    return bytes.find_first_not_of('\0') == std::string_view::npos;
  };
  std::uint64_t begin = 0;  // of the run that is kept
  for (std::uint64_t page = 0; may_split && page < count;) {
    std::uint64_t end = page;
    while (end < count && is_empty(end))
      ++end;
    if (end - page >= kEmptyRun) {
      add_run(area, begin * kPage, page * kPage, false);
      image_.pages.append(content, begin * kPage, (page - begin) * kPage);
      add_run(area, page * kPage, end * kPage, true);
      begin = end;
    }
    page = end + 1;
  }
  add_run(area, begin * kPage, area.size, false);
  image_.pages.append(content, begin * kPage);
  return {};
}

void Taking::add_run(const MemoryArea& area, std::uint64_t begin, std::uint64_t end, bool empty) {
  if (begin == end) return;
  image_.segments.push_back(
      {.start = area.start + begin,
       .size = end - begin,
       .offset = empty ? 0 : image_.pages.size(),
       .protection = area.protection,
       .flags = empty ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_PRIVATE,
       .file = empty ? -1 : -2,
       .unused = 0});
}

}  // namespace

Result<Fd> take_image(pid_t process, std::string_view name, ByteSize most) {
  return Taking(process, name, most).take();
}

}  // namespace sallyport
