// The program that a cell starts in place of an interpreter: takes away its own memory, puts that of
// an image in its place, and goes on where the image was taken. No library: it lies alone in low
// memory, and its own stack is taken away with the rest.
#include <asm/prctl.h>
#include <asm/unistd.h>
#include <linux/auxvec.h>
#include <linux/fcntl.h>
#include <linux/mman.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/stat.h>
#include <stddef.h>

#include "image_format.h"

static long call6(long number, unsigned long a, unsigned long b, unsigned long c, unsigned long d,
                  unsigned long e, unsigned long f) {
  long result;
  register unsigned long r10 __asm__("r10") = d;
  register unsigned long r8 __asm__("r8") = e;
  register unsigned long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

static long call3(long number, unsigned long a, unsigned long b, unsigned long c) {
  return call6(number, a, b, c, 0, 0, 0);
}

// The exit code says where, for whoever looks with strace.
__attribute__((noreturn)) static void give_up(int where) {
  for (;;) call3(__NR_exit_group, (unsigned long)where, 0, 0);
}

static void need(long result, int where) {
  if (result < 0 && result > -4096) give_up(where);
}

static const unsigned long kPage = 4096;
static const unsigned long kTop = 0x7ffffffff000UL;

// The copy of the header, in low memory.
#define HEADER ((const struct ImageHeader*)SALLYPORT_RESTORE_HEADER)

static int descriptors[SALLYPORT_MOST_FILES];

// A library that was replaced since would be mapped under pointers that mean the old one.
static int open_file(const struct ImageFile* file) {
  const long fd = call6(__NR_openat, (unsigned long)AT_FDCWD, (unsigned long)file->path,
                        O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0, 0, 0);
  need(fd, 11);
  struct statx now;
  need(call6(__NR_statx, (unsigned long)fd, (unsigned long)"", AT_EMPTY_PATH,
             STATX_INO | STATX_SIZE | STATX_CTIME, (unsigned long)&now, 0),
       12);
  const unsigned long device = ((unsigned long)now.stx_dev_major << 32) | now.stx_dev_minor;
  const unsigned long changed =
      (unsigned long)now.stx_ctime.tv_sec * 1000000000UL + now.stx_ctime.tv_nsec;
  if (device != file->device || now.stx_ino != file->inode || now.stx_size != file->size ||
      changed != file->changed_ns)
    give_up(13);
  return (int)fd;
}

static void move(unsigned long from, unsigned long size, unsigned long to) {
  need(call6(__NR_mremap, from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to, 0), 21);
}

static void move_specials(unsigned long from, unsigned long to) {
  for (unsigned long i = 0; i < HEADER->specials; ++i) {
    const struct ImageSpecial* special = &HEADER->special[i];
    move(special->start - HEADER->vdso + from, special->size, special->start - HEADER->vdso + to);
  }
}

static unsigned long find_vdso(const unsigned long* stack) {
  const unsigned long* at = stack + 1 + stack[0] + 1;
  while (*at != 0) ++at;
  for (++at; at[0] != AT_NULL; at += 2)
    if (at[0] == AT_SYSINFO_EHDR) return at[1];
  return 0;
}

// Until something is said, which is left there. All is mapped by now, and no page is its own yet.
static void doze(void) {
  struct pollfd order = {.fd = SALLYPORT_ORDER_FD, .events = POLLIN, .revents = 0};
  need(call3(__NR_write, SALLYPORT_ORDER_FD, (unsigned long)SALLYPORT_DOZES, 1), 14);
  need(call3(__NR_poll, (unsigned long)&order, 1, ~0UL), 15);
}

__attribute__((noreturn, used)) static void restore(const unsigned long* stack) {
  const unsigned long vdso = find_vdso(stack);
  const int dozes = stack[0] > 1;
  need(call6(__NR_mmap, SALLYPORT_RESTORE_HEADER, kPage, PROT_READ, MAP_PRIVATE | MAP_FIXED,
             SALLYPORT_IMAGE_FD, 0),
       1);
  const unsigned long bytes = HEADER->bytes;
  if (bytes > SALLYPORT_RESTORE_END - SALLYPORT_RESTORE_HEADER || HEADER->files > SALLYPORT_MOST_FILES)
    give_up(2);
  need(call6(__NR_mmap, SALLYPORT_RESTORE_HEADER, bytes, PROT_READ,
             MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, SALLYPORT_IMAGE_FD, 0),
       3);
  const struct ImageFile* files = (const struct ImageFile*)(HEADER + 1);
  const struct ImageSegment* segments = (const struct ImageSegment*)(files + HEADER->files);
  const struct ImageRange* ranges = (const struct ImageRange*)(segments + HEADER->segments);
  for (unsigned long i = 0; i < HEADER->files; ++i) descriptors[i] = open_file(&files[i]);

  // Twice, because the two places may overlap.
  if (HEADER->specials != 0 && vdso == 0) give_up(4);
  move_specials(vdso, SALLYPORT_RESTORE_VDSO);
  need(call3(__NR_munmap, SALLYPORT_RESTORE_END, kTop - SALLYPORT_RESTORE_END, 0), 5);
  move_specials(SALLYPORT_RESTORE_VDSO, HEADER->vdso);

  for (unsigned long i = 0; i < HEADER->segments; ++i) {
    const struct ImageSegment* segment = &segments[i];
    const int fd = segment->file == -2   ? SALLYPORT_IMAGE_FD
                   : segment->file == -1 ? -1
                                         : descriptors[segment->file];
    need(call6(__NR_mmap, segment->start, segment->size, (unsigned long)segment->protection,
               (unsigned long)segment->flags | MAP_FIXED, (unsigned long)fd, segment->offset),
         6);
  }
  for (unsigned long i = 0; i < HEADER->files; ++i)
    call3(__NR_close, (unsigned long)descriptors[i], 0, 0);
  call3(__NR_close, SALLYPORT_IMAGE_FD, 0, 0);

  if (dozes) doze();

  // One call for a run of pages costs less than a fault for each. What cannot be had is faulted in
  // as ever.
  for (unsigned long i = 0; i < HEADER->ranges; ++i)
    call3(__NR_madvise, ranges[i].start, ranges[i].size, ranges[i].advice);

  need(call3(__NR_arch_prctl, ARCH_SET_FS, HEADER->thread_pointer, 0), 7);
  need(call3(__NR_set_robust_list, HEADER->robust_list, 24, 0), 8);
  if (HEADER->restart_area != 0)
    need(call6(__NR_rseq, HEADER->restart_area, HEADER->restart_size, 0, HEADER->restart_signature, 0, 0), 9);
  call3(__NR_prctl, PR_SET_NAME, (unsigned long)HEADER->name, 0);

  // The system call that the image waits in is made again. Vector registers are nobody's there.
  const struct ImageRegisters* from = &HEADER->registers;
  __asm__ volatile(
      "mov %%rcx, %%r11\n"
      "mov 0(%%r11), %%rbx\n"
      "mov 8(%%r11), %%rbp\n"
      "mov 16(%%r11), %%r12\n"
      "mov 24(%%r11), %%r13\n"
      "mov 32(%%r11), %%r14\n"
      "mov 40(%%r11), %%r15\n"
      "mov 48(%%r11), %%rax\n"
      "mov 56(%%r11), %%rdi\n"
      "mov 64(%%r11), %%rsi\n"
      "mov 72(%%r11), %%rdx\n"
      "mov 80(%%r11), %%r10\n"
      "mov 88(%%r11), %%r8\n"
      "mov 96(%%r11), %%r9\n"
      "mov 104(%%r11), %%rsp\n"
      "jmp *112(%%r11)\n"
      :
      : "c"(from)
      : "memory");
  __builtin_unreachable();
}

static unsigned char own_stack[16384] __attribute__((aligned(16), used));

// The kernel's stack is taken away with the rest.
__asm__(
    ".globl _start\n"
    "_start:\n"
    "  mov %rsp, %rdi\n"
    "  lea own_stack+16384(%rip), %rsp\n"
    "  call restore\n");
