#include "cell/late.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "cell/root_build.h"
#include "kernel/syscalls.h"

namespace sallyport {
namespace {

constexpr std::size_t kLargestInputs = std::size_t{256} << 10;
constexpr std::size_t kLargestOrder = std::size_t{64} << 10;

Sys<void> write_all(int file, std::string_view bytes, const char* name) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(file, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return sys_fail("write", name);
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

}  // namespace

CellSpec class_of(const CellSpec& spec) {
  CellSpec part = spec;
  part.call_id.clear();
  part.command.clear();
  part.environment.clear();
  part.inputs.clear();
  part.outputs.clear();
  part.output_directory.clear();
  part.input.reset();
  part.limits.timeout = {};
  return part;
}

bool may_be_parked(const CellSpec& spec) {
  const auto unfit = [](const Grant& grant) {
    return grant.write || grant.optional || grant.inside == "/workspace" ||
           (grant.inside.empty() && grant.host == "/workspace");
  };
  return spec.network.allow.empty() && spec.observation == nullptr && spec.client.files.empty() &&
         std::ranges::none_of(spec.grants, unfit);
}

bool fits_parked(const CellSpec& spec) {
  std::size_t inputs = 0, order = 0;
  for (const InputFile& input : spec.inputs) {
    if (!input.content) return false;
    inputs += input.content->size();
  }
  for (const std::string& word : spec.command)
    order += word.size() + sizeof(char*);
  for (const auto& [name, value] : spec.environment)
    order += name.size() + value.size() + sizeof(char*);
  return inputs <= kLargestInputs && order <= kLargestOrder;
}

std::string encode_order(std::span<const std::string> words,
                         std::span<const std::string> environment) {
  std::string order(4, '\0');
  const auto number = [&](std::size_t value) {
    for (int shift = 0; shift < 32; shift += 8)
      order.push_back(static_cast<char>((value >> shift) & 0xff));
  };
  for (const auto list : {words, environment}) {
    number(list.size());
    for (const std::string& word : list) {
      number(word.size());
      order.append(word);
    }
  }
  for (int i = 0; i < 4; ++i)
    order[static_cast<std::size_t>(i)] = static_cast<char>(((order.size() - 4) >> (8 * i)) & 0xff);
  return order;
}

Sys<void> put_inputs(const CellSpec& spec, const Plan& plan, int scratch) {
  if (spec.inputs.empty()) return {};
  Fd workspace(::openat(scratch, "workspace", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!workspace) return sys_fail("openat", "workspace");
  for (const InputFile& input : spec.inputs) {
    const char* name = input.name.c_str();
    if (auto done = make_parents(workspace.get(), name, plan.outside); !done) return done;
    constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    Fd file(sys::openat2(workspace.get(), name, kFlags,
                         RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV, 0600));
    if (!file) return sys_fail("openat2", name);
    if (auto done = write_all(file.get(), *input.content, name); !done) return done;
    if (::fchmod(file.get(), 0644) != 0) return sys_fail("fchmod", name);
    if (::fchown(file.get(), plan.outside.uid, plan.outside.gid) != 0)
      return sys_fail("fchown", name);
  }
  return {};
}

bool is_current(const Plan& plan) {
  return std::ranges::all_of(plan.mounts, [](const HostMount& mount) {
    struct stat now{};
    return !mount.grant ||
           (::lstat(mount.source.c_str(), &now) == 0 && now.st_dev == mount.expected.st_dev &&
            now.st_ino == mount.expected.st_ino);
  });
}

}  // namespace sallyport
