// What code would do, read from its syntax tree before it runs: the first door, never the wall.
// Code that hides well enough passes; the cell has to hold without it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sallyport {

enum class Language { python, javascript, shell };

// X(name, what the code does, what would be allowed). The names are those of `screen` in a policy.
#define SALLYPORT_SCREEN_CATEGORIES(X)                                                            \
  X(process, "starts or signals other processes", "do the work in this program")                  \
  X(os_command, "runs an operating system command",                                               \
    "do the work in the language itself, or use a tool that runs commands")                       \
  X(file_system, "changes, moves or removes files or directories",                                \
    "read files, and print or return what should be kept")                                        \
  X(file_write, "writes a file", "print or return the result")                                    \
  X(socket, "opens network connections", "work on the data that the call was given")              \
  X(http, "makes web requests", "work on the data that the call was given, or use an http tool")  \
  X(dynamic_import, "loads modules by computed names", "write a plain import statement")          \
  X(dynamic_code, "runs text as code", "write the code out, or parse the data as data")           \
  X(system_path, "names a file of the system", "use files of the workspace or of the data given") \
  X(native_code, "calls native code past the interpreter", "use the libraries of the language")   \
  X(deserialisation, "reads data in a format that can run code",                                  \
    "use JSON, CSV or another format that is only data")                                          \
  X(reflection, "reaches into the interpreter, which can hide any of the others",                 \
    "name what is used")                                                                          \
  X(dynamic, "decides only when it runs what it uses", "name functions, modes and commands plainly")

struct ScreenCategory {
  std::string_view name, what, allowed;
};

inline constexpr ScreenCategory kScreenCategories[] = {
#define SALLYPORT_SCREEN_ROW(name, what, allowed) {#name, what, allowed},
    SALLYPORT_SCREEN_CATEGORIES(SALLYPORT_SCREEN_ROW)
#undef SALLYPORT_SCREEN_ROW
};

struct ScreenFinding {
  std::string category;           // one of kScreenCategories
  unsigned line = 0, column = 0;  // from 1; columns count characters
  std::string excerpt;            // the code there, escaped and shortened
  std::string why;                // a sentence without its stop
  std::string allowed;            // what would pass
};

struct ScreenSyntaxError {
  unsigned line = 0, column = 0;
  std::string message;
};

struct Screening {
  std::vector<ScreenFinding> findings;  // in the order of lines, no more than kMostScreenFindings
  bool more = false;                    // there were more
  std::optional<ScreenSyntaxError> syntax_error;  // findings may be missing behind it
};

inline constexpr std::size_t kMostScreenFindings = 200;
inline constexpr std::size_t kLargestScreenedCode = std::size_t{1} << 20;

// Reads the code, in time linear in its length. An error (Reason::screen): it is larger than
// kLargestScreenedCode or nested too deeply to be read.
[[nodiscard]] Result<Screening> screen(std::string_view code, Language language);

// "python", "javascript", "shell", and the names people give them ("py", "js", "bash", ...).
[[nodiscard]] std::optional<Language> language_named(std::string_view name);
[[nodiscard]] std::string_view name_of(Language language);

// The language by the extension of a file's name, or else by the code's "#!" line.
[[nodiscard]] std::optional<Language> language_of(std::string_view path, std::string_view code);

}  // namespace sallyport
