// Against a double of Vault, over the loopback: tests/support/vault_double.py.
#include "reader/vault.h"

#include <gmock/gmock.h>
#include <spawn.h>
#include <sys/prctl.h>

#include "reader/reader_fixture.h"

namespace sallyport {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr auto kSoon = std::chrono::milliseconds(200);  // a refresh

class Vaults : public Readers {
 protected:
  Vaults() { say(R"({"token": "s.1", "kv": {"app": {"token": "kv-one"}}})"); }
  ~Vaults() override {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
  }

  void say(const std::string& state) { put_file(directory_ + "/state.json", state); }
  // Starts the double; `tls`: a certificate and a key.
  void serve(const std::vector<std::string>& tls = {}) {
    std::vector<std::string> words = {
        "python3", std::string(SALLYPORT_SOURCE_DIR) + "/tests/support/vault_double.py",
        directory_};
    words.insert(words.end(), tls.begin(), tls.end());
    std::vector<char*> arguments;
    for (std::string& word : words)
      arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int out[2];
    ASSERT_EQ(::pipe2(out, O_CLOEXEC), 0);
    const Fd ours(out[0]);
    Fd theirs(out[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), 1);
    ASSERT_EQ(::posix_spawnp(&pid_, "python3", &actions, nullptr, arguments.data(), environ), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    theirs.reset();
    char text[16] = {};
    ASSERT_GT(::read(ours.get(), text, sizeof(text) - 1), 0);
    port_ = std::to_string(std::atoi(text));
  }
  void begin(const std::string& from, Duration refresh = kSoon) {
    if (pid_ < 0) serve();
    if (settings_.vault.address.empty()) settings_.vault.address = "http://127.0.0.1:" + port_;
    put_file(directory_ + "/vault-token", "s.1\n");
    settings_.vault.token = "file:" + directory_ + "/vault-token";
    source("app", "vault:" + from, refresh);
    start();
  }
  [[nodiscard]] std::string log() const { return text_in(directory_ + "/log"); }

  pid_t pid_ = -1;
  std::string port_;
};

TEST_F(Vaults, GiveANewVersionAtTheNextRefresh) {
  settings_.vault.name_space = "team/a";
  begin("secret/data/app#token");
  EXPECT_EQ(next_value(), "kv-one");
  say(R"({"token": "s.1", "kv": {"app": {"token": "kv-two"}}})");
  EXPECT_EQ(next_value(), "kv-two");
  EXPECT_THAT(log(), HasSubstr("GET /v1/secret/data/app team/a "));
}

TEST_F(Vaults, ThatSayItIsGoneAreBelievedAtOnce) {
  begin("secret/data/app#token");
  EXPECT_EQ(next_value(), "kv-one");
  say(R"({"token": "s.1", "kv": {}})");
  EXPECT_EQ(next_value(), "(Vault answers 404)");
  say(R"({"token": "s.1", "kv": {"app": {"token": "kv-three"}}})");
  EXPECT_EQ(next_value(), "kv-three");
  say(R"({"token": "another", "kv": {"app": {"token": "kv-three"}}})");
  EXPECT_EQ(next_value(), "(Vault answers 403: permission denied)");
  put_file(directory_ + "/vault-token", "another");  // as an agent renews it
  EXPECT_EQ(next_value(), "kv-three");
}

TEST_F(Vaults, ThatAreOutOfOrderLeaveAValueInUseForTenRefreshes) {
  source("mark", "file:" + directory_ + "/mark");
  begin("secret/data/app#token");
  std::string value;
  for (int i = 0; i < 2; ++i)
    if (const SecretNews news = next(); news.name == "app") value = news.value;
  EXPECT_EQ(value, "kv-one");
  const auto asked = log().size();
  say(R"({"token": "s.1", "fault": "500"})");
  EXPECT_TRUE(comes_true([&] { return log().size() > asked + 20; }));
  put_file(directory_ + "/mark", "x");
  EXPECT_EQ(next().name, "mark");
  EXPECT_EQ(next_value(), "(Vault answers 500: it is broken)");
}

TEST_F(Vaults, ThatAnswerStrangelyAreNotBelieved) {
  say(R"({"token": "s.1", "fault": "garbage"})");
  begin("secret/data/app#token");
  EXPECT_EQ(next_value(), "(the answer of Vault is not an object)");
  for (const auto& [fault, why] :
       std::vector<std::pair<std::string, std::string>>{{"huge", "the answer is too long"},
                                                        {"drop", "there is no whole answer"},
                                                        {"redirect", "Vault answers 307"}}) {
    say(R"({"token": "s.1", "fault": ")" + fault + "\"}");
    EXPECT_THAT(next_value(), HasSubstr(why));
  }
  EXPECT_THAT(log(), Not(HasSubstr("169.254")));
}

TEST_F(Vaults, RenewALeaseAndGiveItBackInTheEnd) {
  say(R"({"token": "s.1", "role": {"lease": 2, "renewable": true, "renewed": 2}})");
  begin("database/creds/app#username:password", std::chrono::hours(1));
  EXPECT_EQ(next_value(), "user-1:password-1");
  EXPECT_TRUE(comes_true(
      [&] { return log().find("renew", log().find("renew") + 1) != std::string::npos; }));
  EXPECT_FALSE(has_news());
  EXPECT_THAT(log(),
              HasSubstr(R"(PUT /v1/sys/leases/renew - {"lease_id":"database/creds/app/1",)"));
  EXPECT_THAT(log(), Not(HasSubstr("sys/leases/revoke")));
  reader_.reset();
  EXPECT_TRUE(comes_true([&] {
    return log().contains(R"(PUT /v1/sys/leases/revoke - {"lease_id":"database/creds/app/1"})");
  }));
}

TEST_F(Vaults, GiveAnotherSecretWhereALeaseIsNotRenewed) {
  say(R"({"token": "s.1", "role": {"lease": 3, "renewable": true, "renewed": 0}})");
  begin("database/creds/app#password", std::chrono::hours(1));
  EXPECT_EQ(next_value(), "password-1");
  EXPECT_EQ(next_value(), "password-2");
  // One that ends soon, because it has been renewed for long enough, is as good as none.
  say(R"({"token": "s.1", "role": {"lease": 3, "renewable": true, "renewed": 1}})");
  EXPECT_EQ(next_value(), "password-3");
  EXPECT_EQ(next_value(), "password-4");
}

TEST_F(Vaults, GetALeaseBackWithTheRevocationOfItsCredential) {
  say(R"({"token": "s.1", "role": {"lease": 3600, "renewable": false}})");
  begin("database/creds/app#password");
  EXPECT_EQ(next_value(), "password-1");
  revoke("app");
  EXPECT_EQ(next_value(), "(it is revoked)");
  EXPECT_TRUE(comes_true([&] {
    return log().contains(R"(PUT /v1/sys/leases/revoke - {"lease_id":"database/creds/app/1"})");
  }));
  restore("app");
  EXPECT_EQ(next_value(), "password-2");
}

TEST_F(Vaults, GetALeaseBackThatCameWithoutAUsefulValue) {
  say(R"({"token": "s.1", "role": {"lease": 3600, "renewable": false}})");
  begin("database/creds/app#token", std::chrono::hours(1));
  EXPECT_EQ(next_value(), "(the secret in Vault has no text called 'token')");
  EXPECT_THAT(log(), HasSubstr("PUT /v1/sys/leases/revoke"));
}

TEST_F(Vaults, ALostLeaseEndsItsValue) {
  say(R"({"token": "s.1", "role": {"lease": 3, "renewable": false}})");
  begin("database/creds/app#password", std::chrono::hours(1));
  EXPECT_EQ(next_value(), "password-1");
  say(R"({"token": "s.1", "fault": "500"})");
  EXPECT_EQ(next_value(), "(Vault answers 500: it is broken)");
}

// A certificate of the name that was asked for, from whom the policy trusts; else no byte is sent.
TEST_F(Vaults, MustShowACertificate) {
  const std::string make = "cd " + directory_ +
                           " && for n in a b; do openssl req -x509 -newkey ec -pkeyopt "
                           "ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout $n.key -out $n.pem "
                           "-subj /CN=localhost -addext subjectAltName=DNS:localhost "
                           "2>/dev/null || exit 1; done";
  ASSERT_EQ(std::system(make.c_str()), 0);
  serve({directory_ + "/a.pem", directory_ + "/a.key"});
  settings_.vault.address = "https://localhost:" + port_;
  settings_.vault.ca = directory_ + "/ca.pem";
  settings_.vault.internal = true;
  std::filesystem::copy_file(directory_ + "/b.pem", directory_ + "/ca.pem");
  begin("secret/data/app#token");
  EXPECT_THAT(next_value(), AllOf(HasSubstr("Vault cannot be asked"), HasSubstr("certificate")));
  EXPECT_EQ(log(), "");
  std::filesystem::rename(directory_ + "/a.pem", directory_ + "/ca.pem");
  EXPECT_EQ(next_value(), "kv-one");
}

TEST_F(Vaults, MayNotBeInsideUnlessThePolicySaysSo) {
  settings_.vault.address = "https://localhost:1";
  serve();
  begin("secret/data/app#token");
  EXPECT_THAT(next_value(), HasSubstr("only with internal: true may it lead there"));
}

TEST_F(Vaults, ATokenThatIsNotThereIsSaidAndAskedForAgain) {
  serve();
  settings_.vault.address = "http://127.0.0.1:" + port_;
  settings_.vault.token = "env:READER_TEST_NOTHING";
  source("app", "vault:secret/data/app#token", kSoon);
  start();
  EXPECT_THAT(next_value(), HasSubstr("of the token, its variable is empty"));
  EXPECT_EQ(log(), "");
}

}  // namespace
}  // namespace sallyport
