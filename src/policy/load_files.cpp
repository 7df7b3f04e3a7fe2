// Files of the host: `files` of a tool, and what the ceiling denies.
#include <algorithm>

#include "base/cell_path.h"
#include "base/text.h"
#include "policy/load.h"

namespace sallyport {
namespace {

constexpr std::string_view kPathHint =
    "write an absolute path such as /srv/data, without '.', '..' and '//'";

Result<void> check_absolute(std::string_view path) {
  const auto refuse = [&](std::string_view what) {
    return fail(Reason::argument, quoted(path).append(" ").append(what), std::string(kPathHint));
  };
  if (!path.starts_with('/')) return refuse("is not an absolute path");
  if (path.size() > 4000) return refuse("is too long for a path");
  if (path == "/") return {};
  if (const auto odd = irregular_component(path))
    return refuse(odd->empty() ? "has an empty component" : "contains " + quoted(*odd));
  if (std::ranges::any_of(path, [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
    return refuse("holds a control character");
  return {};
}

constexpr std::string_view kWild = "*?[";

// HOST or HOST:INSIDE. The last ":/" divides, as on the command line.
std::optional<FileRule> read_file_rule(const Spot& at, bool narrowed) {
  const auto text = read_text(at);
  if (!text) return std::nullopt;
  if (text->ends_with(':')) {
    at.refuse(quoted(*text) + " ends in ':'", "write HOST or HOST:INSIDE");
    return std::nullopt;
  }
  const std::size_t colon = text->rfind(":/");
  std::string host = text->substr(0, colon);
  std::string inside = colon == std::string::npos ? std::string() : text->substr(colon + 1);
  // One trailing '/' is how people write a directory.
  for (std::string* path : {&host, &inside})
    if (path->size() > 1 && path->ends_with('/')) path->pop_back();
  if (auto checked = check_absolute(host); !checked) {
    at.refuse(checked.error());
    return std::nullopt;
  }

  FileRule rule{.place = at.node().place};
  const std::size_t wild = host.find_first_of(kWild);
  if (wild != std::string::npos) {
    if (!narrowed) {
      at.refuse(quoted(host) + " is a glob, and a cell is shown whole directories and files",
                "write " + quoted(wild > 1 ? host.substr(0, host.rfind('/', wild)) : "/srv/data") +
                    "; globs narrow the file tools");
      return std::nullopt;
    }
    const std::size_t slash = host.rfind('/', wild);
    rule.names_text = host.substr(slash + 1);
    host.resize(slash);
    if (host.empty()) {
      at.refuse(quoted(*text) + " has no directory before its glob",
                "write one such as /srv/data/*.csv");
      return std::nullopt;
    }
    auto glob = Glob::parse(rule.names_text);
    if (!glob) {
      at.refuse(glob.error());
      return std::nullopt;
    }
    rule.names = std::move(*glob);
  }
  if (inside.empty()) inside = host;
  if (auto checked = check_absolute(inside); !checked) {
    at.refuse(checked.error());
    return std::nullopt;
  }
  if (inside == "/") {
    at.refuse("nothing can be placed at '/' in the cell", "write HOST:INSIDE, such as /srv:/data");
    return std::nullopt;
  }
  if (auto place = check_grant_place(inside); !place) {
    at.refuse(place.error().message, "write HOST:INSIDE, such as " + quoted(host + ":/data"));
    return std::nullopt;
  }
  if (inside.find_first_of(kWild) != std::string::npos) {
    at.refuse(quoted(inside) + " is a glob, and INSIDE is one place", "write it behind HOST only");
    return std::nullopt;
  }
  rule.host = std::move(host);
  rule.inside = std::move(inside);
  json::object meaning{{"host", rule.host}, {"inside", rule.inside}};
  if (rule.names) meaning["names"] = rule.names_text;
  at.means(std::move(meaning));
  return rule;
}

template <bool Narrowed, std::vector<FileRule> FileRules::* Member>
void read_grants(const Spot& at, FileRules& files) {
  for_each_item(at, [&](const Spot& item) {
    if (auto rule = read_file_rule(item, Narrowed)) (files.*Member).push_back(std::move(*rule));
  });
}

void read_write_mode(const Spot& at, FileRules& files) {
  constexpr std::string_view kModes[] = {"direct", "copy"};
  if (const auto mode = read_choice(at, kModes))
    files.write_mode = *mode == "copy" ? WriteMode::copy : WriteMode::direct;
}

void read_client(const Spot& at, FileRules& files) {
  constexpr std::string_view kWays[] = {"read", "write"};
  if (const auto way = read_choice(at, kWays))
    files.client = *way == "write" ? ClientFiles::write : ClientFiles::read;
}

constexpr std::string_view kGrantsAbout =
    "Files and directories of the host that it sees, as HOST or HOST:INSIDE.";
constexpr std::string_view kWriteAbout = "The same, writable.";
constexpr std::string_view kModeAbout =
    "`direct`: changes reach the host at once; `copy`: at the end, within the limits.";
constexpr std::string_view kClientAbout =
    "Of `run_command`: what a local user who calls it (`sallyport run --via`) may show it of their "
    "own, with their own rights: `read`, or `write` as well. Without it: nothing.";
constexpr std::string_view kClientValue = R"({"enum": ["read", "write"]})";
constexpr std::string_view kModeValue = R"({"enum": ["direct", "copy"]})";

template <bool Narrowed>
constexpr Field<FileRules> kFiles[] = {
    {"read", kTextsValue, kGrantsAbout, read_grants<Narrowed, &FileRules::read>},
    {"write", kTextsValue, kWriteAbout, read_grants<Narrowed, &FileRules::write>},
    {"write_mode", kModeValue, kModeAbout, read_write_mode},
    {"client", kClientValue, kClientAbout, read_client},
};

}  // namespace

std::optional<FileRules> read_files(const Spot& at, bool narrowed) {
  FileRules files;
  const bool read = narrowed ? read_section<FileRules>(at, kFiles<true>, files)
                             : read_section<FileRules>(at, kFiles<false>, files);
  if (!read) return std::nullopt;
  // With globs, several rules may narrow one directory; else one place shows one thing.
  std::map<std::string_view, const FileRule*> places;
  for (const auto* list : {&files.read, &files.write}) {
    for (const FileRule& rule : *list) {
      const auto [twin, fresh] = places.emplace(rule.inside, &rule);
      if (!fresh && (!narrowed || twin->second->host != rule.host))
        at.refuse_at(rule.place, "two entries would both be at " + quoted(rule.inside),
                     "give one of them another INSIDE, or leave one out");
    }
  }
  return files;
}

std::optional<std::string> read_absolute_path(const Spot& at) {
  auto path = read_text(at);
  if (!path) return std::nullopt;
  if (path->size() > 1 && path->ends_with('/')) path->pop_back();
  if (auto checked = check_absolute(*path); !checked) {
    at.refuse(checked.error());
    return std::nullopt;
  }
  at.means(json::value(*path));
  return path;
}

std::optional<DenyRule> read_denied_path(const Spot& at) {
  const auto path = read_absolute_path(at);
  if (!path) return std::nullopt;
  if (*path == "/") {
    at.refuse("denying '/' leaves nothing", "name what must never be shown");
    return std::nullopt;
  }
  auto glob = Glob::parse(std::string_view(*path).substr(1));
  if (!glob) {
    at.refuse(glob.error());
    return std::nullopt;
  }
  return DenyRule{*path, std::move(*glob)};
}

SectionText files_section() {
  return {"files", "What a tool sees of the host's files. A glob narrows the file tools.",
          texts_of<FileRules>(kFiles<true>)};
}

}  // namespace sallyport
