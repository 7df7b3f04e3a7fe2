// The file that `sallyport policy init` prints.
#pragma once

#include <string>
#include <string_view>

namespace sallyport {

// A commented policy that works as it is: two callers, a python tool, a shell tool, file tools. The
// file tools read what is in `directory`, an absolute path, and write there too; without one they
// read what every machine has, and write nothing.
[[nodiscard]] std::string starter_policy(std::string_view directory = {});

}  // namespace sallyport
