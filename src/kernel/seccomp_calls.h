// The numbers of the x86-64 system calls as constants: call::openat. Generated from the system's
// headers, with the calls that are newer than those (cmake/syscall_names.cmake).
#pragma once

#include <cstdint>

namespace sallyport::call {

enum Number : std::uint16_t {
#define SALLYPORT_CALL(name, number) name = (number),
#include "syscall_names.inc"
#undef SALLYPORT_CALL
};

}  // namespace sallyport::call
