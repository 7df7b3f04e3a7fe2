#include "boundary/artifacts.h"

#include <fcntl.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/fd.h"
#include "base/file.h"
#include "cell/remove_tree.h"

namespace sallyport {

Result<ArtifactSpace> ArtifactSpace::make() {
  std::string path = "/tmp/sallyport-artifacts-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr)
    return fail(
        Reason::unavailable,
        std::string("there is no room for the files that come back: ") + std::strerror(errno),
        "/tmp must be writable");
  return ArtifactSpace(std::move(path));
}

ArtifactSpace::ArtifactSpace(ArtifactSpace&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

ArtifactSpace& ArtifactSpace::operator=(ArtifactSpace&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

ArtifactSpace::~ArtifactSpace() {
  if (path_.empty()) return;
  const Fd parent(::open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::uint64_t removed = 0;
  auto done = remove_tree(parent.get(), path_.c_str() + std::strlen("/tmp/"), removed);
  (void)done;  // what cannot be removed is left in /tmp, closed to everybody else
}

std::map<std::string, std::string> ArtifactSpace::take(const std::vector<Artifact>& artifacts,
                                                       std::vector<Finding>& findings) const {
  std::map<std::string, std::string> contents;
  const Fd directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const Artifact& artifact : artifacts) {
    // They were put here by us, in a directory of our own: names and sizes are as listed.
    if (auto content = read_at(directory.get(), artifact.name.c_str()))
      contents.emplace(artifact.name, std::move(*content));
    else
      findings.push_back({"not_exported", artifact.name, "it could not be read back"});
  }
  return contents;
}

}  // namespace sallyport
