#include "policy/reading.h"

#include <gtest/gtest.h>

#include "policy/problem_rows.h"

namespace sallyport {
namespace {

TEST(PolicyValues, TrapsAreErrorsThatSayWhatToWrite) {
  constexpr ProblemRow kRows[] = {
      {kTool "limits: {timeout: 10}\n",
       "f:6:23: tools.t.limits.timeout: '10' has no unit (write a number and one of ms, s, min or "
       "h, such as 10s)"},
      {kTool "limits: {memory: 256M}\n",
       "f:6:22: tools.t.limits.memory: '256M' has an unknown unit, 'M' (write 256MB (decimal) or "
       "256MiB (binary))"},
      {kTool "limits: {timeout: 0s}\n",
       "f:6:23: tools.t.limits.timeout: '0s' is too small (the least is 1ms)"},
      {kTool "limits: {cpus: 1e1}\n",
       "f:6:20: tools.t.limits.cpus: '1e1' is not a number (write a number such as 0.5 or 2)"},
      {kTool "limits: {processes: 1_000}\n",
       "f:6:25: tools.t.limits.processes: '1_000' is not a whole number (write a whole number such "
       "as 64)"},
      {kTool "limits: {processes: 012}\n",
       "f:6:25: tools.t.limits.processes: '012' is not a whole number (write a whole number such "
       "as 64)"},
      {kTool "limits: {processes: 0x10}\n",
       "f:6:25: tools.t.limits.processes: '0x10' is not a whole number (write a whole number such "
       "as 64)"},
      {kTool R"(limits: {processes: "64"})"
             "\n",
       "f:6:25: tools.t.limits.processes: a number is wanted here, and this is a quoted text "
       "(write 64 without quotes)"},
      {kTool "limits: {tiemout: 10s}\n",
       "f:6:14: tools.t.limits.tiemout: there is no key 'tiemout' here (did you mean 'timeout'?)"},
      {kTool "limits: {timeout: ~}\n",
       R"(f:6:23: tools.t.limits.timeout: a value with its unit is wanted here, and '~' is none (leave the key out, or quote this if it is a text: "~"))"},
      {kTool "limits: {timeout:}\n",
       "f:6:14: tools.t.limits.timeout: a value with its unit is wanted here, and there is nothing "
       "(write a value, or leave the key out)"},
      {kTool "limits:\n",
       "f:6:5: tools.t.limits: a mapping is wanted here, and there is nothing (write keys and "
       "values below it, or {} for none)"},
      {kTool "rate: 10\n",
       "f:6:11: tools.t.rate: '10' does not say per what (write it as 10/min, or per s, h or day)"},
      {kTool "rate: 10/m\n",
       "f:6:11: tools.t.rate: '10/m' has an unknown window, 'm' (write 10/min)"},
      {kTool "rate: 0/min\n",
       "f:6:11: tools.t.rate: '0/min' allows nothing (write a number from 1; to forbid a tool, "
       "give nobody its permission)"},
      {kTool "rate: []\n",
       "f:6:11: tools.t.rate: the list of rates is empty (write a rate such as 10/min, or leave "
       "`rate` out)"},
      {kTool "rate: [1/min, 2/min]\n",
       "f:6:19: tools.t.rate[1]: there are two rates for the same window (keep the stricter one)"},
      {kTool "rate: 1e3/min\n",
       "f:6:11: tools.t.rate: '1e3/min' does not begin with a whole number (write N/s, N/min, N/h "
       "or N/day, such as 10/min)"},
      {kTool "irreversible: yes\n",
       "f:6:19: tools.t.irreversible: true or false is wanted here, and this is 'yes' (write "
       "true)"},
      {kTool R"(irreversible: "true")"
             "\n",
       "f:6:19: tools.t.irreversible: true or false is wanted here, and this is 'true' (write true "
       "without the quotes)"},
      {kTool "irreversible: True\n",
       "f:6:19: tools.t.irreversible: true or false is wanted here, and this is 'True' (write "
       "true)"},
      {kTool "description: 012\n",
       R"(f:6:18: tools.t.description: a text is wanted here, and the bare '012' is a number or a date to some readers of YAML (quote this: "012"))"},
      {kTool "description: on\n",
       R"(f:6:18: tools.t.description: a text is wanted here, and the bare 'on' is a truth value to some readers of YAML (quote this: "on"))"},
      {kTool "description: 1.10\n",
       R"(f:6:18: tools.t.description: a text is wanted here, and the bare '1.10' is a number to some readers of YAML (quote this: "1.10"))"},
      {kTool "description: 2024-01-01\n",
       R"(f:6:18: tools.t.description: a text is wanted here, and the bare '2024-01-01' is a number or a date to some readers of YAML (quote this: "2024-01-01"))"},
      {kTool "description: null\n",
       R"(f:6:18: tools.t.description: a text is wanted here, and 'null' is none (leave the key out, or quote this if it is a text: "null"))"},
      {kTool "description: 12:30\n",
       R"(f:6:18: tools.t.description: a text is wanted here, and the bare '12:30' is a number or a date to some readers of YAML (quote this: "12:30"))"},
      {kTool "description: [a]\n",
       "f:6:18: tools.t.description: a text is wanted here, and this is a list"},
      {kTool "limits: {max_output: 2MB, max_output_hard: 1MB}\n",
       "f:6:13: tools.t.limits: max_output is more than max_output_hard (raise max_output_hard "
       "too, or lower max_output)"},
      {kTool "limits: [timeout]\n",
       "f:6:13: tools.t.limits: a mapping is wanted here, and this is a list (write keys and "
       "values, as in {key: value})"},
  };
  expect_problems(kRows);
}

// What YAML 1.1, YAML 1.2 or a person might take for something else than the text.
TEST(PolicyValues, ATextThatSomeReaderTakesForSomethingElseMustBeQuoted) {
  for (const std::string text :
       {"yes",    "No",       "ON",         "off",
        "y",      "N",        "true",       "False",
        "null",   "Null",     "~",          "0",
        "-1",     "012",      "0o14",       "0x1F",
        "0b1",    "1_000",    "1,000",      "1e3",
        "1.5e-3", ".5",       "5.",         "+1",
        "1.10",   ".inf",     "-.INF",      ".NaN",
        "12:30",  "12:30:45", "2001-12-14", "2001-12-14t21:59:43.10-05:00"}) {
    EXPECT_FALSE(Policy::parse(kTool "description: " + text + "\n")) << text;
    EXPECT_TRUE(Policy::parse(kTool "description: \"" + text + "\"\n")) << text;
    EXPECT_TRUE(Policy::parse(kTool "description: '" + text + "'\n")) << text;
  }
}

TEST(PolicyValues, APlainWordNeedsNoQuotes) {
  for (const std::string text : {"hello", "1.2.3", "v1", "3rd", "a-b", "10.0.0.1", "yesterday",
                                 "nothing", "e3", "0xyz", "/srv/x:/data", "2h", "a:b", "-x"})
    EXPECT_TRUE(Policy::parse(kTool "description: " + text + "\n")) << text;
}

}  // namespace
}  // namespace sallyport
