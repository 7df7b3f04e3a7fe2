#include "tool/file_search.h"

#include <dirent.h>
#include <fcntl.h>
#include <re2/re2.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "tool/file_target.h"
#include "tool/file_text.h"

namespace sallyport {
namespace {

constexpr std::size_t kLongestText = 400;         // bytes of a line that are shown
constexpr std::uint64_t kMostContext = 10;        // lines before and after
constexpr std::size_t kRoomForTheRest = 600;      // bytes of the answer beside matches
constexpr std::int64_t kPatternMemory = 1 << 20;  // a larger one would be slow on hostile text

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

// The pattern of an order, and the names of files that it is looked for in.
struct Wanted {
  std::unique_ptr<re2::RE2> pattern;
  std::optional<Glob> names;
  bool whole_path = false;  // the glob is about paths below the directory, not about names

  [[nodiscard]] bool allows(std::string_view path) const {
    if (!names) return true;
    return names->matches(whole_path ? path : path.substr(path.rfind('/') + 1));
  }
};

Result<Wanted> read_wanted(const FileOrder& order) {
  if (order.pattern.empty())
    return fail(Reason::argument, "there is no pattern", "give the text to look for");
  if (order.pattern.find('\n') != std::string::npos)
    return fail(Reason::argument, "the pattern has a line end", "lines are looked at one by one");
  Wanted wanted;
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_literal(!order.regex);
  options.set_case_sensitive(!order.ignore_case);
  options.set_max_mem(kPatternMemory);
  wanted.pattern = std::make_unique<re2::RE2>(order.pattern, options);
  if (!wanted.pattern->ok())
    return fail(Reason::argument,
                "the pattern " + quoted(order.pattern) +
                    " is not a regular expression: " + wanted.pattern->error(),
                "RE2 syntax, without lookaround and back-references; leave regex out to look for "
                "the text as it is");
  if (!order.names.empty()) {
    auto glob = Glob::parse(order.names);
    if (!glob) return std::unexpected(std::move(glob.error()));
    wanted.names = std::move(*glob);
    wanted.whole_path = order.names.contains('/');
  }
  return wanted;
}

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count)
    text.remove_prefix(first_utf8_char(text).length);
  return count;
}

// A part of a line that is short enough to show, with the match that begins at `position` in it.
std::string shown_part(std::string_view line, std::size_t position) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() <= kLongestText) return to_utf8(line);
  const auto is_inside = [&](std::size_t at) {
    return at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0) == 0x80;
  };
  std::size_t begin = position > kLongestText / 4 ? position - kLongestText / 4 : 0;
  std::size_t end = std::min(line.size(), begin + kLongestText);
  for (int i = 0; i < 3 && is_inside(begin); ++i)
    ++begin;
  for (int i = 0; i < 3 && is_inside(end); ++i)
    --end;
  return (begin > 0 ? "…" : "") + to_utf8(line.substr(begin, end - begin)) +
         (end < line.size() ? "…" : "");
}

class Search {
 public:
  Search(const FileOrder& order, const Wanted& wanted, const SearchLimits& limits)
      : order_(order),
        wanted_(wanted),
        limits_(limits),
        context_(std::min(order.context, kMostContext)),
        room_(order.max_answer > kRoomForTheRest ? order.max_answer - kRoomForTheRest : 0) {}

  // What is below a directory of the target; `from_place` and `from_here` are its paths relative to
  // the place and to where the search began.
  void add_directory(const FileTarget& target, Fd directory, const std::string& from_place,
                     const std::string& from_here, std::size_t depth);
  // A file that is open already, or counts as left out.
  void add_file(const std::string& shown, int fd);

  [[nodiscard]] Result<json::object> answer(const std::string& path) &&;

 private:
  struct LeftOut {
    std::int64_t binary = 0, large = 0, special = 0, unreadable = 0, deep = 0;
  };

  [[nodiscard]] bool is_another_place(const std::string& path) const {
    return std::ranges::any_of(order_.places,
                               [&](const FilePlace& place) { return place.inside == path; });
  }
  // Sorted, so that the same tree has the same answer.
  [[nodiscard]] std::vector<std::string> names_in(DIR* stream);
  void add_entry(const FileTarget& target, int directory, const std::string& name,
                 const std::string& from_place, const std::string& from_here, std::size_t depth);
  void look_through(const std::string& shown, std::string_view text);
  void add_match(json::object match);

  const FileOrder& order_;
  const Wanted& wanted_;
  const SearchLimits limits_;
  const std::uint64_t context_;
  const std::uint64_t room_;
  json::array matches_;
  std::uint64_t used_ = 0;   // bytes of the matches as JSON
  std::uint64_t bytes_ = 0;  // read
  std::size_t entries_ = 0;
  std::int64_t files_ = 0;
  LeftOut left_out_;
  bool ended_ = false;  // a limit of the whole search was met
};

std::vector<std::string> Search::names_in(DIR* stream) {
  std::vector<std::string> names;
  while (const dirent* next = ::readdir(stream)) {
    const std::string_view name = next->d_name;
    if (name == "." || name == "..") continue;
    if (++entries_ > limits_.entries) {
      ended_ = true;
      break;
    }
    names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

void Search::add_directory(const FileTarget& target, Fd directory, const std::string& from_place,
                           const std::string& from_here, std::size_t depth) {
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(directory.get()));
  if (!stream) {
    ++left_out_.unreadable;
    return;
  }
  (void)directory.release();
  if (ended_) return;
  const std::vector<std::string> names = names_in(stream.get());
  for (const std::string& name : names) {
    add_entry(target, ::dirfd(stream.get()), name,
              from_place.empty() ? name : from_place + "/" + name,
              from_here.empty() ? name : from_here + "/" + name, depth);
    if (matches_.size() >= limits_.matches) ended_ = true;
  }
}

void Search::add_entry(const FileTarget& target, int directory, const std::string& name,
                       const std::string& from_place, const std::string& from_here,
                       std::size_t depth) {
  if (used_ > room_ || bytes_ >= limits_.bytes || matches_.size() >= limits_.matches) {
    ended_ = true;
    return;
  }
  struct stat status{};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (S_ISDIR(status.st_mode)) {
    // What is mounted there has globs of its own, and is searched as a place of its own.
    if (!target.may_allow_below(from_place) ||
        is_another_place(join_path(target.directory, from_place)))
      return;
    if (depth == limits_.depth) {
      ++left_out_.deep;
      return;
    }
    Fd below(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (below)
      add_directory(target, std::move(below), from_place, from_here, depth + 1);
    else
      ++left_out_.unreadable;
    return;
  }
  if (!target.allows(from_place) || !wanted_.allows(from_here)) return;
  if (!S_ISREG(status.st_mode)) {
    ++left_out_.special;
    return;
  }
  const Fd file(
      ::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file)
    add_file(join_path(target.directory, from_place), file.get());
  else
    ++left_out_.unreadable;
}

void Search::add_file(const std::string& shown, int fd) {
  struct stat status{};
  // The descriptor, and not the name, says what it is: the name may stand for another file now. A
  // file with a second name may be one of somebody else's.
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1) {
    ++left_out_.special;
    return;
  }
  if (static_cast<std::uint64_t>(status.st_size) > limits_.file_bytes) {
    ++left_out_.large;
    return;
  }
  const auto text = read_range(fd, 0, static_cast<std::size_t>(status.st_size));
  if (!text) {
    ++left_out_.unreadable;
    return;
  }
  bytes_ += text->size();
  if (text->contains('\0')) {
    ++left_out_.binary;
    return;
  }
  ++files_;
  look_through(shown, *text);
}

void Search::look_through(const std::string& shown, std::string_view text) {
  const std::string_view whole = text;
  std::size_t number = 0, start = 0;
  std::vector<std::string_view> before;  // the last lines
  while (start < whole.size()) {
    const std::size_t end = std::min(whole.find('\n', start), whole.size());
    const std::string_view line = whole.substr(start, end - start);
    start = end + 1;
    ++number;
    re2::StringPiece found;
    if (wanted_.pattern->Match(line, 0, line.size(), re2::RE2::UNANCHORED, &found, 1)) {
      const auto position = static_cast<std::size_t>(found.data() - line.data());
      json::object match{
          {"path", to_utf8(shown)},
          {"line", static_cast<std::int64_t>(number)},
          {"column", static_cast<std::int64_t>(characters(line.substr(0, position)) + 1)},
          {"text", shown_part(line, position)}};
      if (context_ > 0) {
        json::array lines;
        for (const std::string_view earlier : before)
          lines.emplace_back(shown_part(earlier, 0));
        match["before"] = std::move(lines);
        json::array later;
        for (std::size_t at = start; later.size() < context_ && at < whole.size();) {
          const std::size_t stop = std::min(whole.find('\n', at), whole.size());
          later.emplace_back(shown_part(whole.substr(at, stop - at), 0));
          at = stop + 1;
        }
        match["after"] = std::move(later);
      }
      add_match(std::move(match));
      if (ended_) return;
    }
    if (context_ > 0) {
      if (before.size() == context_) before.erase(before.begin());
      before.push_back(line);
    }
  }
}

void Search::add_match(json::object match) {
  const std::size_t size = canonical_json(match).size() + 1;
  if (used_ + size > room_ || matches_.size() >= limits_.matches) {
    ended_ = true;
    return;
  }
  used_ += size;
  matches_.push_back(std::move(match));
}

Result<json::object> Search::answer(const std::string& path) && {
  json::object answer{{"path", to_utf8(path)},
                      {"matches", std::move(matches_)},
                      {"files", files_},
                      {"truncated", ended_}};
  const std::pair<const char*, std::int64_t> reasons[] = {
      {"binary", left_out_.binary},         {"large", left_out_.large},
      {"special", left_out_.special},       {"unreadable", left_out_.unreadable},
      {"deep_directories", left_out_.deep},
  };
  json::object left_out;
  for (const auto& [name, count] : reasons)
    if (count > 0) left_out[name] = count;
  if (!left_out.empty()) answer["left_out"] = std::move(left_out);
  json::array& matches = answer["matches"].get_array();
  while (!matches.empty() && canonical_json(answer).size() > order_.max_answer) {
    answer["truncated"] = true;
    matches.resize(matches.size() - std::max<std::size_t>(1, matches.size() / 8));
  }
  if (canonical_json(answer).size() > order_.max_answer)
    return fail(Reason::result_too_large, "not even an empty answer fits into max_result");
  return answer;
}

// Searches one path of one place. An error is about the path.
Result<std::string> search_below(const FileOrder& order, Search& search) {
  auto target = find_target(FileAction::search, order);
  if (!target) return std::unexpected(std::move(target.error()));
  auto seen = open_confined(target->rules(true), target->relative, PathAccess::inspect);
  struct stat status{};
  const bool there = seen && ::fstat(seen->fd.get(), &status) == 0;
  const bool is_file = there && S_ISREG(status.st_mode);
  const bool is_directory = there && S_ISDIR(status.st_mode);
  // What the globs do not match is refused in the same words whether it is there or not.
  const bool allowed = target->file_place ? !target->denies(target->relative)
                       : is_directory     ? target->may_allow_below(target->relative)
                                          : target->allows(target->relative);
  if (!allowed)
    return fail(Reason::argument,
                quoted(target->shown()) + " holds nothing that this tool may search",
                "it may search " + list_places(order));
  if (!seen) return std::unexpected(explain(*target, std::move(seen.error())));
  auto path = open_confined(target->rules(true), target->relative,
                            is_file ? PathAccess::read : PathAccess::list);
  if (!path) return std::unexpected(explain(*target, std::move(path.error())));
  if (is_file)
    search.add_file(target->shown(), path->fd.get());
  else
    search.add_directory(*target, std::move(path->fd),
                         target->relative == "." ? "" : target->relative, "", 0);
  return target->shown();
}

}  // namespace

Result<json::object> search_files(const FileOrder& order, const SearchLimits& limits) {
  auto wanted = read_wanted(order);
  if (!wanted) return std::unexpected(std::move(wanted.error()));
  Search search(order, *wanted, limits);

  // The places in and below the path; all of them without one.
  std::vector<std::string> places;
  places.reserve(order.places.size());
  for (const FilePlace& place : order.places)
    places.push_back(place.inside);
  std::ranges::sort(places);
  places.erase(std::ranges::unique(places).begin(), places.end());
  FileOrder one = order;
  std::string path = "/";
  const bool everywhere = order.path.empty() || order.path == "." || order.path == "/";
  if (!everywhere || places.size() <= 1) {
    if (order.path == "/") one.path.clear();
    auto searched = search_below(one, search);
    if (!searched) return std::unexpected(std::move(searched.error()));
    path = std::move(*searched);
    std::erase_if(places, [&](const std::string& place) {
      return !place.starts_with(path == "/" ? path : path + "/");
    });
  }
  for (const std::string& place : places) {
    if (place == path) continue;
    one.path = place;
    // One that is not there, or holds nothing that may be searched, is nothing to search.
    if (!search_below(one, search)) continue;
  }
  return std::move(search).answer(path);
}

}  // namespace sallyport
