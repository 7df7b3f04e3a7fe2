// Texts that mean something in every language: paths of the system, and letters that look
// different and are the same.
#include <algorithm>
#include <string>

#include "base/text.h"
#include "screen/report.h"

namespace sallyport {
namespace {

constexpr std::string_view kSystemTrees[] = {
    "/etc",     "/proc",     "/sys",     "/root",    "/boot",      "/dev",
    "/run",     "/var/run",  "/var/log", "/var/lib", "/var/spool", "/usr/lib",
    "/usr/bin", "/usr/sbin", "/bin",     "/sbin",    "/lib"};
// Below /dev, what any program may use.
constexpr std::string_view kPlainDevices[] = {
    "/dev/null",   "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/urandom",
    "/dev/random", "/dev/full", "/dev/fd",    "/dev/shm",    "/dev/tty"};
// Below a home directory, what holds secrets or is run at the next login.
constexpr std::string_view kHomeNames[] = {
    ".ssh",          ".aws",          ".gnupg", ".kube",  ".docker", ".netrc",
    ".bashrc",       ".profile",      ".zshrc", ".npmrc", ".pypirc", ".git-credentials",
    ".bash_profile", ".config/gcloud"};

bool below(std::string_view path, std::string_view tree) {
  return path.starts_with(tree) && (path.size() == tree.size() || path[tree.size()] == '/');
}

// "/./etc//passwd" and "/tmp/../etc/passwd" are "/etc/passwd".
std::string cleaned(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      result.resize(std::min(result.rfind('/'), result.size()));
      continue;
    }
    result.append("/").append(part);
  }
  return result;
}

// Lower-case and capital letters of the styles in the block of mathematical letters stand in runs
// of 52.
char32_t mathematical(char32_t code) {
  if (code >= 0x1D400 && code <= 0x1D6A3) {
    const auto place = (code - 0x1D400) % 52;
    return place < 26 ? U'A' + place : U'a' + (place - 26);
  }
  if (code >= 0x1D7CE && code <= 0x1D7FF) return U'0' + (code - 0x1D7CE) % 10;
  return 0;
}

struct Letters {
  char32_t code;
  std::string_view text;
};

constexpr Letters kLetters[] = {
    {0x00AA, "a"},  {0x00BA, "o"},  {0x017F, "s"},  {0x02B0, "h"},   {0x02B2, "j"},
    {0x02B3, "r"},  {0x02B7, "w"},  {0x02B8, "y"},  {0x02E1, "l"},   {0x02E2, "s"},
    {0x02E3, "x"},  {0x1D43, "a"},  {0x1D47, "b"},  {0x1D48, "d"},   {0x1D49, "e"},
    {0x1D4D, "g"},  {0x1D4F, "k"},  {0x1D50, "m"},  {0x1D52, "o"},   {0x1D56, "p"},
    {0x1D57, "t"},  {0x1D58, "u"},  {0x1D5B, "v"},  {0x1D62, "i"},   {0x1D63, "r"},
    {0x1D64, "u"},  {0x1D65, "v"},  {0x1D9C, "c"},  {0x1DA0, "f"},   {0x1DBB, "z"},
    {0x2071, "i"},  {0x207F, "n"},  {0x2090, "a"},  {0x2091, "e"},   {0x2092, "o"},
    {0x2093, "x"},  {0x2095, "h"},  {0x2096, "k"},  {0x2097, "l"},   {0x2098, "m"},
    {0x2099, "n"},  {0x209A, "p"},  {0x209B, "s"},  {0x209C, "t"},   {0x2102, "C"},
    {0x210A, "g"},  {0x210B, "H"},  {0x210C, "H"},  {0x210D, "H"},   {0x210E, "h"},
    {0x2110, "I"},  {0x2111, "I"},  {0x2112, "L"},  {0x2113, "l"},   {0x2115, "N"},
    {0x2119, "P"},  {0x211A, "Q"},  {0x211B, "R"},  {0x211C, "R"},   {0x211D, "R"},
    {0x2124, "Z"},  {0x2128, "Z"},  {0x212A, "K"},  {0x212C, "B"},   {0x212D, "C"},
    {0x212F, "e"},  {0x2130, "E"},  {0x2131, "F"},  {0x2133, "M"},   {0x2134, "o"},
    {0x2139, "i"},  {0x2145, "D"},  {0x2146, "d"},  {0x2147, "e"},   {0x2148, "i"},
    {0x2149, "j"},  {0x2160, "I"},  {0x2164, "V"},  {0x2169, "X"},   {0x216C, "L"},
    {0x216D, "C"},  {0x216E, "D"},  {0x216F, "M"},  {0x2170, "i"},   {0x2174, "v"},
    {0x2179, "x"},  {0x217C, "l"},  {0x217D, "c"},  {0x217E, "d"},   {0x217F, "m"},
    {0xFB00, "ff"}, {0xFB01, "fi"}, {0xFB02, "fl"}, {0xFB03, "ffi"}, {0xFB04, "ffl"},
    {0xFB05, "st"}, {0xFB06, "st"}, {0xFE33, "_"},  {0xFE34, "_"},   {0xFE4D, "_"},
    {0xFE4E, "_"},  {0xFE4F, "_"},  {0xFF3F, "_"},
};

}  // namespace

bool is_system_path(std::string_view text) {
  if (text.size() < 4 || text.size() > 4096) return false;
  if (text.find_first_of(" \t\n<>|\"") != std::string_view::npos) return false;
  if (text.starts_with("file://")) text.remove_prefix(7);
  const bool home = text.starts_with("~/") || text.starts_with("$HOME/") ||
                    text.starts_with("/home/") || text.starts_with("/root/");
  if (home)
    for (const std::string_view name : kHomeNames) {
      const std::size_t at = text.find(std::string("/").append(name));
      if (at != std::string_view::npos) return true;
    }
  const std::size_t climb = text.find("../");
  if (climb == 0 || text.starts_with("./..")) {
    // ../../../etc/passwd
    std::string_view rest = text;
    while (rest.starts_with("../") || rest.starts_with("./"))
      rest.remove_prefix(rest.find('/') + 1);
    return is_system_path(std::string("/").append(rest));
  }
  if (!text.starts_with('/')) return false;
  const std::string path = cleaned(text);
  if (path == "/dev" || path == "/lib" || path == "/bin") return false;
  for (const std::string_view plain : kPlainDevices)
    if (below(path, plain)) return false;
  return std::ranges::any_of(kSystemTrees,
                             [&](std::string_view tree) { return below(path, tree); });
}

std::string plain_identifier(std::string_view text) {
  if (std::ranges::none_of(text, [](char byte) { return (byte & 0x80) != 0; }))
    return std::string(text);
  std::string result;
  while (!text.empty()) {
    const Utf8Char letter = first_utf8_char(text);
    const std::string_view bytes = text.substr(0, letter.length);
    text.remove_prefix(letter.length);
    if (const char32_t plain = mathematical(letter.code); plain != 0) {
      result.push_back(static_cast<char>(plain));
    } else if (letter.code >= 0xFF10 && letter.code <= 0xFF5A) {
      result.push_back(static_cast<char>(letter.code - 0xFF10 + '0'));
    } else if (const auto* row = std::ranges::find(kLetters, letter.code, &Letters::code);
               row != std::end(kLetters)) {
      result.append(row->text);
    } else {
      result.append(bytes);
    }
  }
  return result;
}

void append_utf8(std::string& text, std::uint32_t code) {
  if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) code = 0xFFFD;
  if (code < 0x80) {
    text.push_back(static_cast<char>(code));
    return;
  }
  if (code < 0x800) {
    text.push_back(static_cast<char>(0xC0 | (code >> 6)));
  } else {
    if (code < 0x10000) {
      text.push_back(static_cast<char>(0xE0 | (code >> 12)));
    } else {
      text.push_back(static_cast<char>(0xF0 | (code >> 18)));
      text.push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3F)));
    }
    text.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
  }
  text.push_back(static_cast<char>(0x80 | (code & 0x3F)));
}

}  // namespace sallyport
