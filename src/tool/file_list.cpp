#include "tool/file_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "tool/file_target.h"

namespace sallyport {
namespace {

constexpr std::size_t kMostEntries = 100'000;
constexpr std::size_t kDeepest = 64;

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

// Files and directories by their names below the directory that is listed.
class Listing {
 public:
  Listing(const FileOrder& order, const FileTarget& target) : order_(order), target_(target) {}

  // `below`: where the directory lies, relative to the place and to the one that is listed.
  void add_directory(Fd directory, const std::string& from_place, const std::string& from_here,
                     std::size_t depth);

  [[nodiscard]] json::object answer() &&;

 private:
  struct Entry {
    std::string name;
    bool directory;
    std::int64_t size;
  };

  [[nodiscard]] bool is_another_place(const std::string& from_place) const {
    const std::string path = join_path(target_.directory, from_place);
    return std::ranges::any_of(order_.places,
                               [&](const FilePlace& place) { return place.inside == path; });
  }

  const FileOrder& order_;
  const FileTarget& target_;
  std::vector<Entry> found_;
  std::size_t seen_ = 0;
  std::int64_t left_out_ = 0;
  bool whole_ = true;
};

void Listing::add_directory(Fd directory, const std::string& from_place,
                            const std::string& from_here, std::size_t depth) {
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(directory.get()));
  if (!stream) {
    whole_ = false;
    return;
  }
  (void)directory.release();
  const int fd = ::dirfd(stream.get());
  while (const dirent* next = ::readdir(stream.get())) {
    const std::string name = next->d_name;
    if (name == "." || name == "..") continue;
    if (++seen_ > kMostEntries) {
      whole_ = false;
      return;
    }
    const std::string path = from_place.empty() ? name : from_place + "/" + name;
    const std::string shown = from_here.empty() ? name : from_here + "/" + name;
    struct stat status{};
    if (::fstatat(fd, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISDIR(status.st_mode)) {
      if (!target_.allows(path)) continue;
      if (S_ISREG(status.st_mode))
        found_.push_back({shown, false, status.st_size});
      else
        ++left_out_;
      continue;
    }
    if (!target_.may_allow_below(path)) continue;
    found_.push_back({shown, true, 0});
    // What is mounted there has globs of its own, and is listed by its own path.
    if (!order_.recursive || is_another_place(path)) continue;
    Fd below(::openat(fd, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (below && depth < kDeepest)
      add_directory(std::move(below), path, shown, depth + 1);
    else
      whole_ = false;
  }
}

// Takes entries off the end until the answer fits.
void cut_to_size(json::object& answer, std::uint64_t most) {
  json::array& entries = answer["entries"].get_array();
  while (!entries.empty() && canonical_json(answer).size() > most) {
    answer["truncated"] = true;
    entries.resize(entries.size() - std::max<std::size_t>(1, entries.size() / 8));
  }
}

json::object Listing::answer() && {
  std::ranges::sort(found_, {}, &Entry::name);
  json::array entries;
  for (const Entry& entry : found_) {
    json::object shown{{"name", to_utf8(entry.name)},
                       {"type", entry.directory ? "directory" : "file"}};
    if (!entry.directory) shown["size"] = entry.size;
    entries.push_back(std::move(shown));
  }
  json::object answer{
      {"path", target_.shown()}, {"entries", std::move(entries)}, {"truncated", !whole_}};
  if (left_out_ > 0) answer["left_out"] = left_out_;
  cut_to_size(answer, order_.max_answer);
  return answer;
}

json::object list_all_places(const FileOrder& order) {
  std::vector<std::string> names;
  names.reserve(order.places.size());
  for (const FilePlace& place : order.places)
    names.push_back(place.inside);
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  json::array entries;
  for (const std::string& name : names) {
    struct stat status{};
    if (::lstat(name.c_str(), &status) != 0) continue;
    json::object entry{{"name", name}, {"type", S_ISDIR(status.st_mode) ? "directory" : "file"}};
    if (S_ISREG(status.st_mode)) entry["size"] = status.st_size;
    entries.push_back(std::move(entry));
  }
  json::object answer{{"path", "/"}, {"entries", std::move(entries)}, {"truncated", false}};
  cut_to_size(answer, order.max_answer);
  return answer;
}

}  // namespace

Result<json::object> list_a_directory(const FileOrder& order) {
  const bool several = std::ranges::any_of(order.places, [&order](const FilePlace& place) {
    return place.inside != order.places.front().inside;
  });
  if (several && (order.path.empty() || order.path == "." || order.path == "/"))
    return list_all_places(order);
  auto target = find_target(FileAction::list, order);
  if (!target) return std::unexpected(std::move(target.error()));
  if (target->file_place) return list_all_places(order);
  if (!target->may_allow_below(target->relative))
    return fail(Reason::argument,
                quoted(target->shown()) + " holds nothing that this tool may list",
                "it may list " + list_places(order));
  auto path = open_confined(target->rules(true), target->relative, PathAccess::list);
  if (!path) return std::unexpected(explain(*target, std::move(path.error())));
  Listing listing(order, *target);
  listing.add_directory(std::move(path->fd), target->relative == "." ? "" : target->relative, "",
                        0);
  return std::move(listing).answer();
}

}  // namespace sallyport
