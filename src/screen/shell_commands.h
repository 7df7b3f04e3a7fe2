// Programs that a shell script starts, as far as their names tell what they do.
#pragma once

#include <string_view>

#include "screen/report.h"

namespace sallyport {

// What a program does by itself; null for one that is not known to do harm.
[[nodiscard]] const ScreenKind* shell_command_kind(std::string_view name);

// What a variable makes programs do; null for one that does nothing of the kind.
[[nodiscard]] const ScreenKind* shell_variable_kind(std::string_view name);

[[nodiscard]] bool is_shell(std::string_view name);

// Whether the first word of its own that is no option, assignment or number is another program.
[[nodiscard]] bool is_wrapper(std::string_view name);

// Of a wrapper: the next word belongs to the option.
[[nodiscard]] bool option_takes_word(std::string_view option);

// Whether its words are not names of files.
[[nodiscard]] bool only_prints(std::string_view name);

[[nodiscard]] bool git_reaches_far(std::string_view command);
[[nodiscard]] bool git_changes_files(std::string_view command);

}  // namespace sallyport
