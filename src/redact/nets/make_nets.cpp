// Run by the build: writes the sets of redaction rules that the program is linked with.
#include <cstdio>
#include <string>
#include <vector>

#include "redact/redact.h"
#include "redact/rule_set.h"

int main(int argc, char** argv) {
  using namespace sallyport;
  // Of records; secrets alone; those of the example; all.
  const std::vector<std::vector<std::string>> kChoices = {
      {"secrets", "cards"},
      {"secrets"},
      {"secrets", "home_dirs", "ip_addresses", "temp_dirs"},
      {"secrets", "home_dirs", "ip_addresses", "temp_dirs", "emails", "cards"}};
  if (argc != 2) return 2;
  const auto bytes = make_ready_nets(kChoices);
  if (!bytes) {
    std::fprintf(stderr, "%s\n", bytes.error().message.c_str());
    return 1;
  }
  std::FILE* file = std::fopen(argv[1], "wb");
  if (file == nullptr) return 1;
  const bool written = std::fwrite(bytes->data(), 1, bytes->size(), file) == bytes->size();
  return std::fclose(file) == 0 && written ? 0 : 1;
}
