#include "tool/cell_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "policy/rules_fixture.h"
#include "sql/order.h"
#include "tool/file_order.h"

namespace sallyport {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

struct Made {
  Tool tool;
  CallRequest request;
  json::object arguments;
  Limits limits;
  std::string sql_key = {};

  [[nodiscard]] Result<CellSpec> spec() const {
    const Envelope envelope;
    return make_cell_spec({.tool = tool,
                           .envelope = envelope,
                           .limits = limits,
                           .arguments = arguments,
                           .request = request,
                           .program = "/usr/bin/sallyport",
                           .sql_key = sql_key});
  }
  [[nodiscard]] Error error() const {
    const auto made = spec();
    EXPECT_FALSE(made);
    return made ? Error{} : made.error();
  }
};

Made command() {
  Made made;
  made.tool.name = "echo";
  made.tool.run = argv({"/bin/echo", "{x}"});
  made.tool.args.push_back(argument("x", "{}"));
  made.arguments = {{"x", "hello"}};
  return made;
}

Made builtin(Builtin which, json::object arguments) {
  Made made;
  made.tool.name = "tool";
  made.tool.kind = ToolKind::builtin;
  made.tool.builtin = which;
  made.arguments = std::move(arguments);
  return made;
}

TEST(CellCall, GivesACommandItsWordsAndNothingElse) {
  const auto spec = command().spec();
  ASSERT_TRUE(spec);
  EXPECT_THAT(spec->command, ElementsAre("/bin/echo", "hello"));
  EXPECT_THAT(spec->environment, IsEmpty());
  EXPECT_THAT(spec->grants, IsEmpty());
  EXPECT_THAT(spec->inputs, IsEmpty());
  EXPECT_THAT(spec->outputs, IsEmpty());
  EXPECT_FALSE(spec->use_stdin);
  EXPECT_FALSE(spec->input);
  EXPECT_EQ(spec->syscalls, "default");
}

TEST(CellCall, TakesEnvironmentGrantsProfileAndRequirementsFromTheTool) {
  Made made = command();
  made.tool.environment = {{"TZ", "UTC"}};
  made.tool.files.read = {file_rule("/srv/a", "/data")};
  made.tool.files.write = {file_rule("/srv/b", "/out")};
  made.tool.files.write_mode = WriteMode::copy;
  made.tool.syscalls = "python-data";
  made.tool.require = {"landlock:3"};
  made.limits.timeout = std::chrono::seconds{3};
  const auto spec = made.spec();
  ASSERT_TRUE(spec);
  EXPECT_THAT(spec->environment, ElementsAre(Pair("TZ", "UTC")));
  ASSERT_EQ(spec->grants.size(), 2U);
  EXPECT_EQ(spec->grants[0].host, "/srv/a");
  EXPECT_EQ(spec->grants[0].inside, "/data");
  EXPECT_FALSE(spec->grants[0].write);
  EXPECT_TRUE(spec->grants[1].write);
  EXPECT_EQ(spec->write_mode, WriteMode::copy);
  EXPECT_EQ(spec->syscalls, "python-data");
  ASSERT_EQ(spec->requirements.size(), 1U);
  EXPECT_EQ(spec->requirements[0].level, 3U);
  EXPECT_EQ(spec->limits.timeout, std::chrono::seconds{3});
  made.tool.require = {"moonlock"};
  EXPECT_FALSE(made.spec());
}

TEST(CellCall, RefusesAGlobThatAMountCannotHold) {
  Made made = command();
  made.tool.files.read = {file_rule("/srv/a", "/data")};
  made.tool.files.read[0].names = *Glob::parse("*.csv");
  EXPECT_EQ(made.error().reason, Reason::cannot_enforce);
}

TEST(CellCall, PassesValidatedArgumentsAsJsonOnStandardInput) {
  Made made = command();
  made.tool.input_json = true;
  made.arguments = {{"x", "a\"\n"}, {"b", 1}};
  made.tool.run = argv({"/bin/cat"});
  const auto spec = made.spec();
  ASSERT_TRUE(spec);
  ASSERT_TRUE(spec->input);
  EXPECT_EQ(*spec->input, canonical_json(made.arguments) + "\n");
  EXPECT_EQ(std::ranges::count(*spec->input, '\n'), 1);
  EXPECT_EQ(*parse_json(*spec->input), json::value(made.arguments));
  EXPECT_TRUE(spec->use_stdin);
  made.request.input = "{\"b\":2}";
  EXPECT_EQ(made.error().reason, Reason::argument);
}

TEST(CellCall, PassesTheCallersInputOnAsItIs) {
  Made made = command();
  made.request.input = std::string("a\0b", 3);
  const auto spec = made.spec();
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->input, std::string("a\0b", 3));
  EXPECT_TRUE(spec->use_stdin);
}

TEST(CellCall, KeepsEnoughOutputToTellAResultThatIsTooLarge) {
  Made made = command();
  made.limits.max_output = 10_kB;
  made.limits.max_result = 50_kB;
  EXPECT_EQ(made.spec()->limits.max_output, 10_kB);
  made.tool.result_json = true;
  EXPECT_EQ(made.spec()->limits.max_output.bytes, 50'001U);
  made.limits.max_output = 90_kB;
  EXPECT_EQ(made.spec()->limits.max_output, 90_kB);
  // What kills stays where the policy put it.
  made.limits.max_output_hard = 20_kB;
  EXPECT_EQ(made.spec()->limits.max_output_hard, 20_kB);
}

TEST(CellCall, PutsFilesOfTheCallerIntoTheScratch) {
  Made made = command();
  made.request.files = {{"data/a.csv", "1,2"}, {"b", std::string("\0", 1)}};
  made.tool.collect = {"out/*"};
  made.request.collect = {"*.png", "out/*"};
  const auto spec = made.spec();
  ASSERT_TRUE(spec);
  ASSERT_EQ(spec->inputs.size(), 2U);
  EXPECT_EQ(spec->inputs[0].name, "data/a.csv");
  EXPECT_EQ(spec->inputs[0].content, "1,2");
  EXPECT_EQ(spec->inputs[0].host, "");
  EXPECT_THAT(spec->outputs, ElementsAre("out/*", "*.png"));
}

TEST(CellCall, RefusesFileNamesThatLeaveTheScratchOrHideInIt) {
  for (const std::string name : {"",
                                 "/",
                                 "/x",
                                 "/etc/passwd",
                                 "..",
                                 "../x",
                                 "a/../b",
                                 "a/..",
                                 "./a",
                                 "a//b",
                                 "a/",
                                 ".",
                                 "a/./b",
                                 "a\nb",
                                 "a\x1b[2J",
                                 "\xff",
                                 "\u202egnp.exe",
                                 ".gitconfig",
                                 "a/.git/config",
                                 "a/.ssh"}) {
    Made made = command();
    made.request.files = {{name, "x"}};
    EXPECT_EQ(made.error().reason, Reason::argument) << name;
  }
  Made made = command();
  made.request.files = {{std::string("a\0b", 3), "x"}};
  EXPECT_EQ(made.error().reason, Reason::argument);
}

TEST(CellCall, RefusesFilesThatCannotBeThereTogether) {
  for (const std::vector<CallFile>& files :
       {std::vector<CallFile>{{"a", ""}, {"a", ""}},
        {{"a/b", ""}, {"a", ""}},
        {{"a", ""}, {"a-b", ""}, {"a.c", ""}, {"a/b/c", ""}}}) {
    Made made = command();
    made.request.files = files;
    EXPECT_EQ(made.error().reason, Reason::argument);
  }
  Made made = command();
  made.request.files = {{"a", ""}, {"a-b/c", ""}, {"ab", ""}};
  EXPECT_TRUE(made.spec());
}

TEST(CellCall, HoldsFilesToTheLimits) {
  Made made = command();
  made.limits.file_size = 10_B;
  made.limits.disk = 15_B;
  made.request.files = {{"a", std::string(11, 'x')}};
  EXPECT_THAT(made.error().hint, HasSubstr("file_size"));
  made.request.files = {{"a", std::string(10, 'x')}, {"b", std::string(6, 'x')}};
  EXPECT_THAT(made.error().hint, HasSubstr("disk"));
  made.request.files.assign(257, {"a", ""});
  for (std::size_t i = 0; i < made.request.files.size(); ++i)
    made.request.files[i].path = std::to_string(i);
  EXPECT_THAT(made.error().message, HasSubstr("too many"));
}

TEST(CellCall, RefusesGlobsThatCouldMatchNothingInTheScratch) {
  for (const char* glob : {"", "/etc/*", "../*", "a/../*", "[", "a\\"}) {
    Made made = command();
    made.request.collect = {glob};
    EXPECT_EQ(made.error().reason, Reason::argument) << glob;
  }
  Made made = command();
  made.request.collect.assign(65, "*");
  EXPECT_EQ(made.error().reason, Reason::argument);
}

TEST(CellCall, RunsScriptsFromAFileAndNeverFromTheCommandLine) {
  struct {
    Builtin which;
    const char* interpreter;
    const char* name;
  } constexpr kScripts[] = {{Builtin::run_python, "python3", "main.py"},
                            {Builtin::run_javascript, "node", "main.js"},
                            {Builtin::run_shell, "bash", "main.sh"}};
  for (const auto& script : kScripts) {
    Made made = builtin(script.which, {{"code", "-c 'evil'"}});
    auto spec = made.spec();
    ASSERT_TRUE(spec);
    EXPECT_EQ(spec->command.front(), script.interpreter);
    EXPECT_EQ(spec->command.back(), std::string("/workspace/") + script.name);
    for (const std::string& word : spec->command)
      EXPECT_THAT(word, testing::Not(HasSubstr("evil")));
    ASSERT_EQ(spec->inputs.size(), 1U);
    EXPECT_EQ(spec->inputs[0].name, script.name);
    EXPECT_EQ(spec->inputs[0].content, "-c 'evil'");

    for (const std::string& name : {std::string(script.name), script.name + std::string("/x")}) {
      made.request.files = {{name, "x"}};
      EXPECT_THAT(made.error().message, HasSubstr("the program itself"));
    }
    // Its own configuration is no more than its own code can do.
    made.request.files = {{".config", "x"}};
    EXPECT_TRUE(made.spec());
  }
}

TEST(CellCall, RunsTheWordsOfACommandThatTheRulesAllow) {
  Made made = builtin(Builtin::run_command, {{"command", "ls -l 'a b'"}});
  made.tool.commands.allow = {{"ls"}};
  auto spec = made.spec();
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_THAT(spec->command, ElementsAre("ls", "-l", "a b"));
  for (const char* text :
       {"cat /etc/passwd", "ls; id", "ls $(id)", "env ls", "/bin/ls", "", "ls\nid"}) {
    made.arguments = {{"command", text}};
    EXPECT_FALSE(made.spec()) << text;
  }
}

TEST(CellCall, GivesAFileToolItsPlacesAndOurProgramOnly) {
  Made made = builtin(Builtin::read_file, {{"path", "/data/x"}, {"offset", 5}, {"length", 7}});
  made.limits.max_result = 1_kB;
  made.tool.files.read = {file_rule("/srv/a", "/data"), file_rule("/srv/a", "/data")};
  made.tool.files.read[0].names = *Glob::parse("*.csv");
  made.tool.files.read[0].names_text = "*.csv";
  made.tool.files.write = {file_rule("/srv/b", "/out")};
  const auto spec = made.spec();
  ASSERT_TRUE(spec) << spec.error().message;
  ASSERT_EQ(spec->grants.size(), 3U);
  EXPECT_EQ(spec->grants[0].inside, "/data");
  EXPECT_EQ(spec->grants[1].inside, "/out");
  EXPECT_EQ(spec->grants[2].host, "/usr/bin/sallyport");
  for (const Grant& grant : spec->grants)
    EXPECT_FALSE(grant.write);
  EXPECT_THAT(spec->command, ElementsAre(kProgramInside, "in-cell", "read"));
  const auto order = parse_file_order(*spec->input);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->path, "/data/x");
  EXPECT_EQ(order->offset, 5U);
  EXPECT_EQ(order->length, 7U);
  EXPECT_EQ(order->max_answer, 1000U);
  ASSERT_EQ(order->places.size(), 3U);
  EXPECT_EQ(order->places[0].names, "*.csv");
  EXPECT_EQ(order->places[1].names, "");
  EXPECT_TRUE(answers_json(made.tool));
}

TEST(CellCall, LetsOnlyWriteFileWriteAndOnlyInWritablePlaces) {
  Made made =
      builtin(Builtin::write_file, {{"path", "/out/x"}, {"content", "y"}, {"append", true}});
  made.tool.files.read = {file_rule("/srv/a", "/data")};
  made.tool.files.write = {file_rule("/srv/b", "/out")};
  const auto spec = made.spec();
  ASSERT_TRUE(spec);
  ASSERT_EQ(spec->grants.size(), 2U);
  EXPECT_EQ(spec->grants[0].inside, "/out");
  EXPECT_TRUE(spec->grants[0].write);
  EXPECT_FALSE(spec->grants[1].write);
  const auto order = parse_file_order(*spec->input);
  EXPECT_TRUE(order->append);
  EXPECT_EQ(order->content, "y");
}

TEST(CellCall, LetsEditFileWriteAndSearchFilesRead) {
  Made edit = builtin(Builtin::edit_file,
                      {{"path", "/out/x"}, {"old", "a\n"}, {"new", "b"}, {"all", true}});
  Made search = builtin(Builtin::search_files, {{"pattern", "a.c"},
                                                {"path", "/data"},
                                                {"regex", true},
                                                {"ignore_case", true},
                                                {"names", "*.py"},
                                                {"context", 2}});
  for (Made* made : {&edit, &search}) {
    made->tool.files.read = {file_rule("/srv/a", "/data")};
    made->tool.files.write = {file_rule("/srv/b", "/out")};
    EXPECT_TRUE(answers_json(made->tool));
  }
  const auto edits = edit.spec();
  ASSERT_TRUE(edits);
  EXPECT_THAT(edits->command, ElementsAre(kProgramInside, "in-cell", "edit"));
  ASSERT_EQ(edits->grants.size(), 2U);
  EXPECT_EQ(edits->grants[0].inside, "/out");
  EXPECT_TRUE(edits->grants[0].write);
  const auto changed = parse_file_order(*edits->input);
  EXPECT_EQ(changed->old_text, "a\n");
  EXPECT_EQ(changed->new_text, "b");
  EXPECT_TRUE(changed->all);
  EXPECT_EQ(changed->places[0].host, "/srv/b");

  const auto searches = search.spec();
  ASSERT_TRUE(searches);
  EXPECT_THAT(searches->command, ElementsAre(kProgramInside, "in-cell", "search"));
  ASSERT_EQ(searches->grants.size(), 3U);
  for (const Grant& grant : searches->grants)
    EXPECT_FALSE(grant.write);
  const auto order = parse_file_order(*searches->input);
  EXPECT_EQ(order->pattern, "a.c");
  EXPECT_EQ(order->names, "*.py");
  EXPECT_EQ(order->context, 2U);
  EXPECT_TRUE(order->regex && order->ignore_case);
}

TEST(CellCall, TellsAFileToolWhatTheCeilingDenies) {
  Made made = builtin(Builtin::read_file, {{"path", "/data/x"}});
  made.tool.files.read = {file_rule("/srv/a", "/data")};
  Ceiling ceiling;
  ceiling.deny_files.push_back({"/**/.ssh/**", *Glob::parse("**/.ssh/**")});
  Envelope envelope;
  envelope.ceiling = &ceiling;
  const auto spec = make_cell_spec({.tool = made.tool,
                                    .envelope = envelope,
                                    .limits = made.limits,
                                    .arguments = made.arguments,
                                    .request = made.request,
                                    .program = "/usr/bin/sallyport"});
  ASSERT_TRUE(spec);
  EXPECT_THAT(parse_file_order(*spec->input)->denied, ElementsAre("/**/.ssh/**"));
}

TEST(CellCall, GivesFileToolsNothingBesideTheirArguments) {
  Made made = builtin(Builtin::list_files, {});
  EXPECT_TRUE(made.spec());
  made.request.input = R"({"places":[{"inside":"/"}]})";
  EXPECT_EQ(made.error().reason, Reason::argument);
  made.request.input.reset();
  made.request.files = {{"x", ""}};
  EXPECT_EQ(made.error().reason, Reason::argument);
  made.request.files.clear();
  made.request.collect = {"*"};
  EXPECT_EQ(made.error().reason, Reason::argument);
}

Made sql(json::object arguments) {
  Made made = builtin(Builtin::sql, std::move(arguments));
  made.tool.database = "sqlite:/srv/shop.db";
  made.tool.rows = 7;
  return made;
}

TEST(CellCall, ShowsTheSqlToolItsDatabaseAndNothingElse) {
  const Made made = sql({{"query", "SELECT ?"}, {"params", {1}}, {"format", "csv"}});
  const auto spec = made.spec();
  ASSERT_TRUE(spec) << spec.error().message;
  ASSERT_EQ(spec->grants.size(), 5U);
  EXPECT_EQ(spec->grants[0].host, "/srv/shop.db");
  EXPECT_EQ(spec->grants[0].inside, kDatabaseInside);
  EXPECT_FALSE(spec->grants[0].optional);
  EXPECT_EQ(spec->grants[1].host, "/srv/shop.db-wal");
  EXPECT_TRUE(spec->grants[1].optional);
  EXPECT_EQ(spec->grants[4].inside, kProgramInside);
  EXPECT_TRUE(std::ranges::none_of(spec->grants, &Grant::write));
  EXPECT_THAT(spec->command, ElementsAre(kProgramInside, "in-cell", "sql"));
  EXPECT_TRUE(answers_json(made.tool));
  const auto order = parse_sql_order(*spec->input);
  ASSERT_TRUE(order);
  EXPECT_EQ(order->query, "SELECT ?");
  EXPECT_EQ(order->format, SqlFormat::csv);
  EXPECT_EQ(canonical_json(order->params), "[1]");
  EXPECT_EQ(order->rows, 7U);
  EXPECT_EQ(order->rule, "tools.tool.tables");
  EXPECT_FALSE(order->all_tables);
  EXPECT_THAT(order->tables, IsEmpty()) << "an empty envelope allows nothing";
  EXPECT_LT(order->milliseconds, 10'000U);
  EXPECT_LT(order->memory, made.limits.memory.bytes);
}

TEST(CellCall, TakesArgumentsOfTheSqlToolThatBelongTogether) {
  EXPECT_TRUE(sql({{"action", "list_tables"}}).spec());
  EXPECT_TRUE(sql({{"action", "describe_table"}, {"table", "t"}}).spec());
  for (const json::object& arguments :
       {json::object{}, json::object{{"query", ""}}, json::object{{"action", "describe_table"}},
        json::object{{"action", "list_tables"}, {"query", "SELECT 1"}},
        json::object{{"query", "SELECT 1"}, {"table", "t"}},
        json::object{{"query", "SELECT 1"}, {"action", "drop"}},
        json::object{{"query", "SELECT 1"}, {"format", "xml"}}})
    EXPECT_EQ(sql(arguments).error().reason, Reason::argument) << canonical_json(arguments);
  Made made = sql({{"query", "SELECT 1"}});
  made.request.input = "{}";
  EXPECT_EQ(made.error().reason, Reason::argument);
}

TEST(CellCall, LogsInAtADatabaseServerAsTheRoleOfTheTool) {
  Made made = sql({{"query", "SELECT 1"}});
  made.tool.database = "postgres://localhost/shop";
  EXPECT_EQ(made.error().reason, Reason::unavailable) << "without a state directory";
  made.sql_key = "secret";
  const auto spec = made.spec();
  ASSERT_TRUE(spec);
  EXPECT_THAT(spec->command, ElementsAre(kProgramInside, "in-cell", "sql"));
  ASSERT_EQ(spec->grants.size(), 1U) << "our program, and no file of a database";
  const auto order = parse_sql_order(*spec->input);
  ASSERT_TRUE(order);
  ASSERT_TRUE(order->server);
  EXPECT_EQ(order->server->role, "sallyport_tool");
  EXPECT_EQ(order->server->password.size(), 64U);
  EXPECT_EQ(order->server->database, "shop");
  EXPECT_FALSE(order->server->tls);
}

TEST(CellCall, SaysWhatCannotBeRunYet) {
  Made made = command();
  for (const Tier tier : {Tier::wasm, Tier::container, Tier::vm, Tier::thread, Tier::inline_call}) {
    made.tool.tier = tier;
    EXPECT_EQ(made.error().reason, Reason::unavailable);
  }
  made = command();
  for (const ToolKind kind : {ToolKind::mcp, ToolKind::function}) {
    made.tool.kind = kind;
    EXPECT_EQ(made.error().reason, Reason::unavailable);
  }
}

TEST(CellCall, WantsAnInterpreterThatWaitsWhereThePolicySaysSo) {
  Made made = builtin(Builtin::run_python, {{"code", "1"}});
  EXPECT_EQ(warmth_of(made.tool), Warmth{});
  made.tool.warm = true;
  made.tool.preload = {"json"};
  const Warmth python{.interpreter = Interpreter::python, .preload = {"json"}};
  EXPECT_EQ(warmth_of(made.tool), python);
  ASSERT_TRUE(made.spec());
  EXPECT_EQ(made.spec()->warm, python);

  made = builtin(Builtin::run_javascript, {{"code", "1"}});
  made.tool.warm = true;
  EXPECT_EQ(warmth_of(made.tool).interpreter, Interpreter::node);
  made = builtin(Builtin::run_shell, {{"code", "1"}});
  made.tool.warm = true;
  EXPECT_EQ(warmth_of(made.tool), Warmth{}) << "a shell starts faster than it is restored";
  made = command();
  made.tool.warm = true;
  EXPECT_EQ(warmth_of(made.tool), Warmth{});
}

TEST(CellCall, StartsAnInterpreterThatIsToBeDifferentFromItsStart) {
  for (const auto& [name, warm] :
       {std::pair("API_KEY", true), std::pair("PYTHONPATH", false), std::pair("TZ", false),
        std::pair("LC_ALL", false), std::pair("PATH", false), std::pair("LD_PRELOAD", false),
        std::pair("NODE_OPTIONS", true), std::pair("SSL_CERT_FILE", false)}) {
    Made made = builtin(Builtin::run_python, {{"code", "1"}});
    made.tool.warm = true;
    made.tool.environment[name] = "x";
    EXPECT_EQ(warmth_of(made.tool) != Warmth{}, warm) << name;
    EXPECT_EQ(made.spec()->warm, warmth_of(made.tool)) << name;
  }
}

}  // namespace
}  // namespace sallyport
