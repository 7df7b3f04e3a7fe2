#include "policy/problem_rows.h"
#include "policy/rules.h"

namespace sallyport {
namespace {

TEST(PolicyTools, MistakesAreNamedWithTheirPlace) {
  constexpr ProblemRow kRows[] = {
      {kTool "irreversible: true\n",
       "f:4:5: tools.t.approval: the key 'approval' is missing (an irreversible tool asks for "
       "approval: say by whom, as approval: {by: [ROLE]})"},
      {kVersion "tools:\n  t:\n    run: [x, {limit}]\n    needs: []\n",
       R"(f:4:14: tools.t.run[1]: a text is wanted here, and this is a mapping (quote this: "{limit}"))"},
      {kVersion "tools:\n  t:\n    run: [x, \"{limit}\"]\n    needs: []\n",
       "f:4:14: tools.t.run[1]: the placeholder {limit} in '{limit}' has no argument of that name "
       "(declare it under args, or write {{ and }} for braces themselves)"},
      {kVersion "tools:\n  t:\n    run: [x]\n",
       "f:4:5: tools.t.needs: the key 'needs' is missing (it says: The permissions that a caller "
       "must have; `[]` for none.)"},
      {kVersion "tools:\n  t:\n    needs: []\n",
       "f:4:5: tools.t: the tool does not say what it is (write one of use, run, http and mcp; or "
       "tier: inline or tier: thread for a function of the host program)"},
      {kVersion "tools:\n  t: {use: run_python, run: [x], needs: []}\n",
       "f:3:6: tools.t: the tool has both 'use' and 'run' (a tool has one of use, run, http and "
       "mcp)"},
      {kVersion "tools:\n  t: {use: run_pyton, needs: []}\n",
       "f:3:12: tools.t.use: there is no 'run_pyton' here (did you mean 'run_python'? it is one of "
       "run_python, run_javascript, run_shell, run_command, read_file, write_file, edit_file, "
       "list_files, search_files, http_fetch, sql)"},
      {kVersion "tools:\n  t: {run: [], needs: []}\n",
       R"(f:3:12: tools.t.run: the command is empty (write [/usr/bin/program, --option, "{name}"]))"},
      {kVersion "tools:\n  t: {run: [\"{p}\"], needs: [], args: {p: {type: string}}}\n",
       "f:3:13: tools.t.run[0]: the program itself cannot be an argument (write its path, such as "
       "/usr/bin/program)"},
      {kVersion "tools:\n  t: {run: [bin/x], needs: []}\n",
       "f:3:13: tools.t.run[0]: 'bin/x' is neither an absolute path nor the bare name of a program "
       "(write it as /usr/bin/program or program)"},
      {kVersion "tools:\n  t: {run: x y, needs: []}\n",
       "f:3:12: tools.t.run: a list is wanted here, and this is a single value (write [x y])"},
      {kTool "network: {allow: [127.0.0.1]}\n", "f:6:23: tools.t.network.allow[0]:"},
      {kTool "network: all\n",
       "f:6:14: tools.t.network: `none` or a mapping is wanted here, and this is 'all' (write "
       "none, or {allow: [api.example.com]})"},
      {kTool R"(network: {allow: ["a:b"]})"
             "\n",
       "f:6:23: tools.t.network.allow[0]:"},
      {kTool "network: {allow: [{host: a.b, scheme: tcp}]}\n",
       "f:6:23: tools.t.network.allow[0]: tcp has no port of its own (write the port)"},
      {kTool "network: {allow: [{host: a.b, address: 10.0.0.1}]}\n",
       "f:6:23: tools.t.network.allow[0]: '10.0.0.1' is not an address of the open internet "
       "(private) (write internal: true if it is meant)"},
      {kTool "network: {allow: [{host: a.b, methods: [GET]}]}\n",
       "f:6:23: tools.t.network.allow[0]: methods and paths cannot be seen in https (write "
       "inspect: true, or leave them out)"},
      {kTool "network: {allow: [{host: a.b, port: 1, scheme: tcp, inspect: true}]}\n",
       "f:6:23: tools.t.network.allow[0]: nobody can look into tcp (leave inspect out)"},
      {kTool "files: {read: [data]}\n",
       "f:6:20: tools.t.files.read[0]: 'data' is not an absolute path (write an absolute path such "
       "as /srv/data, without '.', '..' and '//')"},
      {kTool "files: {read: [/a/../b]}\n",
       "f:6:20: tools.t.files.read[0]: '/a/../b' contains '..' (write an absolute path such as "
       "/srv/data, without '.', '..' and '//')"},
      {kTool "files: {read: [/a/*.csv]}\n",
       "f:6:20: tools.t.files.read[0]: '/a/*.csv' is a glob, and a cell is shown whole directories "
       "and files (write '/a'; globs narrow the file tools)"},
      {kTool "files: {read: [/a:]}\n",
       R"(f:6:20: tools.t.files.read[0]: a text is wanted here, and this is a mapping (quote this: "/a:"))"},
      {kTool "files: {read: [/a//b]}\n",
       "f:6:20: tools.t.files.read[0]: '/a//b' has an empty component (write an absolute path such "
       "as /srv/data, without '.', '..' and '//')"},
      {kTool "files: {read: [/a, /a]}\n",
       "f:6:24: tools.t.files: two entries would both be at '/a' (give one of them another INSIDE, "
       "or leave one out)"},
      {kTool "files: {read: /a}\n",
       "f:6:19: tools.t.files.read: a list is wanted here, and this is a single value (write "
       "[/a])"},
      {kTool "files: {client: read}\n",
       "f:6:21: tools.t.files: only a tool with `use: run_command` can be shown files by callers "
       "(leave `client` out)"},
      {kTool "files: {write_mode: cow}\n",
       "f:6:25: tools.t.files.write_mode: there is no 'cow' here (it is one of direct, copy)"},
      {kTool "tier: inline\n",
       "f:4:5: tools.t.tier: the tiers inline and thread run functions of the host program, and "
       "this is a tool of its own (write tier: process, or leave use, run, http and mcp out)"},
      {kTool "commands: [ls]\n",
       "f:6:15: tools.t.commands: 'commands' means nothing to this tool (it belongs to tools with "
       "`use: run_command`)"},
      {kTool "syscalls: nodejs\n",
       "f:6:15: tools.t.syscalls: there is no 'nodejs' here (it is one of default, python-data, "
       "node, build)"},
      {kTool R"(require: ["land lock"])"
             "\n",
       "f:6:15: tools.t.require[0]: 'land lock' is not a layer (did you mean landlock? the layers "
       "are user, "},
      {kTool "prefer: [seccomp, landlok]\n",
       "f:6:23: tools.t.prefer[1]: 'landlok' is not a layer (did you mean landlock?"},
      {kVersion "defaults: {require: [\"seccomp:2\"]}\n",
       "f:2:22: defaults.require[0]: the layer seccomp has no levels (write seccomp)"},
      {kTool "require: [\"landlock:0\"]\n", "f:6:15: tools.t.require[0]: '0' is not a level"},
      {kTool "files: {read: [\"/x:/usr\"]}\n",
       "f:6:20: tools.t.files.read[0]: nothing can be placed at '/usr': it would hide what "
       "programs need to start (write HOST:INSIDE, such as '/x:/data')"},
      {kTool "files: {write: [/srv, \"/x:/proc/self\"]}\n",
       "f:6:27: tools.t.files.write[1]: nothing can be placed at '/proc/self': the cell has its "
       "own /proc (write HOST:INSIDE, such as '/x:/data')"},
      {kVersion "tools: {t: {use: read_file, needs: [], files: {read: [\"/etc/*.conf\"]}}}\n",
       "f:2:55: tools.t.files.read[0]: nothing can be placed at '/etc'"},
      {kTool R"(network: {allow: ["https://api.example.com/v1"]})"
             "\n",
       "f:6:23: tools.t.network.allow[0]: 'https://api.example.com/v1' is a URL (write the host, "
       "not a URL: 'api.example.com')"},
      {kTool R"(network: {deny: ["http://"]})"
             "\n",
       "f:6:22: tools.t.network.deny[0]: 'http://' is a URL (write the host, not a URL)"},
      {kVersion
       R"(tools: {t: {http: {method: POST, url: "https://a.b/", body: {n: {x}}}, needs: [], args: {x: {type: integer}}}})"
       "\n",
       R"(f:2:65: tools.t.http.body.n: the braces make a mapping of 'x', which has no value (quote this: "{x}"))"},
      {kTool "collect: [a, b, a]\n",
       "f:6:21: tools.t.collect[2]: 'a' is listed twice (list each once)"},
      {kTool "collect: [/etc]\n", "f:6:15: tools.t.collect[0]:"},
      {kTool "warm: true\n",
       "f:6:11: tools.t.warm: 'warm' means nothing to this tool (it belongs to tools that run "
       "code: run_python, run_javascript, run_shell)"},
      {kTool "environment: {A: 1}\n",
       R"(f:6:22: tools.t.environment.A: a text is wanted here, and the bare '1' is a number to some readers of YAML (quote this: "1"))"},
      {kTool "output: {redact: [secret]}\n",
       "f:6:23: tools.t.output.redact[0]: there is no 'secret' here (did you mean 'secrets'? it is "
       "one of secrets, home_dirs, ip_addresses, temp_dirs, emails, cards)"},
      {kTool "output: {schema: {typ: object}}\n",
       "f:6:23: tools.t.output.schema.typ: there is no keyword 'typ' in JSON Schema (did you mean "
       "'type'?)"},
      {kTool "approval: {when: {x: {minimum: 1}}, by: [lead]}\n",
       "f:6:23: tools.t.approval.when.x: the tool has no argument 'x' (name an argument of the "
       "tool)"},
      {kVersion "tools: {t: {use: sql, needs: []}}\n",
       "f:2:12: tools.t.database: the key 'database' is missing (write sqlite:/PATH)"},
      {kVersion "tools: {t: {use: run_command, needs: []}}\n",
       R"(f:2:12: tools.t.commands: the key 'commands' is missing (list what may run, such as [ls, "git status"]; an empty list allows nothing))"},
      {kVersion R"(tools: {t: {use: run_command, needs: [], commands: ["ls | cat"]}})"
                "\n",
       "f:2:53: tools.t.commands[0]: '|' at column 4"},
      {kVersion R"(tools: {t: {http: {method: get, url: "http://a.b/"}, needs: []}})"
                "\n",
       "f:2:28: tools.t.http.method: there is no 'get' here (it is one of GET, HEAD, POST, PUT, "
       "PATCH, DELETE)"},
      {kVersion
       R"(tools: {t: {http: {method: GET, url: "https://{h}/"}, needs: [], args: {h: {type: host}}}})"
       "\n",
       "f:2:38: tools.t.http.url: the host of a URL cannot be an argument (write the host out; the "
       "path and the query may hold placeholders)"},
      {kVersion R"(tools: {t: {run: [a, "{x"], needs: []}})"
                "\n",
       "f:2:22: tools.t.run[1]: there is a '{' without its '}' in '{x' (write {{ for a brace "
       "itself)"},
      {kVersion R"(tools: {t: {run: [a, "x}"], needs: []}})"
                "\n",
       "f:2:22: tools.t.run[1]: there is a '}' without its '{' in 'x}' (write }} for a brace "
       "itself)"},
      {kVersion "tools: {t: {use: run_python, needs: [], preload: [numpy]}}\n",
       "f:2:12: tools.t.preload: there is nothing to preload into without `warm` (write warm: "
       "true)"},
      {kVersion
       R"(tools: {t: {use: sql, needs: [], database: "postgres://u:secret@h/d", tables: [a]}})"
       "\n",
       "f:2:44: tools.t.database: the database is given with a password in it (leave it out: "
       "`sallyport sql prepare` makes the roles and their passwords)"},
      {kVersion "tools: {t: {use: sql, needs: [], database: sqlite:/x, tables: {a: []}}}\n",
       "f:2:67: tools.t.tables.a: an empty list of columns allows nothing (write all, or leave the "
       "table out)"},
      {kVersion R"(tools: {t: {use: sql, needs: [], database: sqlite:/x, tables: ["a;b"]}})"
                "\n",
       "f:2:64: tools.t.tables[0]: 'a;b'"},
      {kVersion
       "tools: {t: {use: sql, needs: [], database: sqlite:/x, tables: {a: all, A: [b]}}}\n",
       "f:2:72: tools.t.tables.A: the table 'A' is listed twice (capital letters make no other "
       "table; list it once)"},
      {kVersion "tools: {t: {use: sql, needs: [], database: sqlite:/x, tables: [a, A]}}\n",
       "f:2:63: tools.t.tables: the table 'A' is listed twice (capital letters make no other "
       "table; list it once)"},
      {kVersion "tools: {t: {use: sql, needs: [], database: sqlite:/x, tables: [main.a]}}\n",
       "f:2:63: tools.t.tables: the table 'main.a' is given with a schema (tables of SQLite have "
       "none: write a)"},
      {kVersion "tools: {t: {use: sql, needs: [], database: sqlite:/a/../x, tables: [a]}}\n",
       "f:2:44: tools.t.database: '/a/../x' is not the path of a file (write the absolute path of "
       "the database, without . and ..)"},
      {kVersion "tools: {t: {use: sql, needs: [], database: sqlite:x, tables: [a]}}\n",
       "f:2:44: tools.t.database: 'sqlite:x' is not a database (write sqlite:/PATH or "
       "postgres://HOST/NAME)"},
      {kVersion
       "tools: {t: {use: sql, needs: [], database: sqlite:/x, tables: [a], files: {read: [/a]}}}\n",
       "f:2:75: tools.t.files: 'files' means nothing to this tool (it belongs to other tools: sql "
       "sees its database, and nothing else)"},
      {kVersion "ceiling: {files: {deny: [/srv/x]}}\n"
                "tools: {t: {use: sql, needs: [], database: sqlite:/srv/x/d, tables: [a]}}\n",
       "f:3:44: tools.t.database: '/srv/x/d' is what the ceiling denies, '/srv/x' (name another "
       "database, or change ceiling.files.deny)"},
      {kVersion "tools: {t: {mcp: [npx], needs: []}}\n",
       "f:2:12: tools.t.tools: the key 'tools' is missing (list the tools of the server that may "
       "be used)"},
      {kVersion "tools: {t: {tier: inline, needs: [], files: {read: [/a]}}}\n",
       "f:2:45: tools.t.files: 'files' means nothing to this tool (it belongs to tools that run in "
       "a cell)"},
      {kVersion R"(tools: {t: {http: {method: GET, url: "https://a.b/{x}"}, needs: []}})"
                "\n",
       "f:2:19: tools.t.http: the placeholder {x} in 'https://a.b/{x}' has no argument of that "
       "name (declare it under args, or write {{ and }} for braces themselves)"},
      {kVersion
       R"(tools: {t: {run: [x, "{limti}"], needs: [], input: json, args: {limit: {type: integer}}}})"
       "\n",
       "f:2:22: tools.t.run[1]: the placeholder {limti} in '{limti}' has no argument of that name "
       "(did you mean {limit}?)"},
      {kVersion
       "tools: {t: {use: run_command, needs: [], commands: [ls], refuse_flags: {git: [-c]}}}\n",
       "f:2:73: tools.t.refuse_flags.git: 'git' is not among the commands (leave it out, or add it "
       "to `commands`)"},
      {kVersion R"(tools: {t: {use: read_file, needs: [], files: {read: ["/*.csv"]}}})"
                "\n",
       "f:2:55: tools.t.files.read[0]: '/*.csv' has no directory before its glob (write one such "
       "as /srv/data/*.csv)"},
      {kVersion "tools: {t: {run: [x], needs: [], files: {read: [/:/]}}}\n",
       "f:2:49: tools.t.files.read[0]: nothing can be placed at '/' in the cell (write "
       "HOST:INSIDE, such as /srv:/data)"},
      {kVersion
       R"(tools: {t: {http: {method: GET, url: "https://a.b:{p}/"}, needs: [], args: {p: {type: integer}}}})"
       "\n",
       "f:2:38: tools.t.http.url: the host of a URL cannot be an argument (write the host out; the "
       "path and the query may hold placeholders)"},
      {kVersion
       R"(tools: {t: {http: {method: GET, url: "https://a.b/", headers: {Host: x}}, needs: []}})"
       "\n",
       "f:2:64: tools.t.http.headers.Host: the header 'Host' cannot be given (it is made from the "
       "request itself; leave it out)"},
      {kVersion
       R"(tools: {t: {http: {method: GET, url: "https://a.b/", headers: {A: x, a: y}}, needs: []}})"
       "\n",
       "f:2:70: tools.t.http.headers.a: the header 'a' is there already (write it once)"},
      {kVersion
       R"(tools: {t: {http: {method: GET, url: "https://a.b/", headers: {A: "{x}"}}, needs: []}})"
       "\n",
       "f:2:19: tools.t.http: the placeholder {x} in '{x}' has no argument of that name (declare "
       "it under args, or write {{ and }} for braces themselves)"},
      {kVersion "tools: {t: {use: http_fetch, needs: [], methods: []}}\n",
       "f:2:50: tools.t.methods: no method is allowed, and so no call (write [GET], or take the "
       "tool out)"},
      {kVersion "tools: {t: {use: http_fetch, needs: [], files: {read: [/srv]}}}\n",
       "f:2:48: tools.t.files: 'files' means nothing to this tool (it belongs to other tools: this "
       "one makes requests, and sees no files)"},
      {kTool "methods: [GET]\n",
       "f:6:14: tools.t.methods: 'methods' means nothing to this tool (it belongs to tools with "
       "`use: http_fetch`; elsewhere, to entries of network.allow)"},
      {kTool "root: /srv\n",
       "f:6:5: tools.t.root: there is no key 'root' here "
       "(the keys here are use, description, needs, tier, args, run, http, mcp, tools, input, "
       "result, collect, environment, rate, concurrency, limits, files, network, "
       "dangerously_share_network, syscalls, require, prefer, commands, refuse_flags, methods, "
       "screen, "
       "warm, preload, irreversible, approval, "
       "credentials, output, database, tables, rows)"},
  };
  expect_problems(kRows);
}

TEST(PolicyTools, AToolHasTheDefaultsThatItDoesNotReplace) {
  const auto policy = Policy::parse(kVersion R"(
defaults:
  rate: 10/min
  limits: { timeout: 10s, cpu: 5s }
  syscalls: build
  environment: { A: a, B: b }
  output: { redact: [secrets] }
tools:
  plain: { run: [x], needs: [] }
  own:
    run: [x]
    needs: []
    rate: 1/s
    limits: { timeout: 1s }
    environment: { B: other }
    output: { redact: [emails, secrets] }
)");
  ASSERT_TRUE(policy) << to_text(policy.error()[0]);
  const Tool& plain = policy->rules().tools.at("plain");
  EXPECT_EQ(to_text(plain.rates.at(0)), "10/min");
  EXPECT_EQ(*plain.limits.timeout, std::chrono::seconds{10});
  EXPECT_EQ(plain.syscalls, "build");
  const Tool& own = policy->rules().tools.at("own");
  ASSERT_EQ(own.rates.size(), 1u);
  EXPECT_EQ(to_text(own.rates[0]), "1/s");
  EXPECT_EQ(*own.limits.timeout, std::chrono::seconds{1});
  EXPECT_EQ(*own.limits.cpu, std::chrono::seconds{5});
  EXPECT_EQ(own.environment, (std::map<std::string, std::string>{{"A", "a"}, {"B", "other"}}));
  EXPECT_EQ(own.output.redact, (std::vector<std::string>{"secrets", "emails"}));
}

TEST(PolicyTools, PlaceholdersAndBracesAreTakenApart) {
  const auto policy = Policy::parse(kVersion R"(
tools:
  t:
    run: [x, "{a}", "--b={a},{b}", "{{literal}}", "{arguments}"]
    needs: []
    args: { a: { type: string }, b: { type: integer } }
)");
  ASSERT_TRUE(policy) << to_text(policy.error()[0]);
  const auto& run = policy->rules().tools.at("t").run;
  ASSERT_EQ(run.size(), 5u);
  ASSERT_TRUE(run[1].whole());
  EXPECT_EQ(*run[1].whole(), "a");
  ASSERT_EQ(run[2].pieces.size(), 4u);
  EXPECT_EQ(run[2].pieces[0].text, "--b=");
  EXPECT_EQ(run[2].pieces[3].argument, "b");
  EXPECT_EQ(run[3].pieces.at(0).text, "{literal}");
  EXPECT_FALSE(run[3].whole());
  EXPECT_EQ(*run[4].whole(), "arguments");
}

TEST(PolicyTools, AGlobOfAFileToolIsADirectoryAndNamesBelowIt) {
  const auto policy = Policy::parse(kVersion R"(
tools:
  r: { use: read_file, needs: [], files: { read: ["/srv/a/**/*.csv:/data", /srv/b/] } }
  c: { run: [x], needs: [], files: { write: [/srv/c:/out], write_mode: copy } }
)");
  ASSERT_TRUE(policy) << to_text(policy.error()[0]);
  const auto& read = policy->rules().tools.at("r").files.read;
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].host, "/srv/a");
  EXPECT_EQ(read[0].inside, "/data");
  EXPECT_EQ(read[0].names_text, "**/*.csv");
  ASSERT_TRUE(read[0].names);
  EXPECT_TRUE(read[0].names->matches("x/y.csv"));
  EXPECT_EQ(read[1].host, "/srv/b");
  EXPECT_EQ(read[1].inside, "/srv/b");
  EXPECT_FALSE(read[1].names);
  EXPECT_EQ(policy->rules().tools.at("c").files.write_mode, WriteMode::copy);
}

TEST(PolicyTools, EveryBuiltInHasItsArguments) {
  const auto policy = Policy::parse(kVersion R"(
tools:
  py: { use: run_python, needs: [] }
  js: { use: run_javascript, needs: [] }
  sh: { use: run_shell, needs: [] }
  cmd: { use: run_command, needs: [], commands: [ls, "git log"], refuse_flags: { git: [-c] } }
  rf: { use: read_file, needs: [] }
  wf: { use: write_file, needs: [] }
  ef: { use: edit_file, needs: [] }
  lf: { use: list_files, needs: [] }
  sf: { use: search_files, needs: [] }
  hf: { use: http_fetch, needs: [] }
  db: { use: sql, needs: [], database: sqlite:/x, tables: { a: all, b: [c], "*": all } }
)");
  ASSERT_TRUE(policy) << to_text(policy.error()[0]);
  const std::pair<std::string, std::vector<std::string>> rows[] = {
      {"py", {"code"}},
      {"js", {"code"}},
      {"sh", {"code"}},
      {"cmd", {"command"}},
      {"rf", {"path", "offset", "length"}},
      {"wf", {"path", "content", "append"}},
      {"ef", {"path", "old", "new", "all"}},
      {"lf", {"path", "recursive"}},
      {"sf", {"pattern", "path", "regex", "ignore_case", "names", "context"}},
      {"hf", {"url", "method", "headers", "body", "text"}},
      {"db", {"query", "params", "format", "action", "table"}},
  };
  for (const auto& [name, arguments] : rows) {
    std::vector<std::string> found;
    for (const Argument& argument : policy->rules().tools.at(name).args)
      found.push_back(argument.name);
    EXPECT_EQ(found, arguments) << name;
  }
  const Tool& command = policy->rules().tools.at("cmd");
  EXPECT_EQ(command.commands.allow.at(1), (std::vector<std::string>{"git", "log"}));
  EXPECT_EQ(command.commands.refuse_flags.at("git"), (std::vector<std::string>{"-c"}));
  const TableRules& tables = policy->rules().tools.at("db").tables;
  EXPECT_TRUE(tables.all_tables);
  EXPECT_TRUE(tables.tables.at("a").empty());
  EXPECT_EQ(tables.tables.at("b"), (std::vector<std::string>{"c"}));
}

}  // namespace
}  // namespace sallyport
