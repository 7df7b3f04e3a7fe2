#include "door/cli/doctor_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace sallyport {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Verdict = Check::Verdict;

Result<DoctorRequest> parse(std::initializer_list<const char*> words) {
  return parse_doctor(std::span(words.begin(), words.size()));
}

Diagnosis strongest() {
  Diagnosis diagnosis;
  diagnosis.kernel = "6.1.0-18-amd64";
  diagnosis.cell.worked = true;
  diagnosis.cell.layers = {{"user", "own uid"}, {"cgroup", "v2"}};
  diagnosis.checks = {{"kernel", "6.1.0-18-amd64", Verdict::good, ""},
                      {"KVM", "no /dev/kvm", Verdict::note, ""}};
  return diagnosis;
}

Diagnosis weaker() {
  Diagnosis diagnosis = strongest();
  diagnosis.weaker = {"cgroup"};
  diagnosis.cell.layers[1].second = "none";
  diagnosis.checks.push_back({"cgroup", "not delegated", Verdict::weaker, "systemd-run"});
  return diagnosis;
}

Diagnosis none() {
  Diagnosis diagnosis;
  diagnosis.cell.message = "no namespaces";
  diagnosis.checks = {{"container", "a filter", Verdict::missing, "docker run A\nsecond line"},
                      {"/proc", "masked", Verdict::missing, "docker run A\nsecond line"},
                      {"overlayfs", "not loaded", Verdict::weaker, "modprobe overlay"}};
  return diagnosis;
}

TEST(DoctorCommand, TakesJsonAndHelpAndNothingElse) {
  EXPECT_FALSE(parse({})->json);
  EXPECT_TRUE(parse({"--json"})->json);
  EXPECT_TRUE(parse({"--help"})->help);
  EXPECT_EQ(parse({"--jason"}).error().reason, Reason::argument);
  EXPECT_THAT(parse({"--jason"}).error().hint, HasSubstr("--json"));
  EXPECT_THAT(parse({"now"}).error().message, HasSubstr("'now'"));
}

TEST(DoctorCommand, TheExitCodeSaysHowStrongACellIs) {
  EXPECT_EQ(exit_code_of(strongest()), 0);
  EXPECT_EQ(exit_code_of(weaker()), 1);
  EXPECT_EQ(exit_code_of(none()), 2);
}

TEST(DoctorCommand, HelpNamesEveryOptionAndExitCode) {
  EXPECT_THAT(doctor_help_text(), AllOf(HasSubstr("--json"), HasSubstr("\n  0 "),
                                        HasSubstr("\n  1 "), HasSubstr("\n  2 ")));
}

TEST(DoctorCommand, ColumnsAreAligned) {
  EXPECT_EQ(diagnosis_text(strongest()),
            "This machine\n"
            "  ok       kernel            6.1.0-18-amd64\n"
            "  note     KVM               no /dev/kvm\n"
            "\n"
            "In force in a cell\n"
            "  ok       user              own uid\n"
            "  ok       cgroup            v2\n"
            "\n"
            "The strongest process cell works here: every layer is in force.\n");
}

TEST(DoctorCommand, AWeakerLayerIsMarkedAndNamedAtTheEnd) {
  EXPECT_THAT(diagnosis_text(weaker()),
              AllOf(HasSubstr("  weaker   cgroup            none\n"), HasSubstr("systemd-run\n"),
                    HasSubstr("not in force: cgroup.\n")));
}

TEST(DoctorCommand, OneFixForTwoChecksIsGivenOnce) {
  EXPECT_THAT(diagnosis_text(none()),
              AllOf(HasSubstr("  1. container, /proc\n"
                              "     docker run A\n"
                              "     second line\n"
                              "  2. overlayfs\n"
                              "     modprobe overlay\n"),
                    HasSubstr("\nNo cell can be made here"), Not(HasSubstr("In force"))));
}

TEST(DoctorCommand, ALongTextIsWrappedAndALongCommandIsNot) {
  Diagnosis diagnosis = weaker();
  std::string words;
  for (int i = 0; i < 40; ++i)
    words.append("word ");
  words.append("end");
  diagnosis.checks[0].found = words;
  diagnosis.checks[2].fix = words;
  const std::string text = diagnosis_text(diagnosis);
  EXPECT_THAT(text, AllOf(HasSubstr("\n     " + words + "\n"),
                          HasSubstr("\n" + std::string(29, ' ') + "word")));
}

// The name of a directory or a distribution may hold anything.
TEST(DoctorCommand, WhatWasFoundCannotSpeakToTheTerminal) {
  Diagnosis diagnosis = weaker();
  diagnosis.checks[0].found = "a\x1b[2Jb";
  diagnosis.checks[2].fix = "c\x1b]0;d";
  EXPECT_THAT(diagnosis_text(diagnosis), Not(HasSubstr("\x1b")));
}

TEST(DoctorCommand, JsonHasTheWholeDiagnosis) {
  const auto object = boost::json::parse(diagnosis_json(weaker())).as_object();
  EXPECT_EQ(object.at("kernel").as_string(), "6.1.0-18-amd64");
  EXPECT_EQ(object.at("verdict").as_string(), "weaker");
  EXPECT_EQ(object.at("exit_code").as_int64(), 1);
  EXPECT_EQ(object.at("layers").as_object().at("user").as_string(), "own uid");
  EXPECT_EQ(object.at("weaker").as_array().at(0).as_string(), "cgroup");
  const auto& checks = object.at("checks").as_array();
  ASSERT_EQ(checks.size(), 3U);
  EXPECT_EQ(checks[0].as_object().at("verdict").as_string(), "good");
  EXPECT_FALSE(checks[0].as_object().contains("fix"));
  EXPECT_EQ(checks[2].as_object().at("name").as_string(), "cgroup");
  EXPECT_EQ(checks[2].as_object().at("found").as_string(), "not delegated");
  EXPECT_EQ(checks[2].as_object().at("fix").as_string(), "systemd-run");
}

}  // namespace
}  // namespace sallyport
