// Where and who: directories, addresses, card numbers.
#include "redact/rule.h"

namespace sallyport {
namespace {

using enum RuleKind;
using enum RedactionGroup;
using namespace check;

constexpr RedactionRule kRules[] = {
    {"home-dir", home_dir, "/home/|/root|/Users/|:\\Users\\|:\\\\Users\\\\|:/Users/", "", kNone,
     "home directory on Linux, macOS and Windows", home_dirs},
    {"ip-address", ip_v4, "(?:^|[^0-9A-Za-z_.])[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]{1,3}\\.[0-9]", "",
     kNone, "IPv4 address", ip_addresses},
    {"ip-address", ip_v6,
     "(?:^|[^:])::&"
     "(?:^|[^0-9A-Za-z_.:])(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]",
     "", kNone, "IPv6 address", ip_addresses},
    {"temp-dir", temp_dir, "/tmp/|/var/folders/|\\Temp\\|\\\\Temp\\\\", "", kNone,
     "temporary directory", temp_dirs},
    {"email", email, "[A-Za-z0-9_%+-]@", "", kNone, "e-mail address", emails},
    {"card", card,
     "[2-6][0-9]{12}&[2-6][0-9]{3}[ -][0-9]{4}[ -][0-9]{4}[ -]&3[47][0-9]{2}[ -][0-9]{6}[ -]", "",
     kNone, "card number with a right check digit", cards},
};

}  // namespace

std::span<const RedactionRule> place_rules() {
  return kRules;
}

}  // namespace sallyport
