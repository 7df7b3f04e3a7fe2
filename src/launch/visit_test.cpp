#include "launch/visit.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/memory_file.h"
#include "sallyport/policy.h"

namespace sallyport {
namespace {

using testing::HasSubstr;

Visit some_visit() {
  return {.tool = "run",
          .command = {"cat", "/p/x"},
          .inputs = {visit_input("script", "true")},
          .input = visit_digest("in"),
          .outputs = {"*.txt"},
          .files = {{.host = "/usr", .inside = "/p", .write = false}}};
}

TEST(Visit, HasOneFormOnly) {
  const std::string bytes = encode(some_visit()).value();
  const auto read = decode_visit(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(encode(*read).value(), bytes);
  EXPECT_EQ(read->command, some_visit().command);
  EXPECT_EQ(read->inputs, some_visit().inputs);
  EXPECT_EQ(read->files[0].inside, "/p");
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_visit(std::string_view(bytes).substr(0, size))) << size;
  EXPECT_FALSE(decode_visit(bytes + '\0'));
  Visit with_nul = some_visit();
  with_nul.files[0].inside = std::string("/p\0/x", 5);
  EXPECT_FALSE(decode_visit(encode(with_nul).value()));
  Visit large = some_visit();
  large.command.emplace_back(kLargestVisit, 'x');
  EXPECT_FALSE(encode(large));
}

LaunchCeiling ceiling_of(const std::string& tools) {
  const auto policy = Policy::parse("version: 1\nroles: {r: [p]}\ntools:\n" + tools);
  EXPECT_TRUE(policy);
  return make_launch_ceiling(policy->rules(), "", UidRange{}).value();
}
constexpr const char* kReads =
    "  run: {use: run_command, needs: [p], commands: [cat], files: {client: read}}\n";

Packet packet_with(const Visit& visit, std::vector<const char*> paths) {
  Packet packet{.kind = PacketKind::visit, .fds = {}};
  packet.fds.push_back(std::move(*make_memory_file(encode(visit).value())));
  for (const char* path : paths)
    packet.fds.emplace_back(::open(path, O_PATH | O_CLOEXEC));
  return packet;
}

TEST(Visit, IsReadWithItsDescriptors) {
  const auto visitor =
      read_visit(ceiling_of(kReads), packet_with(some_visit(), {"/usr"}), ::geteuid(), ::getegid());
  ASSERT_TRUE(visitor) << visitor.error().message;
  EXPECT_EQ(visitor->visit.files[0].fd, visitor->fds[0].get());
  EXPECT_EQ(visitor->uid, ::geteuid());
}

TEST(Visit, IsRefusedWithAReason) {
  const auto refusal = [](const std::string& tools, Packet packet, uid_t uid = ::geteuid()) {
    const auto visitor = read_visit(ceiling_of(tools), std::move(packet), uid, 100);
    return visitor ? std::string("no refusal") : visitor.error().message;
  };
  EXPECT_THAT(refusal("  run: {use: run_command, needs: [p], commands: [cat]}\n",
                      packet_with(some_visit(), {"/usr"})),
              HasSubstr("no tool of its policy lets a caller show it files"));
  Visit writes = some_visit();
  writes.files[0].write = true;
  EXPECT_THAT(refusal(kReads, packet_with(writes, {"/usr"})), HasSubstr("to write to"));
  EXPECT_THAT(refusal(kReads, packet_with(some_visit(), {"/usr", "/usr"})),
              HasSubstr("as many descriptors"));
  EXPECT_THAT(refusal(kReads, packet_with(some_visit(), {})), HasSubstr("as many descriptors"));
  EXPECT_THAT(refusal(kReads, packet_with(some_visit(), {"/dev/null"})),
              HasSubstr("neither a file nor a directory"));
  // Whom the kernel cannot name may be anybody.
  EXPECT_THAT(refusal(kReads, packet_with(some_visit(), {"/usr"}), 65534),
              HasSubstr("who shows them"));
}

TEST(Visit, HasToBeTheClaims) {
  const LaunchCeiling ceiling = ceiling_of(kReads);
  const auto visitor =
      read_visit(ceiling, packet_with(some_visit(), {"/usr"}), ::geteuid(), ::getegid());
  ASSERT_TRUE(visitor);
  CellSpec spec = ceiling.clients[0].frame;
  spec.command = some_visit().command;
  spec.inputs = {{.host = {}, .name = "script", .content = "true"}};
  spec.input = "in";
  spec.outputs = {"*.txt"};
  spec.client.files = some_visit().files;
  spec.client.uid = ::geteuid();
  CellSpec same = spec;
  ASSERT_TRUE(check_visit_claim(ceiling, *visitor, same));
  EXPECT_EQ(same.client.files[0].fd, visitor->fds[0].get());
  EXPECT_EQ(same.client.gid, ::getegid());
  // The globs that are collected leave the cell.
  CellSpec more = spec;
  more.outputs.emplace_back("**");
  EXPECT_FALSE(check_visit_claim(ceiling, *visitor, more));
  CellSpec profile = spec;
  profile.syscalls = "build";
  EXPECT_FALSE(check_visit_claim(ceiling, *visitor, profile));
  CellSpec content = spec;
  content.inputs[0].content = "false";
  EXPECT_FALSE(check_visit_claim(ceiling, *visitor, content));
}

}  // namespace
}  // namespace sallyport
