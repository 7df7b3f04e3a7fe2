#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/network_access.h"
#include "policy/problem_rows.h"
#include "policy/rules.h"

namespace sallyport {
namespace {

#define kVault "vault: {address: \"https://v.corp:8200\", token: \"env:T\"}\n"
#define kFrom(source) \
  kVersion kVault "credentials: {c: {from: " source ", inject: bearer, to: [a.b]}}\n"
#define kAddress(address) kVersion "vault: {address: " address ", token: \"env:T\"}\n"

constexpr std::string_view kNoSource =
    "f:3:25: credentials.c.from: this does not say where the secret comes from (write";

TEST(CredentialSources, AreWrittenInOneWayEach) {
  const ProblemRow rows[] = {
      {kFrom("hunter2"), kNoSource},
      {kFrom("\"file:relative\""), kNoSource},
      {kFrom("\"file:/a/../b\""), kNoSource},
      {kFrom("\"env:A B\""), kNoSource},
      {kFrom("\"command:ls\""), kNoSource},
      {kFrom("\"command:/bin/../ls\""), kNoSource},
      {kFrom("\"command:/bin/a\\tb\""), kNoSource},
      {kFrom("\"vault:secret/data/app\""), kNoSource},
      {kFrom("\"vault:#token\""), kNoSource},
      {kFrom("\"vault:secret/data/app#\""), kNoSource},
      {kFrom("\"vault:secret/data/app#a:\""), kNoSource},
      {kFrom("\"vault:secret/data/app#:a\""), kNoSource},
      {kFrom("\"vault:/secret/data/app#token\""), kNoSource},
      {kFrom("\"vault:secret/../sys/seal#token\""), kNoSource},
      {kFrom("\"vault:secret//app#token\""), kNoSource},
      {kFrom("\"vault:secret/app?version=1#token\""), kNoSource},
      {kFrom("\"vault:secret/app#a b\""), kNoSource},
      {kVersion "credentials: {c: {from: \"vault:a/b#c\", inject: bearer, to: [a.b]}}\n",
       "f:2:18: credentials.c: the policy does not say where Vault is (write vault:"},
      {kVersion "credentials: {c: {from: \"env:X\", refresh: 10ms, inject: bearer, to: [a.b]}}\n",
       "f:2:43: credentials.c.refresh: a source is not looked at more than once a second (write 1s "
       "or more)"},
  };
  expect_problems(rows);
}

TEST(CredentialSources, HaveOneVaultThatIsReachedSafely) {
  const ProblemRow rows[] = {
      {kVersion "vault: {}\n", "f:2:8: vault.address: "},
      {kAddress("\"http://vault.corp:8200\""),
       "f:2:18: vault.address: http to Vault would show its secrets to the network (write "
       "https://"},
      {kAddress("\"http://10.0.0.1:8200\""), "f:2:18: vault.address: http to Vault would show"},
      {kAddress("\"https://10.0.0.1:8200\""),
       "f:2:18: vault.address: the certificate of Vault is checked by its name, and this has none"},
      {kAddress("\"https://vault.corp:8200/v1\""),
       "f:2:18: vault.address: the address of Vault has a path (write it as https://NAME:PORT)"},
      {kAddress("\"https://user@vault.corp\""), "f:2:18: vault.address: "},
      {kAddress("\"ftp://vault.corp\""), "f:2:18: vault.address: "},
      {kVersion "vault: {address: \"https://v.corp\", token: \"s.hunter2\"}\n",
       "f:2:43: vault.token: this does not say where the token comes from (write"},
      {kVersion "vault: {address: \"https://v.corp\", token: \"env:T\", ca: x.pem}\n",
       "f:2:56: vault.ca: "},
      {kVersion "vault: {address: \"https://v.corp\", token: \"env:T\", namespace: \"a b\"}\n",
       "f:2:63: vault.namespace: 'a b' is not a namespace of Vault (write letters"},
      {kVersion "vault: {address: \"https://v.corp\", tokken: \"env:T\"}\n",
       "f:2:8: vault.token: "},
  };
  expect_problems(rows);
}

TEST(CredentialSources, GoToTheReaderWithTheirVault) {
  const auto policy = Policy::parse(kVersion R"(
vault:
  address: https://vault.corp:8200
  token: "file:/run/vault/token"
  ca: /etc/vault/ca.pem
  namespace: team/a
  internal: true
tools: { t: { run: [x], needs: [], credentials: [c] } }
credentials:
  c: { from: "vault:database/creds/app#username:password", inject: basic, refresh: 5s, to: [a.b] }
  unused: { from: "env:X", inject: bearer, to: [a.b] }
)",
                                    "f");
  ASSERT_TRUE(policy) << to_text(policy.error()[0]);
  const ReaderSettings expected{.sources = {{.name = "c",
                                             .from = "vault:database/creds/app#username:password",
                                             .refresh = std::chrono::seconds(5)}},
                                .revoked = "/state/revoked-credentials",
                                .vault = {.address = "https://vault.corp:8200",
                                          .token = "file:/run/vault/token",
                                          .ca = "/etc/vault/ca.pem",
                                          .name_space = "team/a",
                                          .internal = true}};
  EXPECT_EQ(reader_settings(policy->rules(), revoked_directory("/state")), expected);
  const auto bytes = write_wire(expected, 1 << 20, "settings");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(read_wire<ReaderSettings>(*bytes, 1 << 20, "settings"), expected);
}

TEST(CredentialSources, MayHaveAVaultOnTheLoopback) {
  for (const char* address : {"http://127.0.0.1:8200", "http://[::1]:8200", "https://localhost"})
    EXPECT_TRUE(Policy::parse(
        std::string(kVersion "vault: {address: \"") + address + "\", token: \"env:T\"}\n", "f"))
        << address;
}

}  // namespace
}  // namespace sallyport
