#include "redact/places.h"

#include <algorithm>

#include "redact/checks.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestLocalPart = 64, kLongestDomain = 255, kLongestName = 255;

template <class Is>
std::size_t back_while(std::string_view text, std::size_t end, std::size_t most, Is is) {
  std::size_t begin = end;
  while (begin > 0 && end - begin < most && is(text[begin - 1]))
    --begin;
  return begin;
}

template <class Is>
std::size_t skip_while(const Sight& sight, std::size_t i, std::size_t most, Is is) {
  const std::size_t end = std::min(i + most, sight.text.size());
  while (i < end && is(sight.text[i]))
    ++i;
  return i;
}

// What runs up to a marker was longer before something in it was redacted.
bool reaches_marker(const Sight& sight, std::size_t end) {
  return sight.marker && end == sight.text.size();
}

constexpr bool is_file_name(char c) {
  return is_alnum(c) || c == '_' || c == '-' || c == '.' || c == '+' || c == '@' || c == '~' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Hostile text has many at signs and colons: what stands around them is told by a table.
template <auto kIs>
bool in_table(char c) {
  static constexpr CharTable kTable = table_of(kIs);
  return kTable[static_cast<unsigned char>(c)];
}
constexpr auto is_local = in_table<[](char c) {
  return is_alnum(c) || c == '.' || c == '_' || c == '%' || c == '+' || c == '-';
}>;
constexpr auto is_domain = in_table<[](char c) { return is_alnum(c) || c == '-' || c == '.'; }>;
constexpr auto is_address = in_table<[](char c) { return is_hex(c) || c == ':' || c == '.'; }>;

char before(const Sight& sight) {
  return sight.at > 0 ? sight.text[sight.at - 1] : '\0';
}

// An absolute path begins here: it is not the end of a longer one, nor of a URL.
bool begins_path(const Sight& sight) {
  const std::string_view head = sight.text.substr(0, sight.at);
  for (const std::string_view parent : {"/var", "/usr", "/export", "/private", "file:/", "file://"})
    if (head.ends_with(parent)) return true;
  const char last = before(sight);
  if (last == '/') return !head.ends_with(":/") && !head.ends_with("://");
  // The letter of an escape within a string: "\n/home/x".
  if (head.size() >= 2 && head[head.size() - 2] == '\\' && std::string_view("nrt").contains(last))
    return true;
  return !is_alnum(last) && last != '_' && last != '-' && last != '.' && last != '~' &&
         static_cast<unsigned char>(last) < 0x80;
}

// The end of a file name that begins at `i`; a full stop that ends a sentence is not part of it.
std::size_t name_end(const Sight& sight, std::size_t i) {
  std::size_t end = skip_while(sight, i, kLongestName, is_file_name);
  // One that is too long does not end within a character.
  end = skip_while(sight, end, 3, [](char c) { return (c & 0xC0) == 0x80; });
  if (reaches_marker(sight, end)) return i;
  while (end > i && sight.text[end - 1] == '.')
    --end;
  return end;
}

// Whether the number is said to be that of a version.
bool follows_version(const Sight& sight) {
  static constexpr CharTable kSigns =
      table_of([](char c) { return std::string_view(" \t:=\"'(").contains(c); });
  static constexpr std::string_view kWords[] = {
      "version",         "ver",        "v", "release", "rev", "build", "firmware",
      "assemblyversion", "fileversion"};
  std::size_t end = sight.at;
  while (end > 0 && sight.at - end < 4 && kSigns[static_cast<unsigned char>(sight.text[end - 1])])
    --end;
  if (end == 0 || !is_letter(sight.text[end - 1])) return false;
  return std::ranges::any_of(kWords, [&](std::string_view word) {
    return end >= word.size() && begins_caseless(sight.text.substr(end - word.size()), word) &&
           (end == word.size() || !is_alnum(sight.text[end - word.size() - 1]));
  });
}

}  // namespace

std::size_t ip_v4_begin(std::string_view text, std::size_t end) {
  return back_while(text, end, 16, [](char c) { return is_digit(c) || c == '.'; });
}

std::size_t ip_v6_begin(std::string_view text, std::size_t end, Found& last) {
  constexpr std::size_t kLongest = 48;
  if (end < last.end) last = {};
  std::size_t begin = end;
  while (begin > last.end && end - begin < kLongest && is_address(text[begin - 1]))
    --begin;
  if (begin == last.end) begin = std::max(last.begin, end - std::min(end, kLongest));
  last = {begin, end};
  return begin;
}

std::size_t email_begin(std::string_view text, std::size_t end) {
  if (end < 2) return end;
  std::size_t begin = back_while(text, end - 2, kLongestLocalPart, is_local);
  while (begin < end - 3 && !is_alnum(text[begin]) && text[begin] != '_')
    ++begin;
  return begin;
}

bool may_be_domain(std::string_view text) {
  if (!text.empty() && !is_alnum(text[0])) return false;
  for (const char c : text) {
    if (c == '.') return true;
    if (!is_domain(c)) return false;
  }
  return true;
}

std::optional<Found> home_dir_at(const Sight& sight) {
  const std::string_view anchor = sight.text.substr(sight.at, sight.after - sight.at);
  if (anchor == "/root") {
    const char next = sight[sight.after];
    if (!begins_path(sight) || is_alnum(next) || next == '_' || next == '-') return std::nullopt;
    if (next == '.' && is_file_name(sight[sight.after + 1])) return std::nullopt;
    return Found{sight.at, sight.after};
  }
  std::size_t begin = sight.at;
  if (anchor.starts_with(':')) {
    // The letter of the drive.
    if (begin == 0 || !is_letter(sight.text[begin - 1])) return std::nullopt;
    --begin;
    if (begin > 0 && is_alnum(sight.text[begin - 1])) return std::nullopt;
  } else if (!begins_path(sight)) {
    return std::nullopt;
  }
  const char first = sight[sight.after];
  if (!is_alnum(first) && first != '_' && static_cast<unsigned char>(first) < 0x80)
    return std::nullopt;
  const std::size_t end = name_end(sight, sight.after);
  if (end == sight.after) return std::nullopt;
  const std::string_view name = sight.text.substr(sight.after, end - sight.after);
  if (anchor.contains("Users") && (name == "Shared" || name == "Public" || name == "Default"))
    return std::nullopt;
  return Found{begin, end};
}

std::optional<Found> temp_dir_at(const Sight& sight) {
  const std::string_view anchor = sight.text.substr(sight.at, sight.after - sight.at);
  std::size_t begin = sight.at;
  if (anchor.starts_with('\\')) {
    // C:\Users\x\AppData\Local\Temp\y: all of it from the drive on.
    static constexpr CharTable kPath =
        table_of([](char c) { return is_file_name(c) || c == '\\' || c == ':'; });
    constexpr std::size_t kLongestPath = 60;
    const std::size_t most = sight.at - std::min(sight.at, kLongestPath);
    std::size_t colon = sight.at;  // the first one in front of a backslash
    std::size_t path = sight.at;
    for (; path > most && kPath[static_cast<unsigned char>(sight.text[path - 1])]; --path)
      if (sight.text[path - 1] == ':' && sight.text[path] == '\\' && path < sight.at)
        colon = path - 1;
    if (colon < sight.at && colon > path && (colon < 2 || !is_alnum(sight.text[colon - 2])))
      begin = colon - 1;
  } else if (!begins_path(sight)) {
    return std::nullopt;
  } else {
    const std::string_view head = sight.text.substr(0, sight.at);
    if (head.ends_with("/var")) begin -= 4;
    if (head.ends_with("/private")) begin -= 8;
  }
  std::size_t end = name_end(sight, sight.after);
  if (end == sight.after) return std::nullopt;
  if (anchor == "/var/folders/")  // macOS: /var/folders/ab/long-name/T/name
    for (int part = 0; part < 3 && sight[end] == '/' && is_file_name(sight[end + 1]); ++part)
      end = name_end(sight, end + 1);
  return Found{begin, end};
}

std::optional<Found> ip_v4_at(const Sight& sight) {
  const char last = before(sight);
  if (is_alnum(last) || last == '_' || last == '.') return std::nullopt;
  std::size_t i = sight.at;
  for (int part = 0; part < 4; ++part) {
    if (part > 0) {
      if (i >= sight.text.size() || sight.text[i] != '.') return std::nullopt;
      ++i;
    }
    const std::size_t end = skip_while(sight, i, 3, is_digit);
    if (end == i) return std::nullopt;
    int value = 0;
    for (std::size_t at = i; at < end; ++at)
      value = value * 10 + (sight.text[at] - '0');
    // A leading zero is of a date or a version.
    if (value > 255 || (end - i > 1 && sight.text[i] == '0')) return std::nullopt;
    i = end;
  }
  const char next = sight[i], second = sight[i + 1];
  if (is_alnum(next) || next == '_') return std::nullopt;
  if (next == '.' && is_alnum(second)) return std::nullopt;
  if (next == '-' && is_letter(second)) return std::nullopt;  // 1.2.3.4-rc1
  const std::string_view head = sight.text.substr(0, sight.at);
  if (head.ends_with("==") || head.ends_with(">=") || head.ends_with("<=") || head.ends_with("~="))
    return std::nullopt;
  if (last == '-' && head.size() > 1 && is_alnum(head[head.size() - 2])) return std::nullopt;
  if (follows_version(sight)) return std::nullopt;
  return Found{sight.at, i};
}

std::optional<Found> ip_v6_at(const Sight& sight) {
  const char last = before(sight);
  if (is_alnum(last) || last == '_' || last == ':' || last == '.') return std::nullopt;
  // Names of C++ and Rust have two colons, too: an address has no other letters beside them.
  std::size_t end = skip_while(sight, sight.at, 48, is_address);
  if (reaches_marker(sight, end)) return std::nullopt;
  while (end > sight.at && sight.text[end - 1] == '.')
    --end;
  if (end > sight.at + 1 && sight.text[end - 1] == ':' && sight.text[end - 2] != ':') --end;
  const std::string_view text = sight.text.substr(sight.at, end - sight.at);
  if (is_alnum(sight[end]) || sight[end] == '_') return std::nullopt;

  int groups = 0;
  bool gap = false, digit = false;
  std::size_t i = 0;
  if (text.starts_with(':') && !text.starts_with("::")) return std::nullopt;
  while (i < text.size()) {
    if (text.substr(i).starts_with("::")) {
      if (gap || text.substr(i).starts_with(":::")) return std::nullopt;
      gap = true;
      i += 2;
      continue;
    }
    if (text[i] == ':') ++i;
    std::size_t length = 0;
    while (i + length < text.size() && is_hex(text[i + length])) {
      digit = digit || is_digit(text[i + length]);
      ++length;
    }
    if (i + length < text.size() && text[i + length] == '.') {
      // The last two groups written as IPv4.
      std::size_t dots = 0;
      for (const char c : text.substr(i)) {
        if (!is_digit(c) && c != '.') return std::nullopt;
        if (c == '.') ++dots;
      }
      if (dots != 3) return std::nullopt;
      groups += 2;
      digit = true;
      i = text.size();
      break;
    }
    if (length == 0 || length > 4) return std::nullopt;
    ++groups;
    i += length;
  }
  // A letter-only one (dead::beef, a::b) is a name of a program rather than an address.
  if (!digit || groups == 0 || (gap ? groups > 7 : groups != 8)) return std::nullopt;
  return Found{sight.at, end};
}

std::optional<Found> email_at(const Sight& sight) {
  const char last = before(sight);
  if (is_alnum(last)) return std::nullopt;  // longer than a local part may be
  const std::size_t at = sight.text.find('@', sight.at);
  if (at == std::string_view::npos || at == sight.at || !is_alnum(sight[at + 1]))
    return std::nullopt;
  std::size_t end = skip_while(sight, at + 1, kLongestDomain, is_domain);
  if (reaches_marker(sight, end)) return std::nullopt;
  while (end > at && !is_alnum(sight.text[end - 1]))
    --end;
  if (sight[end] == '_' || sight[end] == '@') return std::nullopt;
  std::size_t dot = at;
  for (std::size_t i = at + 1; i < end; ++i) {
    if (sight.text[i] != '.') continue;
    if (dot == i - 1) return std::nullopt;
    dot = i;
  }
  if (dot == at) return std::nullopt;
  const std::string_view top = sight.text.substr(dot + 1, end - dot - 1);
  if (top.size() < 2 || !std::ranges::all_of(top, is_letter)) return std::nullopt;
  // Units of systemd, files for high-resolution screens.
  for (const std::string_view suffix :
       {"service", "socket", "timer", "target", "mount", "slice", "scope", "device", "png", "jpg",
        "jpeg", "gif", "svg", "webp"})
    if (top == suffix) return std::nullopt;
  // git@github.com:owner/repository is an address of nobody.
  if (sight.text.substr(sight.at, at - sight.at) == "git" &&
      (sight[end] == ':' || sight[end] == '/'))
    return std::nullopt;
  // The login of a URL is not an address of a person.
  if (sight.recall->is_in_url(sight.text, sight.at)) return std::nullopt;
  return Found{sight.at, end};
}

std::optional<Found> card_at(const Sight& sight) {
  const char last = before(sight);
  if (is_alnum(last) || last == '.' || last == '_') return std::nullopt;
  const std::string_view head = sight.text.substr(0, sight.at);
  if ((last == '-' || last == ' ') && head.size() > 1 && is_digit(head[head.size() - 2]))
    return std::nullopt;
  char separator = sight[sight.at + 4];
  if (separator != ' ' && separator != '-') separator = '\0';
  std::size_t digits = 0, end = sight.at;
  for (std::size_t i = sight.at; i < sight.text.size() && digits <= 19; ++i) {
    if (is_digit(sight.text[i])) {
      ++digits;
      end = i + 1;
    } else if (separator == '\0' || sight.text[i] != separator || i != end) {
      break;
    }
  }
  const std::string_view number = sight.text.substr(sight.at, end - sight.at);
  if (digits < 13 || digits > 19) return std::nullopt;
  if (is_alnum(sight[end]) || sight[end] == '_') return std::nullopt;
  if (sight[end] == '.' && is_digit(sight[end + 1])) return std::nullopt;
  // The networks: American Express, Diners, JCB; Visa; Mastercard; Discover, Maestro, UnionPay.
  const char first = number[0], second = number[1];
  const bool network = first == '4' || (first == '5' && second >= '0' && second <= '8') ||
                       first == '6' ||
                       (first == '3' && std::string_view("045678").contains(second)) ||
                       (first == '2' && second >= '2' && second <= '7');
  if (!network) return std::nullopt;
  if (std::ranges::all_of(number, [&](char c) { return c == first || c == separator; }))
    return std::nullopt;
  if (!passes_luhn(number)) return std::nullopt;
  return Found{sight.at, end};
}

}  // namespace sallyport
