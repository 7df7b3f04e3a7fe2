#include "policy/problem_rows.h"
#include "policy/rules.h"

namespace sallyport {
namespace {

TEST(PolicyChecks, WhatNoSectionSeesAloneIsFound) {
  constexpr ProblemRow kRows[] = {
      {kVersion "callers:\n  c: {role: editr}\nroles:\n  editor: [a]\n",
       "f:3:13: callers.c.role: there is no role 'editr' (did you mean 'editor'?)"},
      {kVersion "callers:\n  c: {tenant: x}\n",
       "f:3:15: callers.c.tenant: there is no tenant 'x' (describe it under `tenants`)"},
      {kTool "credentials: [x]\n",
       "f:6:19: tools.t.credentials[0]: there is no credential 'x' (describe it under "
       "`credentials`)"},
      {kTool "screen: blok\n",
       "f:6:13: tools.t.screen: there is no 'blok' here (did you mean 'block'? it is one of none, "
       "warn, approve, block)"},
      {kTool "screen: {proces: block}\n",
       "f:6:14: tools.t.screen.proces: there is no key 'proces' here (did you mean 'process'?)"},
      {kTool "approval: {by: [lead]}\n",
       "f:6:21: tools.t.approval.by[0]: there is no role 'lead' (describe it under `roles`)"},
      {kTool "approval: {by: []}\n",
       "f:6:20: tools.t.approval.by: the list is empty, and so nobody could approve (name a role "
       "that may)"},
      {kVersion "ceiling: {limits: {timeout: 5s}}\ntools:\n  t: {run: [x], needs: [], limits: "
                "{timeout: 6s}}\n",
       "f:4:46: tools.t.limits.timeout: 6s is more than the ceiling, 5s (write at most 5s, or "
       "raise ceiling.limits.timeout)"},
      {kVersion "ceiling: {limits: {timeout: 5s}}\ndefaults: {limits: {timeout: 1min}}\n",
       "f:3:30: defaults.limits.timeout: 1min is more than the ceiling, 5s (write at most 5s, or "
       "raise ceiling.limits.timeout)"},
      {kVersion "ceiling: {files: {deny: [\"/**/.ssh/**\"]}}\ntools:\n  t: {run: [x], needs: [], "
                "files: {read: [/home/u/.ssh]}}\n",
       "f:4:43: tools.t.files.read[0]: '/home/u/.ssh' would show what the ceiling denies, "
       "'/**/.ssh/**' (grant another path, or change ceiling.files.deny)"},
      {kVersion "ceiling: {files: {deny: [/etc/shadow]}}\ntools:\n  t: {run: [x], needs: [], "
                "files: {read: [/bin, \"/etc:/data\"]}}\n",
       "f:4:43: tools.t.files.read[0]: nothing can be placed at '/bin': it would hide what "
       "programs need to start (write HOST:INSIDE, such as '/bin:/data')"},
      {kVersion "ceiling: {files: {deny: [/etc/shadow]}}\ntools:\n  t: {run: [x], needs: [], "
                "files: {read: [/srv, \"/etc:/data\"]}}\n",
       "f:4:49: tools.t.files.read[1]: '/etc' would show what the ceiling denies, '/etc/shadow' "
       "(grant another path, or change ceiling.files.deny)"},
      {kVersion "ceiling: {network: {deny: [\"*.x.y\"]}}\ntools:\n  t: {run: [x], needs: [], "
                "network: {allow: [a.x.y]}}\n",
       "f:4:46: tools.t.network.allow[0]: 'a.x.y' is denied by the ceiling, as '*.x.y' (take one "
       "of "
       "the two out)"},
      {kVersion "tests: [{as: a, call: b, expect: allowed}]\n",
       "f:2:14: tests[0].as: there is no caller 'a' (describe it under `callers`)"},
      {kVersion "callers: {a: {}}\ntests: [{as: a, call: b, expect: blocked, reason: permision}]\n",
       "f:3:23: tests[0].call: there is no tool 'b' (describe it under `tools`)"},
      {kVersion "roles: {lead: [x]}\ncallers: {a: {role: lead}}\ntools: {t: {run: [x], needs: [x], "
                "approval: {by: [lead]}}}\n",
       "f:4:45: tools.t.approval: nobody could approve a call: whoever may call is one of those "
       "who approve, and never approves a call of their own (give the role to one more caller)"},
      {kVersion "roles: {lead: [x]}\ncallers: {a: {role: lead}}\ntools: {t: {run: [x], needs: [x], "
                "approval: {by: [lead], count: 2}}}\n",
       "f:4:45: tools.t.approval: 2 must approve, and only 1 of the callers can (give the role to "
       "more callers, or ask for fewer approvals)"},
      {kVersion "ceiling: {network: {deny: [a.b]}}\ncredentials: {c: {from: \"env:X\", inject: "
                "bearer, to: [a.b]}}\n",
       "f:3:55: credentials.c.to[0]: 'a.b' cannot be reached: the ceiling denies 'a.b' (take one "
       "of "
       "the two out)"},
      {kVersion "credentials: {c: {from: \"env:X\", inject: bearer, to: [a.b]}}\ntools: {t: {http: "
                "{method: GET, url: \"https://c.d/\"}, needs: [], credentials: [c]}}\n",
       "f:3:80: tools.t.credentials[0]: the credential 'c' is not for 'c.d', the only host that "
       "the "
       "tool reaches (take it out, or add the host to its `to`)"},
      {kVersion
       "credentials: {c: {from: \"env:X\", env: TOKEN, to: [a.b]}, d: {from: \"env:Y\", env: "
       "TOKEN, to: [e.f]}}\ntools: {t: {run: [x], needs: [], credentials: [c, d]}}\n",
       "f:3:51: tools.t.credentials[1]: 'c' has the variable TOKEN (take one of the two out, or "
       "give it to a tool of its own)"},
      {kVersion
       "credentials: {c: {from: \"env:X\", inject: bearer, to: [a.b]}, d: {from: \"env:Y\", "
       "inject: \"header:authorization\", to: [a.b]}}\ntools: {t: {run: [x], needs: [], "
       "credentials: [c, d]}}\n",
       "f:3:51: tools.t.credentials[1]: 'c' has the same place in every request to a.b (take one "
       "of the two out, or give it to a tool of its own)"},
      {kVersion
       "tools: {t: {http: {method: GET, url: \"https://c.d.e/\"}, needs: [], network: {deny: "
       "[\"*.d.e\"]}}}\n",
       "f:2:38: tools.t.http.url: 'c.d.e' is denied by `network` of the same tool, as '*.d.e' "
       "(take "
       "one of the two out)"},
      {kVersion
       "ceiling: {limits: {memory: 1GiB}}\nroles: {r: {permissions: [], limits: {memory: 2GiB}}}\n",
       "f:3:47: roles.r.limits.memory: 2GiB is more than the ceiling, 1GiB (write at most 1GiB, or "
       "raise ceiling.limits.memory)"},
      {kVersion "ceiling: {limits: {memory: 1GiB}}\ntenants: {r: {limits: {memory: 2GiB}}}\n",
       "f:3:32: tenants.r.limits.memory: 2GiB is more than the ceiling, 1GiB (write at most 1GiB, "
       "or raise ceiling.limits.memory)"},
      {kVersion "ceiling: {limits: {memory: 1GiB}}\ncallers: {r: {limits: {memory: 2GiB}}}\n",
       "f:3:32: callers.r.limits.memory: 2GiB is more than the ceiling, 1GiB (write at most 1GiB, "
       "or raise ceiling.limits.memory)"},
      {kVersion "ceiling: {files: {deny: [etc]}}\n",
       "f:2:26: ceiling.files.deny[0]: 'etc' is not an absolute path (write an absolute path such "
       "as /srv/data, without '.', '..' and '//')"},
      {kVersion "callers: {a: {}}\ntools: {b: {run: [x], needs: []}}\ntests: [{as: a, call: b, "
                "expect: allowed, reason: argument}]\n",
       "f:4:9: tests[0]: a call that is allowed has no reason (leave `reason` out)"},
  };
  expect_problems(kRows);
}

TEST(PolicyChecks, AGrantMayNotShowWhatTheCeilingDenies) {
  const auto loads = [](std::string_view deny, std::string_view grant) {
    return Policy::parse(std::string(kVersion "ceiling: {files: {deny: [\"") + std::string(deny) +
                         "\"]}}\ntools: {t: {run: [x], needs: [], files: {read: [" +
                         std::string(grant) + ":/data]}}}\n")
        .has_value();
  };
  EXPECT_FALSE(loads("/etc/shadow", "/etc/shadow"));
  EXPECT_FALSE(loads("/etc/shadow", "/etc"));
  EXPECT_FALSE(loads("/etc/shadow", "/"));
  EXPECT_FALSE(loads("/etc", "/etc/ssl/private"));
  EXPECT_FALSE(loads("/**/.ssh/**", "/home/a/.ssh"));
  EXPECT_FALSE(loads("/**/.ssh/**", "/home/a/.ssh/keys/old"));
  EXPECT_FALSE(loads("/**/.ssh", "/home/a/.ssh/keys"));
  EXPECT_FALSE(loads("/home/*", "/home"));
  EXPECT_TRUE(loads("/etc/shadow", "/etc/shadow2"));
  EXPECT_TRUE(loads("/etc/shadow", "/srv"));
  EXPECT_TRUE(loads("/**/.ssh/**", "/srv/data"));
  EXPECT_TRUE(loads("/srv/*.key", "/srv/data"));
}

TEST(PolicyChecks, AHostThatIsDeniedAsAWholeCannotBeAllowed) {
  const auto loads = [](std::string_view deny, std::string_view allow) {
    return Policy::parse(std::string(kVersion "ceiling: {network: {deny: [\"") + std::string(deny) +
                         "\"]}}\ntools: {t: {run: [x], needs: [], network: {allow: [\"" +
                         std::string(allow) + "\"]}}}\n")
        .has_value();
  };
  EXPECT_FALSE(loads("a.com", "a.com"));
  EXPECT_FALSE(loads("a.com", "A.com:8443"));
  EXPECT_FALSE(loads("*.a.com", "b.a.com"));
  EXPECT_FALSE(loads("*.a.com", "*.a.com"));
  EXPECT_FALSE(loads("*.a.com", "*.b.a.com"));
  EXPECT_TRUE(loads("*.a.com", "a.com"));
  EXPECT_TRUE(loads("b.a.com", "*.a.com"));  // in part: held when the call connects
  EXPECT_TRUE(loads("*.a.com", "nota.com"));
}

TEST(PolicyChecks, AnApprovalThatSomebodyCanGiveLoads) {
  EXPECT_TRUE(Policy::parse(kVersion R"(
roles: { lead: [x], staff: [x] }
callers: { a: { role: lead }, b: { role: lead }, c: { role: staff } }
tools:
  one: { run: [x], needs: [x], irreversible: true, approval: { by: [lead] } }
  two: { run: [x], needs: [x], approval: { by: [lead], count: 2 } }
)"));
}

std::vector<std::string> warnings(std::string_view yaml) {
  const auto policy = Policy::parse(yaml, "f");
  if (!policy) return {"does not load: " + to_text(policy.error()[0])};
  std::vector<std::string> said;
  for (const PolicyProblem& warning : policy->warnings())
    said.push_back(to_text(warning));
  return said;
}

TEST(PolicyChecks, APermissionThatNoRoleHasIsAWarning) {
  EXPECT_EQ(
      warnings(kVersion "roles: {r: [read:data]}\ncallers: {a: {role: r}}\n"
                        "tools: {t: {run: [x], needs: [read:data, read:dta]}}\n"),
      (std::vector<std::string>{
          "f:4:42: tools.t.needs[1]: no role has the permission 'read:dta', and so nobody can "
          "call the tool (did you mean 'read:data'?)"}));
  EXPECT_EQ(warnings(kVersion "tools: {t: {run: [x], needs: [go]}}\n"),
            (std::vector<std::string>{"f:2:31: tools.t.needs[0]: no role has the permission 'go', "
                                      "and so nobody can call the tool (give it to a role)"}));
  // `admin` has every permission.
  EXPECT_EQ(warnings(kVersion "roles: {r: [admin]}\ncallers: {a: {role: r}}\n"
                              "tools: {t: {run: [x], needs: [go]}}\n"),
            std::vector<std::string>());
}

TEST(PolicyChecks, AnArgumentThatBecomesAScriptIsAWarning) {
  const auto argument_of = [](std::string_view run) {
    const auto said = warnings(std::string(kVersion "tools: {t: {needs: [], args: {k: {type: "
                                                    "string, optional: true}}, run: [") +
                               std::string(run) + "]}}\n");
    if (said.empty()) return std::string();
    const std::size_t rule = said[0].find("tools.t.run");
    return rule == std::string::npos ? said[0]
                                     : said[0].substr(rule, said[0].find(':', rule) - rule);
  };
  for (const char* run :
       {R"(bash, -c, "{k}")", R"(/bin/sh, -ec, "ls {k}")", R"(sh, -x, "-c", "{k}")",
        R"(python3.12, -c, "{k}")", R"(perl, -ne, "{k}")", R"(node, --eval, "{k}")",
        R"(awk, "{k}", /x)", R"(sed, -n, "{k}")", R"(bash, -c, "{arguments} {k}")"})
    EXPECT_TRUE(argument_of(run).starts_with("tools.t.run[")) << run << argument_of(run);
  EXPECT_EQ(argument_of(R"(env, bash, -c, "{k}")"), "tools.t.run[3]");
  EXPECT_EQ(argument_of(R"(node, "--eval={k}")"), "tools.t.run[1]");
  EXPECT_EQ(argument_of(R"(perl, "-e{k}")"), "tools.t.run[1]");
  for (const char* run : {R"(bash, -c, 'grep "$1" /x', _, "{k}")", R"(python3, /x.py, -c, "{k}")",
                          R"(grep, -c, "{k}")", R"(sed, -n, p, "{k}")", R"(awk, "x", "{k}")",
                          R"(bash, /x.sh, "{k}")"})
    EXPECT_EQ(argument_of(run), "") << run;
}

TEST(PolicyChecks, ASharedNetworkIsAWarningAndNeverBesideRulesForIt) {
  EXPECT_EQ(
      warnings(kTool "dangerously_share_network: true\n"),
      (std::vector<std::string>{
          "f:6:32: tools.t.dangerously_share_network: the tool has the network of this machine "
          "itself: every host and service that this machine reaches, its loopback too (take "
          "it out, and list the hosts that are meant under network.allow)"}));
  EXPECT_EQ(warnings(kTool "dangerously_share_network: false\n"), std::vector<std::string>());
  constexpr ProblemRow kRows[] = {
      {kTool "dangerously_share_network: yes\n", "f:6:32: tools.t.dangerously_share_network:"},
      {kVersion "defaults: {dangerously_share_network: true}\n", "f:2:12: defaults."},
      {kTool "dangerously_share_network: true\n    network: {allow: [a.b]}\n",
       "f:6:32: tools.t.dangerously_share_network: rules for the network cannot be held where the "
       "network is shared (take one of the two out; network: none takes those of `defaults` out)"},
      {kVersion "tools: {t: {tier: inline, needs: [], dangerously_share_network: true}}\n",
       "f:2:65: tools.t.dangerously_share_network: 'dangerously_share_network' means nothing"},
      {kVersion "ceiling: {network: {deny: [a.b]}}\ntools: {t: {run: [x], needs: [], "
                "dangerously_share_network: true}}\n",
       "f:3:61: tools.t.dangerously_share_network: the ceiling denies hosts, which cannot be held "
       "where the network is shared (take one of the two out)"},
  };
  expect_problems(kRows);
}

TEST(PolicyChecks, WhatIsOddButLoadsIsAWarning) {
  const auto policy = Policy::parse(kVersion R"(
roles: { ghost: [x] }
callers: { nobody: {} }
credentials: { unused: { from: "env:X", inject: bearer, to: [a.com] } }
)",
                                    "f");
  ASSERT_TRUE(policy);
  std::vector<std::string> said;
  for (const PolicyProblem& warning : policy->warnings())
    said.push_back(to_text(warning));
  EXPECT_EQ(said, (std::vector<std::string>{
                      "f:3:10: roles.ghost: nobody has this role (give it to a caller, or take it "
                      "out)",
                      "f:4:12: callers.nobody: the caller has no role, and so no permissions "
                      "(write role: NAME)",
                      "f:5:16: credentials.unused: no tool uses this credential (name it under "
                      "`credentials` of a tool, or take it out)"}));
}

}  // namespace
}  // namespace sallyport
