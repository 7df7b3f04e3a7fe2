// The scratch of a cell: files that are copied in and out, and nothing that one cell leaves to
// another.
#include <sys/sysmacros.h>

#include <future>

#include "containment/host_files.h"

namespace sallyport::test {
namespace {

class Workspace : public CellTest {
 protected:
  const OpenDir host{GetParam()};
  const Canary canary{GetParam()};
  [[nodiscard]] FileOwner self() const { return identity_of(GetParam()); }

  // Runs a script whose outputs go to the host directory.
  [[nodiscard]] Ran collect(const Words& options, const std::string& script) const {
    return run_cell(Words{"--json"} + options + Words{"--", "sh", "-c", script},
                    RunOptions{.as = GetParam(), .cwd = host.path()});
  }
  void expect_refused_to_start(const Words& options, const std::string& says) const {
    const Ran ran = run_cell(options + Words{"--", "sh", "-c", "echo ran"},
                             RunOptions{.as = GetParam(), .patience = std::chrono::seconds(30)});
    EXPECT_EQ(ran.exit_code, 125) << ran.out << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
  }
};

// ---- --in

TEST_P(Workspace, AnInputIsACopyThatTheToolMayChange) {
  write_file(host / "input", "content", GetParam(), 0600);
  const Ran ran = shell_in_cell(GetParam(), {"--in", (host / "input") + ":sub/dir/name"},
                                "cat sub/dir/name; echo more >>sub/dir/name; rm -r sub; ls -A");
  EXPECT_EQ(ran.out, "content") << ran.err;
  EXPECT_EQ(read_file(host / "input"), "content");
}

// CVE-2025-9566 and its like: the host side follows a link or waits for a FIFO.
TEST_P(Workspace, OnlyARegularFileCanBeAnInput) {
  write_file(host / "input", kCanary, GetParam());
  ASSERT_EQ(::symlink("input", (host / "link").c_str()), 0);
  make_directory(host / "dir", self());
  write_file(host / "dir/input", kCanary, GetParam());
  ASSERT_EQ(::symlink("dir", (host / "linked").c_str()), 0);
  ASSERT_EQ(::mkfifo((host / "fifo").c_str(), 0666), 0);
  ASSERT_EQ(::mknod((host / "device").c_str(), S_IFCHR | 0666, ::makedev(1, 5)), 0);
  expect_refused_to_start({"--in", host / "link"}, host / "input");  // names the real path
  expect_refused_to_start({"--in", host / "linked/input"}, host / "dir/input");
  expect_refused_to_start({"--in", "/proc/self/fd/0:x"}, "symlink");
  expect_refused_to_start({"--in", "/dev/stdin:x"}, "symlink");
  expect_refused_to_start({"--in", host / "fifo"}, "not a regular file");
  expect_refused_to_start({"--in", host / "device"}, "device");
  expect_refused_to_start({"--in", "/dev/zero"}, "not a regular file");
  expect_refused_to_start({"--in", host / "dir"}, "not a regular file");
  expect_refused_to_start({"--in", host / "missing"}, "missing");
}

TEST_P(Workspace, AnInputStaysBelowTheWorkspace) {
  write_file(host / "input", "content", GetParam());
  for (const char* name : {"../x", "a/../../x", "/etc/passwd", "/x", "", ".", "a//b", "./x"})
    expect_refused_to_start({"--in", (host / "input:") + name}, "NAME");
  expect_refused_to_start({"--in", (host / "input") + ":x", "--in", (host / "input") + ":x/y"},
                          "x/y");
}

TEST_P(Workspace, AnInputThatDoesNotFitIsRefused) {
  ASSERT_EQ(shell_outside("head -c 3000000 /dev/zero >" + (host / "input")).exit_code, 0);
  expect_refused_to_start({"--disk", "1MiB", "--in", host / "input"}, "--disk");
}

TEST(WorkspaceOfUser, AnInputThatTheUserCannotReadIsRefused) {
  const OpenDir host;
  write_file(host / "secret", kCanary, As::root, 0600);
  const Ran ran = run_cell(As::user, {"--in", host / "secret", "--", "cat", "secret"});
  EXPECT_EQ(ran.exit_code, 125);
  EXPECT_EQ(ran.out, "");
}

// ---- --out

TEST_P(Workspace, WhatComesOutBelongsToTheOwnerOfTheDirectoryItComesTo) {
  const FileOwner owner = GetParam() == As::root ? FileOwner{1234, 5678} : self();
  ASSERT_EQ(::chown(host.path().c_str(), owner.uid, owner.gid), 0);
  const Ran ran = collect({"--out", "**"},
                          "mkdir -p a/b; echo x >a/b/file; echo '#!' >run; chmod 755 run; "
                          "echo y >plain; chmod 600 plain; chmod 777 a");
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  for (const char* name : {"a", "a/b", "a/b/file", "run", "plain"})
    EXPECT_EQ(owner_of(host / name), owner) << name;
  EXPECT_EQ(mode_of(host / "run") & 07777, 0755U);
  EXPECT_EQ(mode_of(host / "plain") & 07777, 0644U);
  EXPECT_EQ(ran.json().at("artifacts").as_array().size(), 3U);
}

// moby#52948 (docker cp), CVE-2024-9675: links, FIFOs and devices on the way out.
TEST_P(Workspace, OnlyARegularFileWithOneNameComesOut) {
  const Ran ran = collect(
      {"--out", "*", "--out", "linked/canary"},
      "ln -s " + canary.path() + " symlink; ln -s " + canary.directory() +
          " linked; mkfifo fifo; echo x >one; ln one two; echo good >good; ln -s /etc/passwd p");
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_EQ(names_in(host.path()), Words{"good"});
  for (const char* name : {"symlink", "fifo", "one", "two", "p", "linked"})
    EXPECT_TRUE(has_finding(ran.json(), "not_exported", name)) << name << ran.out;
}

TEST_P(Workspace, WhatComesOutReplacesALinkAndDoesNotFollowIt) {
  make_directory(host / "hard", self());
  write_file(host / "hard/other", kCanary, GetParam());
  ASSERT_EQ(::symlink(canary.path().c_str(), (host / "symlink").c_str()), 0);
  ASSERT_EQ(::symlink(canary.directory().c_str(), (host / "dir").c_str()), 0);
  ASSERT_EQ(::link((host / "hard/other").c_str(), (host / "link").c_str()), 0);
  ASSERT_EQ(::mkfifo((host / "fifo").c_str(), 0666), 0);
  make_directory(host / "taken", self());
  const Ran ran = collect({"--out", "**"},
                          "for n in symlink link fifo taken; do echo new >$n; done; mkdir dir; "
                          "echo new >dir/canary");
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_TRUE(canary.untouched());
  EXPECT_EQ(read_file(host / "hard/other"), kCanary);
  for (const char* name : {"symlink", "link", "fifo"}) {
    EXPECT_TRUE(S_ISREG(mode_of(host / name))) << name;
    EXPECT_EQ(read_file(host / name), "new\n");
  }
  EXPECT_TRUE(has_finding(ran.json(), "not_exported", "dir/canary")) << ran.out;
  EXPECT_TRUE(has_finding(ran.json(), "not_exported", "taken")) << ran.out;
}

TEST_P(Workspace, SetIdBitsDoNotComeOut) {
  // The filter refuses them; were it gone, the export would still drop them.
  const Ran ran = collect({"--out", "*"}, "echo x >file; chmod 4755 file; chmod 2755 file; true");
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_EQ(mode_of(host / "file") & 07000, 0U);
}

TEST_P(Workspace, AGlobThatLeadsOutIsRefused) {
  for (const char* glob :
       {"../*", "/etc/passwd", "a/../../b", "", ".", "..", "./x", "a//b", "[", "x\\"})
    expect_refused_to_start({"--out", glob}, "--out");
}

TEST_P(Workspace, AGlobThatMatchesNothingIsSaid) {
  const Ran ran = collect({"--out", "*.png", "--out", "dir"}, "mkdir dir; echo x >file");
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_TRUE(has_finding(ran.json(), "not_exported", "*.png"));
  EXPECT_TRUE(has_finding(ran.json(), "not_exported", "dir"));
  EXPECT_EQ(names_in(host.path()), Words{});
}

// "odd names (newline, -rf, non-UTF8)"; bidi and control characters.
TEST_P(Workspace, NamesThatAreNotPlainTextDoNotComeOut) {
  const Ran ran = run_cell({"--json", "--out", "**", "--", "/usr/bin/python3", "-c",
                            "import os\n"
                            "for n in (b'-rf', b'with space', b'*', b'$(id)', b'new\\nline', "
                            "b'\\x1b[31m', b'\\xff\\xfe',"
                            " '\\u202egpj.exe'.encode(), '\\u00e9'.encode(), b'~', b'x' * 255):\n"
                            "  open(n, 'w').close()\n"
                            "os.mkdir(b'bad\\ndir'); open(b'bad\\ndir/f', 'w').close()\n"},
                           RunOptions{.as = GetParam(), .cwd = host.path()});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_EQ(names_in(host.path()),
            (Words{"$(id)", "*", "-rf", "with space", std::string(255, 'x'), "~", "\xc3\xa9"}));
  EXPECT_EQ(ran.json().at("findings").as_array().size(), 5U) << ran.out;
}

TEST_P(Workspace, ADeepTreeComesOutAsFarAsItGoesAndTheRestIsNamed) {
  const Ran ran = run_cell({"--json", "--out", "**", "--", "/usr/bin/python3", "-c",
                            "import os\n"
                            "for i in range(500):\n"
                            "  open('f', 'w').close(); os.mkdir('d' * 100); os.chdir('d' * 100)\n"},
                           RunOptions{.as = GetParam(), .cwd = host.path()});
  EXPECT_EQ(ran.exit_code, 0) << ran.out;
  EXPECT_TRUE(std::filesystem::exists(host / "f"));
  EXPECT_FALSE(ran.json().at("findings").as_array().empty());
}

TEST_P(Workspace, AKilledCallBringsNothingOut) {
  const Ran ran = collect({"--out", "*", "--timeout", "500ms"}, "echo x >file; sleep 60");
  EXPECT_EQ(ran.exit_code, 124) << ran.out;
  EXPECT_EQ(names_in(host.path()), Words{});
}

TEST_P(Workspace, WhatComesOutIsBoundedByTheDisk) {
  const Ran ran = collect({"--out", "*", "--disk", "2MiB"},
                          "truncate -s 9000000 sparse; head -c 1000000 /dev/zero >full; "
                          "head -c 5000000 /dev/zero >more");
  EXPECT_NE(ran.exit_code, 0);  // the disk was full
  std::uintmax_t bytes = 0;
  for (const std::string& name : names_in(host.path()))
    bytes += std::filesystem::file_size(host / name);
  EXPECT_LE(bytes, 2U << 20) << ran.out;
  EXPECT_TRUE(has_finding(ran.json(), "not_exported", "sparse")) << ran.out;
}

// ---- cell against cell

// "Cross-call / cross-tenant leftovers: /tmp, /dev/shm".
TEST_P(Workspace, NothingOfACellIsThereInTheNextOne) {
  const std::string leave = "for d in /tmp /workspace /dev/shm; do echo x >$d/left; ls $d; done";
  EXPECT_EQ(shell_in_cell(GetParam(), {}, leave).out, "left\nleft\nleft\n");
  EXPECT_EQ(shell_in_cell(GetParam(), {}, "ls -A /tmp /workspace /dev/shm").out,
            "/dev/shm:\n\n/tmp:\n\n/workspace:\n");
  // Outside, the same place serves both.
  const OpenDir shared(GetParam());
  shell_outside("echo x >\"$1\"/left", {shared.path()}, GetParam());
  EXPECT_EQ(shell_outside("ls \"$1\"", {shared.path()}, GetParam()).out, "left\n");
}

TEST_P(Workspace, NothingOfACellIsThereInAnotherOneAtTheSameTime) {
  make_directory(host / "signals", self(), 0777);
  const std::string hold =
      "for d in /tmp /workspace /dev/shm; do echo x >$d/held; done; touch /signals/ready; i=0;"
      "while [ ! -e /signals/seen ] && [ $i -lt 600 ]; do sleep 0.05; i=$((i+1)); done; ls /tmp";
  auto first = std::async(std::launch::async, [&] {
    return shell_in_cell(GetParam(),
                         {"--write", (host / "signals") + ":/signals", "--timeout", "60s"}, hold);
  });
  for (int i = 0; i < 600 && ::access((host / "signals/ready").c_str(), F_OK) != 0; ++i)
    ::usleep(50'000);
  EXPECT_EQ(::access((host / "signals/ready").c_str(), F_OK), 0);
  const Ran second = shell_in_cell(
      GetParam(), {},
      "ls -A /tmp /workspace /dev/shm; for p in /proc/[0-9]*; do cat $p/root/tmp/held; done");
  write_file(host / "signals/seen", "", GetParam());
  EXPECT_EQ(second.out, "/dev/shm:\n\n/tmp:\n\n/workspace:\n");
  EXPECT_EQ(first.get().out, "held\n");
}

SALLYPORT_FOR_ROOT_AND_USER(Workspace);

}  // namespace
}  // namespace sallyport::test
