#include "cell/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(Doctor, ATrialThatWorkedHasItsLayersInOrder) {
  const Trial trial = parse_trial(
      R"({"status":"success","isolation":{"tier":"process","layers":{"user":"own","cgroup":"v2"}}})");
  EXPECT_TRUE(trial.worked);
  EXPECT_THAT(trial.layers, ElementsAre(Pair("user", "own"), Pair("cgroup", "v2")));
}

TEST(Doctor, ATrialThatFailedSaysWhy) {
  const Trial trial = parse_trial(
      R"({"status":"blocked","message":"no namespaces","hint":"ask","isolation":{"layers":{}}})");
  EXPECT_FALSE(trial.worked);
  EXPECT_EQ(trial.message, "no namespaces");
  EXPECT_EQ(trial.hint, "ask");
}

TEST(Doctor, ACommandThatFailsInItsCellIsNoSuccess) {
  const Trial trial = parse_trial(R"({"status":"error","exit_code":1})");
  EXPECT_FALSE(trial.worked);
  EXPECT_THAT(trial.message, HasSubstr("/bin/true"));
}

TEST(Doctor, AnAnswerThatIsNoResultIsAFailureThatShowsIt) {
  EXPECT_THAT(parse_trial("cannot execute").message, HasSubstr("cannot execute"));
  EXPECT_THAT(parse_trial("").message, HasSubstr("nothing"));
  for (const char* odd :
       {"", "[]", "3", "{}", R"({"status":1})", R"({"isolation":{"layers":[]}})"}) {
    EXPECT_FALSE(parse_trial(odd).worked) << odd;
    EXPECT_THAT(parse_trial(odd).layers, IsEmpty()) << odd;
  }
}

TEST(Doctor, StrengthIsDecidedByWhatWasTried) {
  Diagnosis diagnosis;
  EXPECT_EQ(diagnosis.strength(), Strength::none);
  diagnosis.cell.worked = true;
  EXPECT_EQ(diagnosis.strength(), Strength::strongest);
  diagnosis.weaker = {"cgroup"};
  EXPECT_EQ(diagnosis.strength(), Strength::weaker);
}

}  // namespace
}  // namespace sallyport
