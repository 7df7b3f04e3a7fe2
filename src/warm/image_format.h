// The image of an interpreter: what its process had in memory while it waited, so that any number
// of processes can go on from there. Written by take_image(), read by restore.c in a cell; both are
// of one build and run on one machine, so it has no version and no byte order.
//
// It lies in a memory file: the header, the files, the segments, the ranges, then pages. Restored
// processes map the pages privately, so what they do not write to exists once, however many there
// are.
#ifndef SALLYPORT_WARM_IMAGE_FORMAT_H
#define SALLYPORT_WARM_IMAGE_FORMAT_H

#include <stdint.h>

// The descriptors of a restored interpreter: where its order comes from, and the image itself.
#define SALLYPORT_ORDER_FD 3
#define SALLYPORT_IMAGE_FD 4

// Said over the first by a copy that is started with a word, whatever it is: it is mapped, and
// waits for any byte before it takes memory for itself and goes on.
#define SALLYPORT_DOZES "D"

// restore.c lies below, and so does what it needs while everything else is taken away. Programs
// begin at 4 MiB or far above it.
#define SALLYPORT_RESTORE_TEXT 0x10000UL
#define SALLYPORT_RESTORE_VDSO 0x80000UL  // with room for what the kernel maps below it
#define SALLYPORT_RESTORE_HEADER 0x100000UL
#define SALLYPORT_RESTORE_END 0x380000UL

#define SALLYPORT_MOST_FILES 1024
#define SALLYPORT_FILE_NAME 256

struct ImageRegisters {
  // In the order in which restore.c loads them.
  uint64_t rbx, rbp, r12, r13, r14, r15, rax, rdi, rsi, rdx, r10, r8, r9, rsp, rip;
};

struct ImageFile {
  char path[SALLYPORT_FILE_NAME];
  uint64_t device, inode, size, changed_ns;  // another one by now: the image is of no use
};

struct ImageSegment {
  uint64_t start, size, offset;
  int32_t protection;
  int32_t flags;  // of mmap, without MAP_FIXED
  int32_t file;   // -1: none, -2: the image, otherwise an index
  int32_t unused;
};

struct ImageRange {
  uint64_t start, size;
  uint64_t advice;  // of madvise: the pages are wanted from the start, to be written or to be read
};

struct ImageSpecial {
  uint64_t start, size;  // vdso and vvar: the kernel's own, which cannot be copied
};

struct ImageHeader {
  uint64_t bytes;  // of header, files, segments and ranges
  uint64_t files, segments, ranges, specials;
  uint64_t vdso;  // where the first byte of the vdso is expected
  struct ImageSpecial special[8];
  struct ImageRegisters registers;
  uint64_t thread_pointer, robust_list, restart_area, restart_size, restart_signature;
  char name[16];  // of the process
};

#endif
