#include "parse_memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// The AddressSanitizer sees every block as one of its own; the words before them are no one's.
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#endif
#define UNWATCHED __attribute__((no_sanitize("address")))

// A block has its kind in front of it; kinds are multiples of the grain up to kSmall, and powers
// of two above. Sizes here count that word.
enum { kGrain = 16, kSmall = 512, kSmallKinds = kSmall / kGrain, kKinds = kSmallKinds + 40 };
enum { kPlain = kKinds };  // of a block of malloc()
// Pieces grow from the first size to the last. The large ones ask for huge pages: to have thousands
// of small ones made costs a fifth of a parse.
static const size_t kFirstPiece = 64 << 10, kLastPiece = 4 << 20, kHugePage = 2 << 20;

typedef struct Word {
  uint64_t kind;
} Word;

typedef struct Spare {
  struct Spare* next;
} Spare;

typedef struct Piece {
  struct Piece* next;
  size_t size;
} Piece;

typedef struct {
  Spare* spare[kKinds];  // freed blocks by their kind
  char *at, *end;        // what is left of the newest piece
  Piece* pieces;         // the newest first; in the oldest lies all of this
} Memory;

static _Thread_local Memory* g_memory;

// Pieces for the next parse, of all threads: to have new ones made costs as much as a tenth of a
// long one, and more of a short one. What is in their huge pages the kernel may take back.
static const size_t kMostSpare = 32 << 20;
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static Piece* g_spare;
static size_t g_spare_bytes;

static inline unsigned kind_of(size_t bytes) {
  if (bytes <= kSmall) return (unsigned)((bytes + kGrain - 1) / kGrain);
  return kSmallKinds + (unsigned)(64 - __builtin_clzll(bytes - 1)) - 9;
}

static inline size_t bytes_of(unsigned kind) {
  return kind <= kSmallKinds ? (size_t)kind * kGrain : (size_t)512 << (kind - kSmallKinds);
}

static Piece* take_spare(size_t size) {
  pthread_mutex_lock(&g_lock);
  Piece** at = &g_spare;
  while (*at != NULL && (*at)->size != size)
    at = &(*at)->next;
  Piece* const piece = *at;
  if (piece != NULL) {
    *at = piece->next;
    g_spare_bytes -= size;
  }
  pthread_mutex_unlock(&g_lock);
  return piece;
}

static void give_back(Piece* piece) {
  const size_t size = piece->size;
  ASAN_UNPOISON_MEMORY_REGION(piece, size);
  bool keep = size <= kLastPiece;
  if (keep) {
    // Whole huge pages, so that none is split; the first has the words of the piece.
    const uintptr_t begin = ((uintptr_t)piece / kHugePage + 1) * kHugePage;
    const uintptr_t end = ((uintptr_t)piece + size) / kHugePage * kHugePage;
    if (begin < end) (void)madvise((void*)begin, end - begin, MADV_FREE);
    pthread_mutex_lock(&g_lock);
    keep = g_spare_bytes + size <= kMostSpare;
    if (keep) {
      g_spare_bytes += size;
      piece->next = g_spare;
      g_spare = piece;
    }
    pthread_mutex_unlock(&g_lock);
  }
  if (!keep) (void)munmap(piece, size);
}

static Piece* new_piece(size_t size) {
  Piece* const spare = take_spare(size);
  if (spare != NULL) {
    spare->next = NULL;
    return spare;
  }
  Piece* const piece = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (piece == MAP_FAILED) abort();
  if (size >= kHugePage) (void)madvise(piece, size, MADV_HUGEPAGE);
  *piece = (Piece){.next = NULL, .size = size};
  return piece;
}

// What follows `used` bytes of a piece is for blocks, whose words stand before a multiple of 16.
static void cut_from(Memory* memory, Piece* piece, size_t used) {
  memory->at = (char*)piece + (used + kGrain - 1) / kGrain * kGrain + kGrain - sizeof(Word);
  memory->end = (char*)piece + piece->size;
  ASAN_POISON_MEMORY_REGION(memory->at, (size_t)(memory->end - memory->at));
}

__attribute__((noinline)) static void add_piece(Memory* memory, size_t bytes) {
  size_t size = 2 * memory->pieces->size;
  if (size > kLastPiece) size = kLastPiece;
  while (size < bytes + sizeof(Piece) + 2 * kGrain)
    size *= 2;
  Piece* const piece = new_piece(size);
  piece->next = memory->pieces;
  memory->pieces = piece;
  cut_from(memory, piece, sizeof(Piece));
}

UNWATCHED static void* plain_block(size_t bytes) {
  // Two words, so that the block is at a multiple of 16 here as well.
  Word* const words = malloc(bytes + sizeof(Word));
  if (words == NULL) abort();
  words[1].kind = kPlain;
  return words + 2;
}

UNWATCHED void* parse_malloc(size_t size) {
  if (size > SIZE_MAX / 4) abort();
  const size_t bytes = size + sizeof(Word);
  Memory* const memory = g_memory;
  if (memory == NULL) return plain_block(bytes);
  const unsigned kind = kind_of(bytes);
  Spare* const spare = memory->spare[kind];
  if (spare != NULL) {
    memory->spare[kind] = spare->next;
    ASAN_UNPOISON_MEMORY_REGION(spare, size);
    return spare;
  }
  const size_t room = bytes_of(kind);
  if ((size_t)(memory->end - memory->at) < room) add_piece(memory, room);
  Word* const word = (Word*)memory->at;
  memory->at += room;
  word->kind = kind;
  ASAN_UNPOISON_MEMORY_REGION(word + 1, size);
  return word + 1;
}

void* parse_calloc(size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) abort();
  return memset(parse_malloc(bytes), 0, bytes);
}

UNWATCHED void parse_free(void* block) {
  if (block == NULL) return;
  Word* const word = (Word*)block - 1;
  if (word->kind == kPlain) {
    free(word - 1);
    return;
  }
  Spare* const spare = block;
  spare->next = g_memory->spare[word->kind];
  g_memory->spare[word->kind] = spare;
  ASAN_POISON_MEMORY_REGION(block, bytes_of((unsigned)word->kind) - sizeof(Word));
}

UNWATCHED void* parse_realloc(void* block, size_t size) {
  if (block == NULL) return parse_malloc(size);
  Word* const word = (Word*)block - 1;
  if (word->kind == kPlain) {
    Word* const words = realloc(word - 1, size + 2 * sizeof(Word));
    if (words == NULL) abort();
    return words + 2;
  }
  const size_t had = bytes_of((unsigned)word->kind) - sizeof(Word);
  ASAN_UNPOISON_MEMORY_REGION(block, size < had ? size : had);
  if (size <= had) return block;
  void* const larger = parse_malloc(size);
  memcpy(larger, block, had);
  parse_free(block);
  return larger;
}

void parse_memory_begin(void) {
  Piece* const piece = new_piece(kFirstPiece);
  Memory* const memory = (Memory*)(piece + 1);
  *memory = (Memory){0};
  memory->pieces = piece;
  cut_from(memory, piece, sizeof(Piece) + sizeof(Memory));
  g_memory = memory;
}

void parse_memory_end(void) {
  Piece* piece = g_memory->pieces;
  g_memory = NULL;
  while (piece != NULL) {
    Piece* const next = piece->next;
    give_back(piece);
    piece = next;
  }
}
