#include "door/cli/put_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/parse.h"
#include "base/text.h"
#include "door/cli/process.h"

namespace sallyport {

Result<void> put_new_file(int directory, const std::string& name, std::string_view content) {
  const auto refuse = [&name](std::string_view why) {
    return fail(Reason::argument, quoted(name) + " cannot be put here: " + std::string(why));
  };
  if (name.empty() || name.starts_with('/') || irregular_component(name))
    return refuse("it is not a plain relative path");
  Fd current;
  int parent = directory;
  std::string_view rest = name;
  while (rest.contains('/')) {
    const std::string part(take(rest, '/'));
    if (::mkdirat(parent, part.c_str(), 0777) != 0 && errno != EEXIST)
      return refuse(std::strerror(errno));
    Fd next(::openat(parent, part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return refuse(std::strerror(errno));
    current = std::move(next);
    parent = current.get();
  }
  const Fd file(::openat(parent, std::string(rest).c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file) return refuse(errno == EEXIST ? "there is one already" : std::strerror(errno));
  if (!write_all(file.get(), content)) return refuse("it could not be written whole");
  return {};
}

}  // namespace sallyport
