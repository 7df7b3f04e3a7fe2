// Where a service has its credentials from: rotated without a restart, taken back at once, and in
// no process that does not need them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <future>

#include "support/live_service.h"

namespace sallyport::test {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

void put_secret(const std::string& path, const std::string& text, As as = As::root) {
  write_file(path + ".new", text, as, 0600);
  std::filesystem::rename(path + ".new", path);
}

// A tool that asks https://web.example, with a credential from `from`.
std::string policy_with(const std::string& from, const std::string& port,
                        const std::string& more = "") {
  return R"(
version: 1
roles: { worker: [go] }
callers: { will: { role: worker } }
defaults: { rate: 6000/min }
tools:
  shell: { use: run_shell, needs: [go], screen: none, credentials: [api] }
credentials:
  api:
    from: ")" +
         from + R"("
    inject: bearer
    refresh: 1s
    to: [{ host: web.example, port: )" +
         port + R"(, internal: true, address: 127.0.0.1 }]
)" + more;
}

class ServeCredentials : public CellTest {
 protected:
  ServeCredentials() {
    std::filesystem::permissions(directory_.path(), std::filesystem::perms{0755});
    put_secret(directory_ / "token", "first-secret\n", GetParam());
    from_ = "file:" + directory_ / "token";
  }
  [[nodiscard]] std::string policy(const std::string& from) const { return policy_with(from, "1"); }
  // Neither answers, as nobody is at port 1; a call with the credential gets as far as that.
  static std::string call(LiveService& service, const std::string& key) {
    return service
        .call("shell", R"({"code": "curl -sS https://web.example:1/; echo $((40+2))-ran"})", key)
        .body;
  }

  TempDir directory_{GetParam()};
  std::string from_;
};
SALLYPORT_FOR_ROOT_AND_USER(ServeCredentials);

TEST_P(ServeCredentials, AreRevokedAndRestoredAtOnce) {
  LiveService service(policy(from_), GetParam());
  const std::string key = service.key("will");
  EXPECT_THAT(call(service, key), HasSubstr("42-ran"));
  const Ran list = service.command({"credential", "list", "--policy", service.policy_file()});
  EXPECT_EQ(list.out, "api  from file  to https://web.example:1  in use\n") << list.err;

  const Ran revoked =
      service.command({"credential", "revoke", "api", "--policy", service.policy_file()});
  EXPECT_EQ(revoked.exit_code, 0) << revoked.err;
  std::string body;
  EXPECT_TRUE(eventually([&] {
    body = call(service, key);
    return body.contains("the credential api cannot be had: it is revoked");
  })) << body;
  EXPECT_EQ(service.command({"credential", "revoke", "api"}).exit_code, 1);
  EXPECT_EQ(service.command({"credential", "list"}).out, "api  revoked\n");
  EXPECT_THAT(
      service.command({"credential", "list", "--json", "--policy", service.policy_file()}).out,
      AllOf(HasSubstr(R"("source":"file")"), HasSubstr(R"("revoked":true)")));

  EXPECT_EQ(service.command({"credential", "restore", "api"}).exit_code, 0);
  EXPECT_TRUE(eventually([&] { return call(service, key).contains("42-ran"); }));
  EXPECT_EQ(service.command({"credential", "restore", "api"}).exit_code, 1);
  EXPECT_EQ(service.end(), 0);
}

TEST_P(ServeCredentials, OfADeletedFileAreGone) {
  LiveService service(policy(from_), GetParam());
  const std::string key = service.key("will");
  EXPECT_THAT(call(service, key), HasSubstr("42-ran"));
  std::filesystem::remove(directory_ / "token");
  std::string body;
  EXPECT_TRUE(eventually([&] {
    body = call(service, key);
    return body.contains("the credential api cannot be had: its file cannot be read");
  })) << body;
  put_secret(directory_ / "token", "second-secret\n", GetParam());
  EXPECT_TRUE(eventually([&] { return call(service, key).contains("42-ran"); }));
}

// Nothing of it runs any more; whoever inherits it may take its time to notice.
bool is_gone(pid_t pid) {
  const std::string state = status_of(pid, "State");
  return state.empty() || state.starts_with("Z");
}

// The two live and die together, and are started again together.
TEST_P(ServeCredentials, AreReadByAProcessThatEndsWithTheEgressProcess) {
  LiveService service(policy(from_), GetParam());
  const std::string key = service.key("will");
  ASSERT_TRUE(eventually([&] { return service.named("sally-secrets") > 0; }));
  for (const char* victim : {"sally-secrets", "sally-egress"}) {
    const pid_t reader = service.named("sally-secrets"), egress = service.named("sally-egress");
    ASSERT_GT(reader, 0);
    ASSERT_GT(egress, 0);
    ::kill(std::string(victim) == "sally-egress" ? egress : reader, SIGKILL);
    EXPECT_TRUE(eventually([&] {
      const pid_t new_reader = service.named("sally-secrets"),
                  new_egress = service.named("sally-egress");
      return new_reader > 0 && new_egress > 0 && new_reader != reader && new_egress != egress &&
             is_gone(reader) && is_gone(egress);
    })) << victim;
    EXPECT_TRUE(eventually([&] { return call(service, key).contains("42-ran"); })) << victim;
  }
  const pid_t reader = service.named("sally-secrets");
  EXPECT_EQ(service.end(), 0);
  EXPECT_TRUE(eventually([&] { return is_gone(reader); }));
}

// Whether a process has the bytes anywhere in its memory, or in what the kernel shows as its
// environment.
bool holds(pid_t pid, const std::string& secret) {
  const std::string process = "/proc/" + std::to_string(pid);
  if (read_file(process + "/environ").contains(secret)) return true;
  const Fd memory(::open((process + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(memory) << pid;
  std::istringstream maps(read_file(process + "/maps"));
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0, end = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights) != 3 || rights[0] != 'r' ||
        line.ends_with("[vvar]") || line.ends_with("[vsyscall]"))
      continue;
    std::string bytes(end - begin, '\0');
    const ssize_t size =
        ::pread(memory.get(), bytes.data(), bytes.size(), static_cast<off_t>(begin));
    if (size > 0 && bytes.contains(secret)) return true;
  }
  return false;
}

TEST_P(ServeCredentials, OfTheEnvironmentAreInNoProcessThatDoesNotNeedThem) {
  // Put together here, so that this program is not found to hold it.
  std::string secret = "hunter-";
  for (int i = 0; i < 4; ++i)
    secret += std::to_string(7919 * (i + 1));
  ::setenv("LIVE_SECRET", secret.c_str(), 1);
  ::setenv("LATER_SECRET", (secret + "-later").c_str(), 1);
  LiveService service(policy("env:LIVE_SECRET"), GetParam());
  ::unsetenv("LIVE_SECRET");
  ::unsetenv("LATER_SECRET");
  const std::string key = service.key("will");
  EXPECT_THAT(call(service, key), HasSubstr("42-ran"));
  // What is looked for can be found.
  EXPECT_TRUE(holds(service.named("sally-secrets"), secret));
  EXPECT_TRUE(holds(service.named("sally-egress"), secret));
  for (const char* name : {"sally-front", "sally-launcher"})
    EXPECT_FALSE(holds(service.named(name), secret)) << name;

  // A policy that is read later calls another variable a secret: the front is still the same.
  const pid_t front = service.named("sally-front");
  service.write_policy(policy("env:LATER_SECRET"));
  service.signal(SIGHUP);
  EXPECT_TRUE(eventually([&] {
    const pid_t reader = service.named("sally-secrets");
    return reader > 0 && holds(reader, secret + "-later") && call(service, key).contains("42-ran");
  }));
  EXPECT_EQ(service.named("sally-front"), front);
  EXPECT_FALSE(holds(front, secret));
}

TEST(CredentialCommand, RefusesWhatCannotBeACredential) {
  const TempDir state;
  const auto credential = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {sallyport_path(), "credential"});
    return run(words);
  };
  for (const char* name : {"../x", "a/b", "", ".", "a b", "1x"}) {
    const Ran ran = credential({"revoke", name, "--state", state.path()});
    EXPECT_EQ(ran.exit_code, 2) << name;
    EXPECT_NE(ran.err, "") << name;
  }
  EXPECT_TRUE(std::filesystem::is_empty(state.path()));
  EXPECT_EQ(credential({}).exit_code, 2);
  EXPECT_EQ(credential({"revoke"}).exit_code, 2);
  EXPECT_EQ(credential({"list", "--state", state / "nowhere"}).exit_code, 2);
  write_file(state / "policy.yaml", policy_with("env:X", "1"));
  const Ran unknown =
      credential({"revoke", "apy", "--state", state.path(), "--policy", state / "policy.yaml"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean api?"));
  EXPECT_THAT(credential({"--help"}).out, HasSubstr("Usage: sallyport credential list"));
}

// With a host that wants the secret, whose authority the service trusts.
class ServeSecrets : public testing::Test {
 protected:
  ServeSecrets()
      : host_(
            {"python3", SALLYPORT_SOURCE_DIR "/tests/support/secret_host.py", directory_.path()}) {
    EXPECT_TRUE(host_.says(".\n"));
    port_ = host_.said().substr(5, host_.said().find('.') - 5);
    put_secret(directory_ / "token", "first-secret\n");
  }
  std::unique_ptr<LiveService> serve(const std::string& policy) {
    return std::make_unique<LiveService>(
        policy, As::root, std::vector<std::string>{}, "",
        std::vector<std::string>{
            "unshare", "--mount", "sh", "-c",
            R"(mount --bind "$0" /etc/ssl/certs/ca-certificates.crt && exec "$@")",
            directory_ / "roots.pem"});
  }
  [[nodiscard]] std::string policy(const std::string& from, const std::string& more = "") const {
    return policy_with(from, port_, more);
  }
  std::string ask(LiveService& service, const std::string& key, const std::string& path = "/x") {
    return service
        .call("shell", R"({"code": "curl -sS https://web.example:)" + port_ + path + "\"}", key)
        .text("output");
  }
  // What the host was last shown.
  [[nodiscard]] std::string seen() const { return read_file(directory_ / "seen"); }
  // Whether a call comes to show it.
  bool shows(LiveService& service, const std::string& key, const std::string& secret) {
    return eventually([&] {
      ask(service, key);
      return seen().ends_with("/x Bearer " + secret + "\n");
    });
  }

  TempDir directory_;
  LiveProcess host_;
  std::string port_;
};

TEST_F(ServeSecrets, OfAFileAreRotatedWithoutARestart) {
  const auto service = serve(policy("file:" + directory_ / "token"));
  const std::string key = service->key("will");
  EXPECT_EQ(ask(*service, key), "ok\n");
  EXPECT_EQ(seen(), "/x Bearer first-secret\n");
  const pid_t reader = service->named("sally-secrets");
  put_secret(directory_ / "token", "second-secret\n");
  EXPECT_TRUE(shows(*service, key, "second-secret")) << seen();
  EXPECT_EQ(service->named("sally-secrets"), reader);
}

TEST_F(ServeSecrets, OfACommandAreAskedForAgain) {
  const auto service = serve(policy("command:/bin/cat " + directory_ / "token"));
  const std::string key = service->key("will");
  EXPECT_TRUE(shows(*service, key, "first-secret")) << seen();
  put_secret(directory_ / "token", "second-secret\n");
  EXPECT_TRUE(shows(*service, key, "second-secret")) << seen();
}

TEST_F(ServeSecrets, AreThoseOfTheNewPolicyForNewCallsOnly) {
  const auto service = serve(policy("file:" + directory_ / "token"));
  const std::string key = service->key("will");
  put_secret(directory_ / "other", "other-secret\n");
  auto slow = std::async(std::launch::async, [&] { return ask(*service, key, "/slow"); });
  ASSERT_TRUE(eventually([&] { return seen().contains("/slow Bearer first-secret\n"); }));
  service->write_policy(policy("file:" + directory_ / "other"));
  service->signal(SIGHUP);
  EXPECT_TRUE(shows(*service, key, "other-secret")) << seen();
  // The one that was begun before goes on where it was.
  write_file(directory_ / "go", "");
  EXPECT_EQ(slow.get(), "ok\n");
  EXPECT_EQ(service->end(), 0);
}

TEST_F(ServeSecrets, OfVaultAreRotatedLeasedAndGivenBack) {
  const TempDir vault;
  const auto says = [&](const std::string& state) { put_secret(vault / "state.json", state); };
  says(R"({"token": "s.1", "kv": {"app": {"token": "kv-one"}}})");
  LiveProcess server(
      {"python3", SALLYPORT_SOURCE_DIR "/tests/support/vault_double.py", vault.path()});
  ASSERT_TRUE(server.says("\n"));
  put_secret(vault / "token", "s.1\n");
  const std::string section =
      "vault: { address: \"http://127.0.0.1:" + std::to_string(std::atoi(server.said().c_str())) +
      "\", token: \"file:" + vault / "token" + "\" }\n";
  const auto service = serve(policy("vault:secret/data/app#token", section));
  const std::string key = service->key("will");
  EXPECT_TRUE(shows(*service, key, "kv-one")) << seen();
  says(R"({"token": "s.1", "kv": {"app": {"token": "kv-two"}}})");
  EXPECT_TRUE(shows(*service, key, "kv-two")) << seen();

  // A policy with a leased secret; with the end of the service the lease is given back.
  says(R"({"token": "s.1", "role": {"lease": 3600, "renewable": true, "renewed": 3600}})");
  service->write_policy(policy("vault:database/creds/app#password", section));
  service->signal(SIGHUP);
  EXPECT_TRUE(shows(*service, key, "password-1")) << seen();
  EXPECT_EQ(service->end(), 0);
  EXPECT_THAT(read_file(vault / "log"),
              EndsWith("PUT /v1/sys/leases/revoke - {\"lease_id\":\"database/creds/app/1\"}\n"));
}

}  // namespace
}  // namespace sallyport::test
