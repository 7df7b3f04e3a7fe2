#include "warm/programs.h"

#include <cstddef>

namespace sallyport {
namespace {

// Embedded by the compiler, which lists them among what the object file depends on.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr unsigned char kRestore[] = {
#embed SALLYPORT_RESTORE
};
constexpr unsigned char kPython[] = {
#embed "python.py"
};
constexpr unsigned char kNode[] = {
#embed "node.js"
};
#pragma clang diagnostic pop

template <std::size_t Size>
std::string_view text_of(const unsigned char (&bytes)[Size]) {
  return {reinterpret_cast<const char*>(bytes), Size};
}

}  // namespace

std::string_view restore_program() {
  return text_of(kRestore);
}

std::string_view python_program() {
  return text_of(kPython);
}

std::string_view node_program() {
  return text_of(kNode);
}

}  // namespace sallyport
