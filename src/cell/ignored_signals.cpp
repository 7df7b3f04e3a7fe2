#include "cell/ignored_signals.h"

#include <csignal>

namespace sallyport {

std::uint64_t ignored_signals() {
  std::uint64_t signals = 0;
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action{};
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      signals |= std::uint64_t{1} << (number - 1);
  }
  return signals;
}

std::uint64_t lasting_ignored_signals() {
  static const std::uint64_t signals = ignored_signals();
  return signals;
}

}  // namespace sallyport
