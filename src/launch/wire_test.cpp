#include "launch/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace sallyport {
namespace {

using namespace std::string_literals;

Claim rich_claim() {
  Claim claim{.tenant = "acme", .spec = {}};
  CellSpec& spec = claim.spec;
  spec.call_id = "0123456789abcdef0123456789abcdef";
  spec.command = {"python3", "-B", "/workspace/main.py", ""};
  spec.environment = {{"A", "1"}, {"B", ""}};
  spec.grants = {{.host = "/srv/a", .inside = "/a", .write = true},
                 {.host = "/srv/b", .inside = "/b", .write = false}};
  spec.write_mode = WriteMode::copy;
  spec.inputs = {{.host = "", .name = "main.py", .content = "print(1)\0\n"s},
                 {.host = "/etc/hosts", .name = "h", .content = {}}};
  spec.outputs = {"*.csv"};
  spec.output_directory = "/out";
  spec.root = "/srv/root";
  spec.cwd = "/tmp";
  spec.hostname = "box";
  spec.use_stdin = true;
  spec.input = "in\0put"s;
  spec.limits.timeout = std::chrono::milliseconds(1234);
  spec.limits.cpus = 0.25;
  spec.limits.io = Rate{{1'000'000}};
  spec.syscalls = "node";
  spec.client.files = {{.host = "/home/ann/p", .inside = "/p", .write = true}};
  spec.client.uid = 1000;
  spec.warm = {.interpreter = Interpreter::python, .preload = {"json", "xml.dom"}};
  spec.requirements = {{.layer = "landlock", .level = 3}, {.layer = "cgroup", .level = {}}};
  return claim;
}

Outcome rich_outcome() {
  Outcome outcome;
  outcome.call_id = "id";
  outcome.status = Status::killed;
  outcome.reason = Reason::memory;
  outcome.message = "killed";
  outcome.hint = "hint";
  outcome.output = "out\0put"s;
  outcome.error = "\xff\xfe";
  outcome.exit_code = -1;
  outcome.truncated = true;
  outcome.limits_hit = {"disk"};
  outcome.refused_syscalls = {{"bpf", 2}, {"mount", std::numeric_limits<std::uint64_t>::max()}};
  outcome.artifacts = {{.name = "a/b", .size = 7}};
  outcome.findings = {{.kind = "not_exported", .path = "x", .why = "y"}};
  outcome.usage = {.wall_us = -1, .cpu_user_us = 2, .read_bytes = 3, .final = false};
  outcome.layers = {{.name = "landlock", .value = "7", .in_force = true, .level = 7}};
  outcome.timings = {{.step = "prepare", .microseconds = 12}};
  return outcome;
}

TEST(Wire, CarriesEveryFieldOfAClaim) {
  const Claim claim = rich_claim();
  const auto bytes = encode(claim);
  ASSERT_TRUE(bytes);
  const auto read = decode_claim(*bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(*encode(*read), *bytes);
  const CellSpec &a = claim.spec, &b = read->spec;
  EXPECT_EQ(read->tenant, "acme");
  EXPECT_EQ(a.call_id, b.call_id);
  EXPECT_EQ(a.command, b.command);
  EXPECT_EQ(a.environment, b.environment);
  ASSERT_EQ(b.grants.size(), 2U);
  EXPECT_EQ(b.grants[0].host, "/srv/a");
  EXPECT_EQ(b.grants[0].inside, "/a");
  EXPECT_TRUE(b.grants[0].write);
  EXPECT_FALSE(b.grants[1].write);
  EXPECT_EQ(b.write_mode, WriteMode::copy);
  ASSERT_EQ(b.inputs.size(), 2U);
  EXPECT_EQ(b.inputs[0].content, "print(1)\0\n"s);
  EXPECT_EQ(b.inputs[1].host, "/etc/hosts");
  EXPECT_FALSE(b.inputs[1].content);
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_EQ(a.output_directory, b.output_directory);
  EXPECT_EQ(a.root, b.root);
  EXPECT_EQ(a.cwd, b.cwd);
  EXPECT_EQ(a.hostname, b.hostname);
  EXPECT_EQ(a.use_stdin, b.use_stdin);
  EXPECT_EQ(a.input, b.input);
  EXPECT_EQ(a.limits.timeout, b.limits.timeout);
  EXPECT_EQ(a.limits.cpus, b.limits.cpus);
  EXPECT_EQ(a.limits.io, b.limits.io);
  EXPECT_EQ(a.syscalls, b.syscalls);
  EXPECT_EQ(b.warm, a.warm);
  ASSERT_EQ(b.requirements.size(), 2U);
  EXPECT_EQ(b.requirements[0].level, 3U);
  EXPECT_FALSE(b.requirements[1].level);
}

TEST(Wire, CarriesEveryFieldOfAnOutcome) {
  const Outcome a = rich_outcome();
  const auto bytes = encode(a);
  ASSERT_TRUE(bytes);
  const auto b = decode_outcome(*bytes);
  ASSERT_TRUE(b);
  EXPECT_EQ(*encode(*b), *bytes);
  EXPECT_EQ(a.status, b->status);
  EXPECT_EQ(a.reason, b->reason);
  EXPECT_EQ(a.output, b->output);
  EXPECT_EQ(a.error, b->error);
  EXPECT_EQ(a.exit_code, b->exit_code);
  EXPECT_EQ(a.refused_syscalls, b->refused_syscalls);
  EXPECT_EQ(b->artifacts.at(0).size, 7U);
  EXPECT_EQ(b->findings.at(0).why, "y");
  EXPECT_EQ(b->usage.wall_us, -1);
  EXPECT_EQ(b->usage.read_bytes, 3U);
  EXPECT_FALSE(b->usage.write_bytes);
  EXPECT_FALSE(b->usage.final);
  EXPECT_EQ(b->layers.at(0).level, 7U);
  EXPECT_EQ(b->timings.at(0).microseconds, 12);
}

TEST(Wire, RefusesEveryTruncationAndEveryExtraByte) {
  const std::string claim = *encode(rich_claim()), outcome = *encode(rich_outcome());
  for (std::size_t size = 0; size < claim.size(); ++size)
    EXPECT_FALSE(decode_claim(std::string_view(claim).substr(0, size))) << size;
  for (std::size_t size = 0; size < outcome.size(); ++size)
    EXPECT_FALSE(decode_outcome(std::string_view(outcome).substr(0, size))) << size;
  EXPECT_FALSE(decode_claim(claim + '\0'));
  EXPECT_FALSE(decode_outcome(outcome + '\0'));
  EXPECT_FALSE(decode_claim(outcome));
  EXPECT_FALSE(decode_outcome(claim));
}

TEST(Wire, WhatItAcceptsOfAChangedClaimItWritesBackTheSame) {
  const std::string claim = *encode(rich_claim());
  std::mt19937 random(20261116);
  for (std::size_t i = 0; i < claim.size(); ++i) {
    for (const int change : {1, 0x80, 0xff, static_cast<int>(random() % 255) + 1}) {
      std::string changed = claim;
      changed[i] = static_cast<char>(changed[i] ^ change);
      if (const auto read = decode_claim(changed)) EXPECT_EQ(*encode(*read), changed) << i;
    }
  }
}

TEST(Wire, RefusesTextThatEndsEarlierThanItIsChecked) {
  const auto with = [](auto change) {
    Claim claim = rich_claim();
    change(claim);
    return decode_claim(*encode(claim)).has_value();
  };
  EXPECT_TRUE(with([](Claim&) {}));
  EXPECT_FALSE(with([](Claim& claim) { claim.tenant = "a\0b"s; }));
  EXPECT_FALSE(with([](Claim& claim) { claim.spec.grants[0].host = "/srv/a\0/x"s; }));
  EXPECT_FALSE(with([](Claim& claim) { claim.spec.command[1] = "\0"s; }));
  EXPECT_FALSE(with([](Claim& claim) { claim.spec.environment[0].second = "\0"s; }));
  EXPECT_FALSE(with([](Claim& claim) { claim.spec.inputs[0].name = "a\0"s; }));
}

TEST(Wire, RefusesNumbersThatNoLimitCanBe) {
  const auto with = [](auto change) {
    Claim claim = rich_claim();
    change(claim.spec.limits);
    return decode_claim(*encode(claim)).has_value();
  };
  EXPECT_FALSE(with([](Limits& l) { l.timeout = Duration(-1); }));
  EXPECT_FALSE(with([](Limits& l) { l.cpu = Duration::max(); }));
  EXPECT_FALSE(with([](Limits& l) { l.cpus = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_FALSE(with([](Limits& l) { l.cpus = std::numeric_limits<double>::infinity(); }));
  EXPECT_FALSE(with([](Limits& l) { l.cpus = -1; }));
  EXPECT_FALSE(with([](Limits& l) { l.memory = {std::numeric_limits<std::uint64_t>::max()}; }));
}

TEST(Wire, RefusesWhatIsTooLargeToTravel) {
  Claim claim = rich_claim();
  claim.spec.input = std::string(kLargestClaim, 'x');
  EXPECT_FALSE(encode(claim));
  claim = rich_claim();
  claim.spec.command.assign(5000, "x");
  EXPECT_FALSE(encode(claim));
  EXPECT_FALSE(decode_claim(std::string(kLargestClaim + 1, '\0')));
  // A count that promises more than there is costs nothing.
  EXPECT_FALSE(decode_claim(encode(rich_claim())->substr(0, 20) + "\xff\xff\xff\x7f"));
}

}  // namespace
}  // namespace sallyport
