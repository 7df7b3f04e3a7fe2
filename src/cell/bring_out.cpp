#include "cell/bring_out.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "cell/collect.h"
#include "cell/copy_back.h"
#include "cell/root_build.h"
#include "kernel/syscalls.h"

namespace sallyport {
namespace {

constexpr std::uint64_t kMaxArtifacts = 1000;

// One pass over a file. `changes`: what has a fingerprint is covered where it stands. How much had.
Sys<std::uint64_t> cover_file(int file, const Fingerprints& fingerprints, bool changes) {
  FingerprintCover cover(fingerprints);
  std::string piece(std::size_t{64} << 10, '\0'), shown;
  off_t read = 0, written = 0;
  for (bool more = true; more;) {
    const ssize_t size = ::pread(file, piece.data(), piece.size(), read);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return sys_fail("pread", "artifact");
    read += size;
    more = size > 0;
    shown.clear();
    cover.feed(std::string_view(piece).substr(0, static_cast<std::size_t>(size)), shown);
    if (!more) cover.finish(shown);
    // Never past what was read: a value is covered by as many bytes.
    if (changes &&
        ::pwrite(file, shown.data(), shown.size(), written) != static_cast<ssize_t>(shown.size()))
      return sys_fail("pwrite", "artifact");
    written += static_cast<off_t>(shown.size());
  }
  return cover.found();
}

// Files that go back to the caller are output too. One that cannot be looked through does not go.
void cover_artifacts(const Fingerprints& fingerprints, int directory, Outcome& outcome) {
  std::erase_if(outcome.artifacts, [&](const Artifact& artifact) {
    const char* name = artifact.name.c_str();
    const Fd file(
        sys::openat2(directory, name, O_RDWR | O_CLOEXEC, RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH));
    // The directory may be another user's, who could have put something else in its place.
    struct stat status{};
    const bool ours = file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
                      status.st_nlink == 1;
    auto found = ours ? cover_file(file.get(), fingerprints, false)
                      : Sys<std::uint64_t>(sys_fail("openat2", "artifact", file ? EBADF : errno));
    if (found && *found > 0) {
      found = cover_file(file.get(), fingerprints, true);
      if (found)
        outcome.findings.push_back(
            {"credential_covered", artifact.name, "a credential of the call was in it"});
    }
    if (found) return false;
    ::unlinkat(directory, name, 0);
    outcome.findings.push_back({"not_exported", artifact.name, describe(found.error())});
    return true;
  });
}

void collect(const CellSpec& spec, int scratch, const Fingerprints& fingerprints,
             Outcome& outcome) {
  if (spec.outputs.empty()) return;
  Fd workspace(::openat(scratch, "workspace", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  const char* place = spec.output_directory.empty() ? "." : spec.output_directory.c_str();
  Fd destination(::open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto collected = collect_outputs(
      workspace.get(), spec.outputs, destination.get(),
      {.max_files = kMaxArtifacts, .max_bytes = spec.limits.disk.bytes}, outcome.findings);
  if (collected)
    outcome.artifacts = std::move(*collected);
  else
    outcome.findings.push_back({"not_exported", "", collected.error().message});
  if (!fingerprints.of.empty()) cover_artifacts(fingerprints, destination.get(), outcome);
}

void copy_changes_back(const CellSpec& spec, const Prepared& cell, int scratch, Outcome& outcome) {
  for (std::size_t i = 0; i < cell.copies.size(); ++i) {
    char name[16];
    copy_directory_name(static_cast<int>(i), name);
    Fd directory(::openat(scratch, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    Fd upper(::openat(directory.get(), "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const CopyTarget& target = cell.copies[i];
    const auto marks = cell.plan.privileged ? OverlayMarks::trusted : OverlayMarks::user;
    auto copied =
        copy_back(upper.get(), target.directory.get(),
                  {.uid = target.owner.st_uid, .gid = target.owner.st_gid}, marks,
                  {.max_bytes = spec.limits.disk.bytes, .prefix = target.prefix}, outcome.findings);
    if (!copied) {
      outcome.status = Status::error;
      outcome.reason = copied.error().reason;
      outcome.message = "the changes could not all be copied back: " + copied.error().message;
      outcome.hint = copied.error().hint;
    }
  }
}

}  // namespace

void bring_out(const CellSpec& spec, const Prepared& cell, int scratch,
               const Fingerprints& fingerprints, Outcome& outcome) {
  collect(spec, scratch, fingerprints, outcome);
  copy_changes_back(spec, cell, scratch, outcome);
}

}  // namespace sallyport
