#include "tool/file_work.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/base64.h"
#include "base/fd.h"
#include "base/text.h"
#include "tool/file_edit.h"
#include "tool/file_list.h"
#include "tool/file_search.h"
#include "tool/file_target.h"
#include "tool/file_text.h"
#include "tool/file_write.h"

namespace sallyport {
namespace {

Result<json::object> read_a_file(const FileOrder& order) {
  auto target = find_file(FileAction::read, order);
  if (!target) return std::unexpected(std::move(target.error()));
  auto path = open_confined(target->rules(true), target->relative, PathAccess::read);
  if (!path) return std::unexpected(explain(*target, std::move(path.error())));
  struct stat status{};
  if (::fstat(path->fd.get(), &status) != 0)
    return fail(Reason::unavailable, SysError{"fstat", "", errno});
  const auto size = static_cast<std::uint64_t>(status.st_size);
  const std::uint64_t left = size > order.offset ? size - order.offset : 0;
  const std::uint64_t most =
      std::min({left, order.length.value_or(left), std::uint64_t{order.max_answer}});
  auto bytes = read_range(path->fd.get(), order.offset, static_cast<std::size_t>(most));
  if (!bytes) return std::unexpected(std::move(bytes.error()));

  // As much as the answer has room for: what is escaped, or in base64, takes more than it is.
  for (std::string_view part = *bytes;;) {
    json::object answer{{"path", target->shown()},
                        {"size", static_cast<std::int64_t>(size)},
                        {"offset", static_cast<std::int64_t>(order.offset)}};
    const bool at_end = order.offset + part.size() >= size;
    // Half a character and nothing more is not text: the caller would never get past it.
    if (const auto text = as_text(part, at_end); text && text->empty() == part.empty()) {
      part = *text;
      answer["content"] = *text;
    } else {
      answer["base64"] = to_base64(part);
    }
    const std::uint64_t next = order.offset + part.size();
    answer["truncated"] = next < size;
    if (next < size) answer["next_offset"] = static_cast<std::int64_t>(next);
    const std::size_t needed = canonical_json(answer).size();
    if (needed <= order.max_answer) return answer;
    if (part.empty())
      return fail(Reason::result_too_large, "not even an empty answer fits into max_result");
    part = part.substr(0, std::min(part.size() - 1, part.size() * order.max_answer / needed));
  }
}

}  // namespace

Result<json::object> do_file_work(FileAction action, const FileOrder& order) {
  switch (action) {
    case FileAction::read:
      return read_a_file(order);
    case FileAction::write:
      return write_a_file(order);
    case FileAction::edit:
      return edit_a_file(order);
    case FileAction::list:
      return list_a_directory(order);
    case FileAction::search:
      return search_files(order);
  }
  return fail(Reason::internal, "there is no such work");
}

}  // namespace sallyport
