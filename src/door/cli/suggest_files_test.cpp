#include "door/cli/suggest_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
namespace fs = std::filesystem;

const auto kAny = [](const std::string&) { return true; };
using Paths = std::set<std::string>;

TEST(Cover, NamesFewFilesOneByOne) {
  EXPECT_EQ(cover({"/srv/a/x", "/srv/a/y"}, {}, kAny), (Paths{"/srv/a/x", "/srv/a/y"}));
}

TEST(Cover, PutsADirectoryInThePlaceOfSeveralOfItsFiles) {
  EXPECT_EQ(cover({"/srv/a/x", "/srv/a/y", "/srv/a/z", "/srv/b/x"}, {}, kAny),
            (Paths{"/srv/a", "/srv/b/x"}));
}

TEST(Cover, ClimbsAsLongAsItMay) {
  const Paths files = {"/srv/p/a/1", "/srv/p/a/2", "/srv/p/a/3", "/srv/p/b/1", "/srv/p/b/2",
                       "/srv/p/b/3", "/srv/p/c/1", "/srv/p/c/2", "/srv/p/c/3"};
  EXPECT_EQ(cover(files, {}, kAny), Paths{"/srv/p"});
  const auto not_p = [](const std::string& directory) { return directory != "/srv/p"; };
  EXPECT_EQ(cover(files, {}, not_p), (Paths{"/srv/p/a", "/srv/p/b", "/srv/p/c"}));
  EXPECT_EQ(cover(files, {}, [](const std::string&) { return false; }), files);
}

TEST(Cover, TakesAListedDirectoryAndAllBelowIt) {
  EXPECT_EQ(cover({"/srv/a/b/x", "/srv/c"}, {"/srv/a", "/srv/a/b"}, kAny),
            (Paths{"/srv/a", "/srv/c"}));
  EXPECT_EQ(cover({"/srv/ab/x"}, {"/srv/a"}, kAny), (Paths{"/srv/a", "/srv/ab/x"}));
}

TEST(Cover, OfNothingIsNothing) {
  EXPECT_EQ(cover({}, {}, kAny), Paths{});
}

TEST(TooWide, IsWhatHoldsMoreThanOneToolsFiles) {
  for (const char* wide : {"/", "/home", "/home/ada", "/root", "/var", "/var/lib", "/srv", "/etc"})
    EXPECT_TRUE(is_too_wide(wide)) << wide;
  for (const char* fine : {"/home/ada/shop", "/srv/shop", "/var/lib/shop", "/data", "/opt/tool"})
    EXPECT_FALSE(is_too_wide(fine)) << fine;
}

TEST(Secrets, AreKnownByName) {
  for (const char* path : {"/home/ada/.ssh/config", "/home/ada/.aws/credentials", "/srv/app/.env",
                           "/srv/app/.env.production", "/srv/tls/server.key", "/root/.netrc"})
    EXPECT_TRUE(names_secret(path)) << path;
  for (const char* path : {"/srv/app/environment", "/srv/keys.csv", "/srv/sshd", "/srv/x.keys"})
    EXPECT_FALSE(names_secret(path)) << path;
}

// A directory of files, gone after the test.
class SuggestFiles : public testing::Test {
 protected:
  SuggestFiles() {
    char name[] = "/var/tmp/sallyport-test.XXXXXX";
    top_ = ::mkdtemp(name);
  }
  ~SuggestFiles() override {
    std::error_code ignored;
    fs::remove_all(top_, ignored);
  }

  std::string make(const std::string& name, const std::string& content = "x") const {
    const fs::path path = fs::path(top_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << content;
    return path;
  }

  static SuggestedFile plain(const std::string& path) { return {path, path, false}; }

  std::string top_;
};

TEST_F(SuggestFiles, LeavesOutWhatIsNotThere) {
  const std::string there = make("a/x");
  const auto files = suggest_files({{there, {.read = true}}, {top_ + "/a/y", {.read = true}}}, {});
  EXPECT_THAT(files.read, ElementsAre(plain(there)));
  EXPECT_THAT(files.write, IsEmpty());
}

TEST_F(SuggestFiles, NeverGivesADirectoryWholeThatHoldsSecrets) {
  make("app/deep/er/.env");
  std::map<std::string, FileUse> asked;
  for (const char* name : {"app/1", "app/2", "app/3", "app/4"})
    asked[make(name)] = {.read = true};
  asked[top_ + "/app"] = {.listed = true};
  const auto files = suggest_files(asked, {});
  EXPECT_EQ(files.read.size(), 4U);
  EXPECT_THAT(files.not_whole, ElementsAre(top_ + "/app"));
}

TEST_F(SuggestFiles, NamesSecretFilesOneByOneAndMarksThem) {
  std::map<std::string, FileUse> asked;
  for (const char* name : {".ssh/a", ".ssh/b", ".ssh/c"})
    asked[make(name)] = {.read = true};
  const auto files = suggest_files(asked, {});
  ASSERT_EQ(files.read.size(), 3U);
  for (const SuggestedFile& file : files.read)
    EXPECT_TRUE(file.secret) << file.host;
}

// A grant goes through no symlink: the file is given where the command looks for it.
TEST_F(SuggestFiles, GivesWhatLiesBehindASymlinkAtThePlaceOfTheSymlink) {
  const std::string real = make("releases/2/data.csv");
  fs::create_directory_symlink("releases/2", top_ + "/current");
  const std::string asked = top_ + "/current/data.csv";
  const auto files = suggest_files({{asked, {.read = true}}}, {});
  EXPECT_THAT(files.read, ElementsAre(SuggestedFile{real, asked, false}));
}

TEST_F(SuggestFiles, GivesWhatLiesBehindASymlinkThatIsSeenAtItsOwnPlace) {
  const std::string real = make("elsewhere/data.csv");
  const std::string asked = top_ + "/app/data.csv";
  make("app/x");
  fs::create_symlink(real, asked);
  const auto files =
      suggest_files({{asked, {.read = true}}, {top_ + "/app", {.listed = true}}}, {});
  EXPECT_THAT(files.read, ElementsAre(plain(top_ + "/app"), plain(real)));
}

TEST_F(SuggestFiles, GivesTheTargetOfASymlinkOnceForSeveralFilesBehindIt) {
  std::map<std::string, FileUse> asked;
  for (const char* name : {"1", "2", "3"}) {
    make(std::string("releases/2/") + name);
    asked[top_ + "/current/" + name] = {.read = true};
  }
  fs::create_directory_symlink("releases/2", top_ + "/current");
  const auto files = suggest_files(asked, {});
  EXPECT_THAT(files.read,
              ElementsAre(SuggestedFile{top_ + "/releases/2", top_ + "/current", false}));
}

TEST_F(SuggestFiles, SurvivesSymlinksThatLeadNowhereOrInCircles) {
  fs::create_symlink(top_ + "/b", top_ + "/a");
  fs::create_symlink(top_ + "/a", top_ + "/b");
  fs::create_symlink(top_ + "/nowhere", top_ + "/c");
  const auto files =
      suggest_files({{top_ + "/a", {.read = true}}, {top_ + "/c/x", {.read = true}}}, {});
  EXPECT_THAT(files.read, IsEmpty());
}

TEST_F(SuggestFiles, SeesTheInterpreterOfAScript) {
  const std::string interpreter = make("bin/mine", "#!/bin/sh\n");
  const std::string script = make("tool", "#! " + interpreter + " -x\n");
  const auto files = suggest_files({{script, {.executed = true}}}, {});
  EXPECT_THAT(files.read, ElementsAre(plain(interpreter), plain(script)));
}

TEST_F(SuggestFiles, GivesWriteGrantsAsTheUserGaveThemAndOnlyIfTheyWereUsed) {
  make("out/x");
  make("seen/x");
  const std::vector<Grant> given = {{top_ + "/out", "/out", true},
                                    {top_ + "/seen", top_ + "/seen", true},
                                    {top_ + "/unused", top_ + "/unused", true}};
  const auto files =
      suggest_files({{"/out/x", {.written = true}}, {top_ + "/seen/x", {.read = true}}}, given);
  EXPECT_THAT(files.write, ElementsAre(SuggestedFile{top_ + "/out", "/out", false}));
  EXPECT_THAT(files.read, ElementsAre(plain(top_ + "/seen")));
}

TEST_F(SuggestFiles, TellsWhereItWantedToWrite) {
  const auto files = suggest_files(
      {{top_ + "/a/x", {.written = true}}, {"/tmp/x", {.written = true}}, {"/workspace/y", {}}},
      {});
  EXPECT_THAT(files.refused_writes, ElementsAre(top_ + "/a"));
  EXPECT_THAT(files.read, IsEmpty());
}

TEST_F(SuggestFiles, GivesNothingOfEtcUnlessTheUserDid) {
  const auto files = suggest_files({{"/etc/fstab", {.read = true}},
                                    {"/etc/shadow", {.read = true}},
                                    {"/etc/hosts", {.read = true}}},
                                   {});
  EXPECT_THAT(files.read, IsEmpty());
  EXPECT_TRUE(files.not_in_cells.contains("/etc/shadow"));
  EXPECT_FALSE(files.not_in_cells.contains("/etc/hosts"));
}

TEST_F(SuggestFiles, GivesNoSocketDeviceOrPipe) {
  ASSERT_EQ(::mkfifo((top_ + "/pipe").c_str(), 0600), 0);
  const auto files = suggest_files({{top_ + "/pipe", {.read = true, .executed = true}}}, {});
  EXPECT_THAT(files.read, IsEmpty());
}

// A name that would mean something else in a policy file, or nothing.
TEST_F(SuggestFiles, LeavesOutNamesThatAPolicyFileCannotHold) {
  std::map<std::string, FileUse> asked;
  for (const char* name : {"1/a*", "2/b:", "3:/d", "4/\xff", "5/e[1]", "6/f\ng", "7/\x1b[2J"})
    asked[make(name)] = {.read = true};
  const auto files = suggest_files(asked, {});
  EXPECT_THAT(files.read, IsEmpty());
  EXPECT_EQ(files.unwritable.size(), asked.size());
}

}  // namespace
}  // namespace sallyport
