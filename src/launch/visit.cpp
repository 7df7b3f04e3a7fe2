#include "launch/visit.h"

#include <unistd.h>

#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "base/wire.h"
#include "cell/client_files.h"
#include "kernel/memory_file.h"
#include "tool/denied_paths.h"

namespace sallyport {
namespace {

constexpr std::uint32_t kVisitVersion = 0x32565053;  // "SPV2"
// Whom the kernel cannot name in our user namespace is this one, and so are all others like it.
constexpr uid_t kNobody = 65534;

std::unexpected<Error> refuse(std::string what, std::string hint = {}) {
  return fail(Reason::cannot_enforce, "the launcher refused the call: " + std::move(what),
              std::move(hint));
}

}  // namespace

template <class Wire>
void visit(Wire& wire, Visit& value) {
  std::uint32_t version = kVisitVersion;
  visit(wire, version);
  if constexpr (Wire::kReads)
    if (version != kVisitVersion) return wire.refuse();
  auto& [tool, command, inputs, input, outputs, files] = value;
  visit(wire, tool);
  visit(wire, command);
  visit_list(wire, inputs, [](Wire& to, VisitInput& file) {
    visit(to, file.name);
    visit(to, file.digest);
  });
  visit(wire, input);
  visit(wire, outputs);
  visit_list(wire, files, [](Wire& to, ClientFile& file) {
    auto& [host, inside, write, fd] = file;
    (void)fd;
    visit(to, host);
    visit(to, inside);
    visit(to, write);
  });
}

Result<std::string> encode(const Visit& visit) {
  return write_wire(visit, kLargestVisit, "what is to be shown");
}

Result<Visit> decode_visit(std::string_view bytes) {
  return read_wire<Visit>(bytes, kLargestVisit, "a visit");
}

std::string visit_digest(std::string_view content) {
  return sha256_hex(content);
}

VisitInput visit_input(std::string name, std::string_view content) {
  return {.name = std::move(name), .digest = visit_digest(content)};
}

Result<ShowingClient> read_visit(const LaunchCeiling& ceiling, Packet packet, uid_t uid,
                                 gid_t gid) {
  const auto too_much = [](std::string what, std::string hint = {}) {
    return fail(Reason::permission, "the service refused the files: " + std::move(what),
                std::move(hint));
  };
  if (uid == kNobody || gid == kNobody || uid == static_cast<uid_t>(-1) ||
      gid == static_cast<gid_t>(-1))
    return too_much("who shows them cannot be told");
  // Without root, nobody can be given the rights of another.
  if (::geteuid() != 0 && uid != ::geteuid())
    return too_much("it runs as another user", "a service of root can show files of any user");
  const auto bytes = read_memory_file(packet.fds.front().get(), kLargestVisit);
  if (!bytes) return too_much("what it was told cannot be read");
  auto visit = decode_visit(*bytes);
  if (!visit) return std::unexpected(std::move(visit.error()));
  if (visit->files.empty() || visit->files.size() != packet.fds.size() - 1 ||
      visit->files.size() > kMostVisitFiles)
    return too_much("there are not as many descriptors as names");
  const auto gives = [&](bool write) {
    return std::ranges::any_of(ceiling.clients,
                               [&](const ClientTool& tool) { return tool.write || !write; });
  };
  const bool writes = std::ranges::any_of(visit->files, &ClientFile::write);
  if (!gives(writes))
    return too_much(std::string("no tool of its policy lets a caller show it files") +
                        (writes && gives(false) ? " to write to" : ""),
                    std::string("a tool does with `files: { client: ") +
                        (writes ? "write" : "read") + " }` in its policy");

  ShowingClient visitor{.visit = std::move(*visit), .fds = {}, .uid = uid, .gid = gid};
  for (std::size_t i = 0; i < visitor.visit.files.size(); ++i) {
    ClientFile& file = visitor.visit.files[i];
    file.fd = packet.fds[i + 1].get();
    auto path = real_path(file);
    if (!path) return std::unexpected(std::move(path.error()));
    // The name is what the record of the call will have.
    if (*path != file.host)
      return too_much(quoted(file.host) + " is not what its descriptor stands for");
    visitor.fds.push_back(std::move(packet.fds[i + 1]));
  }
  return visitor;
}

namespace {

bool has_same_grants(const CellSpec& spec, const CellSpec& frame) {
  return std::ranges::equal(spec.grants, frame.grants, [](const Grant& a, const Grant& b) {
    return a.host == b.host && a.inside == b.inside && a.write == b.write &&
           a.optional == b.optional;
  });
}

// Everything by which a front could make the client's command do something else than it would in
// the tool's own cell.
bool is_call_of(const ClientTool& tool, const Visit& visit, const CellSpec& spec) {
  const CellSpec& frame = tool.frame;
  const CellSpec usual;
  std::vector<std::string> outputs = frame.outputs;
  for (const std::string& glob : visit.outputs)
    if (std::ranges::find(outputs, glob) == outputs.end()) outputs.push_back(glob);
  return tool.name == visit.tool && spec.environment == frame.environment &&
         has_same_grants(spec, frame) && spec.write_mode == frame.write_mode &&
         spec.outputs == outputs && spec.root.empty() && spec.cwd == usual.cwd &&
         spec.hostname == usual.hostname && spec.syscalls == frame.syscalls &&
         spec.network.allow == frame.network.allow && spec.network.deny == frame.network.deny &&
         spec.network.grants == frame.network.grants && spec.warm == Warmth{} &&
         (tool.write || std::ranges::none_of(visit.files, &ClientFile::write));
}

bool is_call_of(const Visit& visit, const CellSpec& spec) {
  const auto same_file = [](const InputFile& input, const VisitInput& shown) {
    return input.content && input.name == shown.name &&
           visit_digest(*input.content) == shown.digest;
  };
  const auto same_share = [](const ClientFile& a, const ClientFile& b) {
    return a.host == b.host && a.inside == b.inside && a.write == b.write;
  };
  return spec.command == visit.command &&
         std::ranges::equal(spec.inputs, visit.inputs, same_file) &&
         spec.input.has_value() == visit.input.has_value() &&
         (!spec.input || visit_digest(*spec.input) == *visit.input) &&
         std::ranges::equal(spec.client.files, visit.files, same_share);
}

}  // namespace

Result<void> check_visit_claim(const LaunchCeiling& ceiling, const ShowingClient& visitor,
                               CellSpec& spec) {
  if (!is_call_of(visitor.visit, spec) || spec.client.uid != visitor.uid)
    return refuse("it is not the call for which a client has shown its files");
  if (std::ranges::none_of(ceiling.clients, [&](const ClientTool& tool) {
        return is_call_of(tool, visitor.visit, spec);
      }))
    return refuse("no tool of the policy that lets callers show it such files has such a cell");
  if (auto places = check_client_places(spec); !places) return places;
  spec.client.files = visitor.visit.files;
  spec.client.uid = visitor.uid;
  spec.client.gid = visitor.gid;

  CellSpec shown;
  shown.limits.timeout = spec.limits.timeout;
  for (const ClientFile& file : spec.client.files) {
    auto path = real_path(file);
    if (!path) return std::unexpected(std::move(path.error()));
    shown.grants.push_back({.host = std::move(*path), .inside = file.inside});
  }
  return check_denied_paths(ceiling.denied, shown);
}

}  // namespace sallyport
