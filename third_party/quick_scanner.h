// Included in front of the scanner.c of each grammar: its memory, and what kind of letter an ASCII
// character is without a call of the C library, which asks for the locale first. The locale changes
// nothing about ASCII.
#pragma once

#include <wctype.h>

#include "parse_memory.h"

static inline int quick_iswspace(wint_t character) {
  if (character >= 0x80) return iswspace(character);
  return character == ' ' || (character >= '\t' && character <= '\r');
}
static inline int quick_iswdigit(wint_t character) {
  return character >= '0' && character <= '9';  // there are no others, by the standard
}
static inline int quick_iswalpha(wint_t character) {
  if (character >= 0x80) return iswalpha(character);
  return (character | 0x20) >= 'a' && (character | 0x20) <= 'z';
}
static inline int quick_iswalnum(wint_t character) {
  if (character >= 0x80) return iswalnum(character);
  return quick_iswdigit(character) || quick_iswalpha(character);
}
#define iswspace quick_iswspace
#define iswdigit quick_iswdigit
#define iswalpha quick_iswalpha
#define iswalnum quick_iswalnum
