#include "door/cli/audit_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "access/state_directory.h"
#include "audit/journal.h"
#include "door/cli/audit_request.h"

namespace sallyport {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::int64_t kNow = 1'791'117'000'000'000;  // 2026-10-04T12:30:00Z

Result<AuditRequest> parse(std::initializer_list<const char*> words) {
  return parse_audit(std::span(words.begin(), words.size()), kNow);
}

TEST(AuditCommand, ReadsItsWordsInAnyOrder) {
  EXPECT_EQ(parse({"verify"})->verb, AuditRequest::Verb::verify);
  EXPECT_TRUE(parse({"tail", "-f"})->follow);
  EXPECT_EQ(parse({"show", "c1", "--state", "s"})->query.call_id, "c1");
  EXPECT_EQ(parse({"--caller", "ann", "search", "--since", "2h"})->query.since,
            "2026-10-04T10:30:00.000000Z");
  EXPECT_EQ(parse({"search", "--until", "2026-10-04"})->query.until, "2026-10-04");
  EXPECT_EQ(parse({"export", "--format", "ocsf"})->format, ExportFormat::ocsf);
  EXPECT_EQ(parse({"prove", "--tenant", "t", "--seq", "7"})->seq, 7U);
  EXPECT_EQ(parse({"prove", "--check", "file"})->check, "file");
  EXPECT_EQ(parse({"verify", "--checkpoint", "a", "--checkpoint", "b"})->outside.size(), 2U);
}

TEST(AuditCommand, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(parse({}));
  EXPECT_FALSE(parse({"delete"}));
  EXPECT_FALSE(parse({"show"}));
  EXPECT_FALSE(parse({"prove"}));
  EXPECT_FALSE(parse({"prove", "--seq", "7"})) << "of which tenant?";
  EXPECT_FALSE(parse({"prove", "--seq", "-7", "--tenant", "t"}));
  EXPECT_FALSE(parse({"verify", "more"}));
  EXPECT_FALSE(parse({"search", "-f"}));
  EXPECT_FALSE(parse({"export", "--format", "xml"}));
  EXPECT_FALSE(parse({"search", "--limit", "many"}));
  EXPECT_FALSE(parse({"delete", "--help"}));
}

TEST(AuditCommand, RefusesOptionsThatItsVerbDoesNotTake) {
  const auto search = parse({"search", "--format", "csv"});
  ASSERT_FALSE(search);
  EXPECT_EQ(search.error().reason, Reason::argument);
  EXPECT_EQ(search.error().message, "audit search takes no --format");
  EXPECT_THAT(search.error().hint, HasSubstr("it is for export;"));
  EXPECT_FALSE(parse({"--caller", "ann", "verify"})) << "it would verify the records of all";
  EXPECT_FALSE(parse({"verify", "--since", "2h"}));
  EXPECT_FALSE(parse({"export", "--json"}));
  EXPECT_FALSE(parse({"show", "c1", "--check", "file"}));
  EXPECT_FALSE(parse({"checkpoint", "--key", "k"}));
}

TEST(AuditCommand, HelpsWithOneVerbAlone) {
  const auto search = parse({"search", "--help"});
  ASSERT_TRUE(search && search->help);
  const std::string text = audit_help_text(search->verb);
  EXPECT_THAT(text, StartsWith("Usage: sallyport audit search"));
  EXPECT_THAT(text, HasSubstr("--caller NAME"));
  EXPECT_THAT(text, HasSubstr("\nExample\n  sallyport audit search "));
  EXPECT_THAT(text, HasSubstr("\nExit codes\n  0 "));
  for (const char* other : {"--format", "--follow", "--seq", "--key", "audit verify", "\n  1 "})
    EXPECT_THAT(text, Not(HasSubstr(other)));

  const auto overview = parse({"--help"});
  ASSERT_TRUE(overview && overview->help);
  EXPECT_FALSE(overview->verb);
  EXPECT_THAT(audit_help_text(), StartsWith("Usage: sallyport audit COMMAND"));
  for (const char* verb : {"verify", "prove", "tail", "search", "show", "export", "checkpoint"}) {
    EXPECT_THAT(audit_help_text(), HasSubstr(std::string("\n  ") + verb + " ")) << verb;
    const auto one = parse({verb, "--help"});
    ASSERT_TRUE(one && one->verb) << verb;
    EXPECT_THAT(audit_help_text(one->verb),
                StartsWith(std::string("Usage: sallyport audit ") + verb + " "));
    EXPECT_THAT(audit_help_text(one->verb), HasSubstr("--state DIR"));
  }
}

class AuditCommands : public testing::Test {
 protected:
  AuditCommands() {
    std::string name = fs::temp_directory_path() / "sallyport-audit-XXXXXX";
    path_ = ::mkdtemp(name.data());
    const auto directory = open_state_directory(path_);
    const auto journal = audit_journal(directory->get());
    for (const char* id : {"c1", "c2"})
      for (const char* kind : {"intent", "outcome"}) {
        json::object record{{"record", kind},
                            {"call_id", id},
                            {"tenant", "acme"},
                            {"caller", "an\x1bn"},
                            {"tool", "python"}};
        if (record["record"] == "outcome") record["status"] = "success";
        EXPECT_TRUE((*journal)->write(std::move(record)));
      }
  }
  ~AuditCommands() override { fs::remove_all(path_); }

  std::pair<int, std::string> run(std::vector<std::string> words) {
    words.insert(words.end(), {"--state", path_});
    return run_alone(words);
  }
  // Without a --state of its own.
  std::pair<int, std::string> run_alone(const std::vector<std::string>& words) {
    std::vector<const char*> pointers;
    for (const std::string& word : words)
      pointers.push_back(word.c_str());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = audit_command(pointers);
    said_ = testing::internal::GetCapturedStderr();
    return {code, testing::internal::GetCapturedStdout()};
  }
  static std::size_t lines(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }

  std::string path_;
  std::string said_;  // on stderr, by the last run
};

TEST_F(AuditCommands, VerifyAndNameTheBadRecord) {
  EXPECT_EQ(run({"verify"}).first, 0);
  EXPECT_THAT(run({"verify"}).second, HasSubstr("acme: good: 5 records"));
  EXPECT_TRUE(json::parse(run({"verify", "--json"}).second).at("good").as_bool());
  EXPECT_EQ(run({"verify", "--key", path_ + "/audit-key.pub"}).first, 0);
  EXPECT_EQ(run({"verify", "--key", "nonsense"}).first, 2);
  EXPECT_EQ(run({"verify", "--checkpoint", path_ + "/audit/acme/checkpoints"}).first, 0);
  const std::string segment = path_ + "/audit/acme/000001.jsonl";
  std::fstream file(segment, std::ios::in | std::ios::out | std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  file.clear();
  file.seekp(static_cast<std::streamoff>(text.find("\"c2\"") + 1));
  file.put('d');
  file.close();
  const auto [code, said] = run({"verify"});
  EXPECT_EQ(code, 1);
  EXPECT_THAT(said, HasSubstr("acme: BAD: record 3 was changed (000001.jsonl, line 4)"));
}

TEST_F(AuditCommands, FindShowTailAndExport) {
  EXPECT_EQ(lines(run({"search", "--record", "outcome"}).second), 2U);
  EXPECT_EQ(lines(run({"search", "--record", "outcome", "--limit", "1"}).second), 1U);
  const std::string found = run({"search", "--tenant", "acme", "--status", "success"}).second;
  EXPECT_THAT(found, HasSubstr("acme 4 outcome an\\u001bn python success c2"));
  EXPECT_EQ(found.find('\x1b'), std::string::npos);
  EXPECT_THAT(run({"show", "c1"}).second, HasSubstr("record: intent"));
  EXPECT_EQ(run({"show", "c9"}).first, 1);
  EXPECT_EQ(lines(run({"tail", "--limit", "3"}).second), 3U);
  // With a head, and the two records of the list of logs.
  EXPECT_EQ(lines(run({"export", "--format", "csv"}).second), 8U);
  EXPECT_EQ(lines(run({"export", "--tool", "python"}).second), 4U);
  EXPECT_EQ(run({"search", "--since", "soon"}).first, 2);
}

TEST_F(AuditCommands, ProveARecordToSomeoneWithoutTheLog) {
  const auto [code, proof] = run({"prove", "c1"});
  ASSERT_EQ(code, 0);
  const std::string file = path_ + "/proof.json";
  std::ofstream(file) << proof;
  const auto [checked, record] = run({"prove", "--check", file});
  EXPECT_EQ(checked, 0);
  EXPECT_THAT(record, HasSubstr(R"("record":"outcome")"));
  EXPECT_EQ(run({"prove", "--tenant", "acme", "--seq", "0"}).first, 0);
  EXPECT_EQ(run({"prove", "--tenant", "acme", "--seq", "99"}).first, 2);
  EXPECT_EQ(run({"prove", "c9"}).first, 2);
  std::string wrong = proof;
  wrong.replace(wrong.find("python"), 6, "pyth0n");
  std::ofstream(file) << wrong;
  EXPECT_EQ(run({"prove", "--check", file}).first, 1);
}

TEST_F(AuditCommands, MakeACheckpointOfWhatIsNew) {
  EXPECT_EQ(run({"checkpoint"}), std::pair(0, std::string())) << "there is nothing new";
  {
    const auto directory = open_state_directory(path_);
    const auto journal = audit_journal(directory->get());
    ASSERT_TRUE((*journal)->write({{"record", "intent"}, {"call_id", "c3"}, {"tenant", "acme"}}));
  }
  const auto [code, note] = run({"checkpoint"});
  EXPECT_EQ(code, 0);
  EXPECT_THAT(note, HasSubstr("sallyport-audit/acme\n7\n")) << "with the outcome of the dead";
}

TEST_F(AuditCommands, SayThatADirectoryHoldsNoLog) {
  const std::string empty = path_ + "/empty";
  ASSERT_EQ(::mkdir(empty.c_str(), 0700), 0);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"search"},
                                             {"tail"},
                                             {"tail", "-f"},
                                             {"show", "c1"},
                                             {"export", "--format", "csv"},
                                             {"verify"},
                                             {"prove", "c1"},
                                             {"checkpoint"}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--state", empty});
    EXPECT_EQ(run_alone(all), std::pair(2, std::string())) << words[0];
    EXPECT_THAT(said_, HasSubstr("there is no audit log in '" + empty + "'")) << words[0];
    EXPECT_THAT(said_, HasSubstr("--state DIR")) << words[0];
  }
  EXPECT_TRUE(fs::is_empty(empty)) << "and make none";
  const std::vector<std::string> given = {"verify",
                                          "--state",
                                          empty,
                                          "--key",
                                          path_ + "/audit-key.pub",
                                          "--checkpoint",
                                          path_ + "/audit/acme/checkpoints"};
  EXPECT_EQ(run_alone(given).first, 1) << "a checkpoint from outside says that there was one";
}

TEST_F(AuditCommands, MakeNoPrivateDirectoryOnlyToReadIt) {
  const char* before = std::getenv("XDG_STATE_HOME");
  const std::optional<std::string> kept =
      before ? std::optional<std::string>(before) : std::nullopt;
  ::setenv("XDG_STATE_HOME", (path_ + "/home").c_str(), 1);
  EXPECT_EQ(run_alone({"tail"}).first, 2);
  EXPECT_THAT(said_, HasSubstr("--state DIR"));
  EXPECT_FALSE(fs::exists(path_ + "/home"));
  if (kept)
    ::setenv("XDG_STATE_HOME", kept->c_str(), 1);
  else
    ::unsetenv("XDG_STATE_HOME");
}

TEST_F(AuditCommands, NeedAKeyToCheckAProof) {
  const std::string empty = path_ + "/empty", file = path_ + "/proof.json";
  ASSERT_EQ(::mkdir(empty.c_str(), 0700), 0);
  std::ofstream(file) << run({"prove", "c1"}).second;
  for (const std::string& state : {empty, path_ + "/no-such"}) {
    EXPECT_EQ(run_alone({"prove", "--check", file, "--state", state}).first, 2);
    EXPECT_THAT(said_, HasSubstr("--key FILE"));
  }
  EXPECT_FALSE(fs::exists(path_ + "/no-such"));
  EXPECT_EQ(run_alone({"prove", "--check", file, "--key", path_ + "/audit-key.pub"}).first, 0);
}

TEST_F(AuditCommands, MakeNoDirectoryWhereANameIsWrong) {
  const std::string wrong = path_ + "/no-such";
  const char* words[] = {"verify", "--state", wrong.c_str()};
  testing::internal::CaptureStderr();
  EXPECT_EQ(audit_command(words), 2);
  (void)testing::internal::GetCapturedStderr();
  EXPECT_FALSE(fs::exists(wrong));
}

}  // namespace
}  // namespace sallyport
