// `sallyport sql`: makes and checks what the sql tool needs at a database server.
#pragma once

#include <span>

namespace sallyport {

[[nodiscard]] int sql_command(std::span<const char* const> words);

}  // namespace sallyport
