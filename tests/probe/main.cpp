#include <cerrno>
#include <cstdio>
#include <cstring>

#include "probe.h"

namespace probe {

Verdict refused_if_negative(long result, const char* call) {
  if (result < 0) {
    std::printf("%s: %s\n", call, std::strerror(errno));
    return kRefused;
  }
  std::printf("%s: worked (%ld)\n", call, result);
  return kWorked;
}

namespace {

template <class Visit>
void each_attack(Visit visit) {
  for (auto table :
       {file_attacks(), kernel_attacks(), process_attacks(), network_attacks(), resource_attacks()})
    for (const Attack& attack : table)
      visit(attack);
}

}  // namespace
}  // namespace probe

int main(int argc, char** argv) {
  using namespace probe;
  if (argc < 2) return kNotTried;
  const std::string_view name = argv[1];
  if (name == "--list") {
    each_attack([](const Attack& attack) {
      std::printf("%-32s %s\n", std::string(attack.name).c_str(), std::string(attack.what).c_str());
    });
    return 0;
  }
  int verdict = -1;
  each_attack([&](const Attack& attack) {
    if (attack.name == name)
      verdict = attack.run(Arguments(argv + 2, static_cast<std::size_t>(argc - 2)));
  });
  if (verdict < 0) std::printf("there is no attack %s\n", argv[1]);
  std::fflush(stdout);
  return verdict < 0 ? kNotTried : verdict;
}
