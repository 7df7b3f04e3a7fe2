// A promise that a fuzzer holds the code to. It stays on in every build, unlike assert.
#pragma once

#define FUZZ_CHECK(promise) ((promise) ? void() : __builtin_trap())
