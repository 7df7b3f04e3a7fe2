#include "warm_question.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace sallyport::warm {
namespace {

std::string text(std::uint64_t number) {
  return std::to_string(number);
}

std::string reversed(std::string word) {
  std::ranges::reverse(word);
  return word;
}

Question python(std::uint64_t n) {
  const std::uint64_t a = 1000 + n, b = 11 + n % 89;
  switch (n % 6) {
    case 0:
      return {"print(" + text(a) + " * " + text(b) + ")", text(a * b)};
    case 1:
      return {"print(sum(range(" + text(a) + ", " + text(a + 20) + ")))", text(20 * a + 190)};
    case 2:
      return {"print('cell " + text(a) + "'[::-1])", reversed("cell " + text(a))};
    case 3:
      return {"print(sorted([" + text(a + 2) + ", " + text(a) + ", " + text(a + 1) + "]))",
              "[" + text(a) + ", " + text(a + 1) + ", " + text(a + 2) + "]"};
    case 4:
      return {"total = 0\nfor i in range(30):\n    total += i * " + text(a) + "\nprint(total)",
              text(435 * a)};
    default:
      return {"print({'a': " + text(a) + ", 'b': " + text(b) + "}['a'])", text(a)};
  }
}

Question numpy(std::uint64_t n) {
  const std::uint64_t a = 1000 + n;
  if (n % 2 == 0)
    return {
        "import numpy as np\nprint(int(np.arange(" + text(a) + ", " + text(a + 50) + ").sum()))",
        text(50 * a + 1225)};
  return {"import numpy as np\nprint(int(np.dot(np.ones(50), np.full(50, " + text(a) + ".0))))",
          text(50 * a)};
}

Question node(std::uint64_t n) {
  const std::uint64_t a = 1000 + n, b = 11 + n % 89;
  switch (n % 3) {
    case 0:
      return {"console.log(" + text(a) + " * " + text(b) + ")", text(a * b)};
    case 1:
      return {"console.log([" + text(a) + ", " + text(b) + "].map(x => x + 1).join(' '))",
              text(a + 1) + " " + text(b + 1)};
    default:
      return {"console.log('cell " + text(a) + "'.length)", text(5 + text(a).size())};
  }
}

}  // namespace

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::python:
      return "python";
    case Kind::numpy:
      return "numpy";
    case Kind::command:
      return "true";
    case Kind::node:
      return "node";
  }
  std::unreachable();
}

const char* title_of(Kind kind) {
  switch (kind) {
    case Kind::python:
      return "Python, print(…)";
    case Kind::numpy:
      return "Python with numpy";
    case Kind::command:
      return "/bin/true";
    case Kind::node:
      return "Node, console.log(…)";
  }
  std::unreachable();
}

Question question(Kind kind, std::uint64_t n) {
  switch (kind) {
    case Kind::python:
      return python(n);
    case Kind::numpy:
      return numpy(n);
    case Kind::command:
      return {};
    case Kind::node:
      return node(n);
  }
  std::unreachable();
}

Question next_question(Kind kind) {
  static std::atomic<std::uint64_t> asked = 1;
  return question(kind, asked++);
}

}  // namespace sallyport::warm
