#include "credential/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace sallyport {
namespace {

constexpr std::string_view kKept[] = {"PATH",
                                      "HOME",
                                      "USER",
                                      "LANG",
                                      "TZ",
                                      "XDG_RUNTIME_DIR",
                                      "SALLYPORT_CGROUP_PARENT",
                                      "SALLYPORT_UID_RANGE"};

void forget(const std::string& name) {
  if (char* value = ::getenv(name.c_str())) ::explicit_bzero(value, std::strlen(value));
  ::unsetenv(name.c_str());
}

void forget_source(const std::string& from) {
  if (from.starts_with("env:")) forget(from.substr(4));
}

}  // namespace

void forget_secrets(const ReaderSettings& settings) {
  for (const CredentialSource& source : settings.sources)
    forget_source(source.from);
  forget_source(settings.vault.token);
}

void forget_environment(const ReaderSettings& settings) {
  forget_secrets(settings);
  std::vector<std::string> names;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    names.emplace_back(*variable, std::strcspn(*variable, "="));
  for (const std::string& name : names)
    if (std::ranges::find(kKept, name) == std::end(kKept)) forget(name);
}

}  // namespace sallyport
