#include "reader/vault_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sallyport {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

TEST(VaultAnswers, OfAKvStoreHaveTheirFieldsInTheData) {
  const auto secret = parse_vault_secret(
      R"({"lease_id": "", "lease_duration": 0, "renewable": false, "wrap_info": null,
          "data": {"data": {"token": "hunter2"}, "metadata": {"version": 3}}})",
      "token");
  EXPECT_EQ(secret.value, "hunter2");
  EXPECT_EQ(secret.lease.id, "");
  // Version 1 has no metadata; what it calls a lease has no name, and is none.
  const auto old = parse_vault_secret(
      R"({"lease_id": "", "lease_duration": 2764800, "data": {"token": "v1"}})", "token");
  EXPECT_EQ(old.value, "v1");
  EXPECT_EQ(old.lease.id, "");
}

TEST(VaultAnswers, OfDynamicSecretsHaveALease) {
  const auto secret = parse_vault_secret(
      R"({"lease_id": "database/creds/app/1", "lease_duration": 3600, "renewable": true,
          "data": {"username": "u", "password": "p:w"}})",
      "username:password");
  EXPECT_EQ(secret.value, "u:p:w");
  EXPECT_EQ(secret.lease.id, "database/creds/app/1");
  EXPECT_EQ(secret.lease.duration, seconds(3600));
  EXPECT_TRUE(secret.lease.renewable);
}

// A lease that comes with a useless value is known, so that it can be given back.
TEST(VaultAnswers, KeepTheLeaseOfAValueThatIsMissing) {
  const auto secret = parse_vault_secret(
      R"({"lease_id": "a/1", "lease_duration": 60, "data": {"password": "hunter2"}})", "token");
  EXPECT_EQ(secret.value, "");
  EXPECT_EQ(secret.why, "the secret in Vault has no text called 'token'");
  EXPECT_EQ(secret.lease.id, "a/1");
}

TEST(VaultAnswers, ThatAreSomethingElseSayNothingOfTheSecret) {
  for (const char* body :
       {"", "null", "[]", R"("hunter2")", R"({"data": "hunter2"})", R"({"data": null})",
        R"({"data": {"token": 5}})", R"({"data": {"token": ["hunter2"]}})",
        R"({"data": {"data": null, "metadata": {"deletion_time": "hunter2"}}})",
        R"({"data": {"token": "hunter2"}} hunter2)", R"({"data": {"token": "hunter2)",
        R"({"data": {"token": "hunter2", "token": "hunter2"}})", R"({"data": {"token": ""}})",
        R"({"lease_id": "a", "data": {"token": "hunter2"}})",
        R"({"lease_id": "a", "lease_duration": -1, "data": {"token": "hunter2"}})",
        R"({"lease_id": "a", "lease_duration": "x", "data": {"token": "hunter2"}})"}) {
    const auto secret = parse_vault_secret(body, "token");
    EXPECT_EQ(secret.value, "") << body;
    EXPECT_NE(secret.why, "") << body;
    EXPECT_THAT(secret.why, Not(HasSubstr("hunter2"))) << body;
  }
}

TEST(VaultAnswers, ToARenewalAreBounded) {
  const auto lease =
      parse_vault_lease(R"({"lease_id": "a/1", "lease_duration": 60, "renewable": true})");
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->duration, seconds(60));
  const auto ever =
      parse_vault_lease(R"({"lease_id": "a/1", "lease_duration": 9223372036854775807})");
  ASSERT_TRUE(ever);
  EXPECT_EQ(ever->duration, kLongestLease);
  EXPECT_FALSE(parse_vault_lease(R"({"lease_id": "", "lease_duration": 60})"));
  EXPECT_FALSE(parse_vault_lease(R"({"lease_id": "a/1", "lease_duration": 0})"));
}

TEST(VaultAnswers, ComplainInPlainWords) {
  EXPECT_EQ(vault_complaint("{\"errors\": [\"1 error\\n\\t* permission\\u001b denied\"]}"),
            "1 error * permission denied");
  EXPECT_EQ(vault_complaint(R"({"errors": []})"), "");
  EXPECT_EQ(vault_complaint("<html>"), "");
}

}  // namespace
}  // namespace sallyport
