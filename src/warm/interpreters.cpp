#include "warm/interpreters.h"

#include <algorithm>

#include "warm/programs.h"

namespace sallyport {
namespace {

// By way of the dynamic loader, because then the kernel puts the heap far above the program: a
// restored process has a heap of its own in low memory, and the two must never meet. Libraries for
// numbers would start a thread for each core while they are imported. Functions are looked up now:
// each copy would do it anew, for its end at least. The order replaces this environment.
constexpr const char* kStartPython =
    "export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 LD_BIND_NOW=1\n"
    "python=$(command -v python3) || exit 1\n"
    "exec /lib64/ld-linux-x86-64.so.2 --argv0 python3 \"$python\" -B -c \"$@\"";

}  // namespace

std::vector<std::string> waiting_command(const Warmth& warmth) {
  if (warmth.interpreter == Interpreter::node) return {"node", "-e", std::string(node_program())};
  std::vector<std::string> command = {"/bin/sh", "-c", kStartPython, "sh",
                                      std::string(python_program())};
  command.insert(command.end(), warmth.preload.begin(), warmth.preload.end());
  return command;
}

std::size_t words_stood_for(Interpreter interpreter) {
  return interpreter == Interpreter::python ? 2 : 1;
}

bool is_read_at_start(Interpreter interpreter, std::string_view variable) {
  constexpr std::string_view kEverybody[] = {"LD_", "LC_", "LANG", "GLIBC_", "MALLOC_", "PATH"};
  const auto begins = [&](std::string_view prefix) { return variable.starts_with(prefix); };
  return std::ranges::any_of(kEverybody, begins) ||
         begins(interpreter == Interpreter::python ? "PYTHON" : "NODE_") ||
         variable == "SSL_CERT_FILE" || variable == "TZ";
}

}  // namespace sallyport
