#include "policy/load.h"
#include "policy/problem_rows.h"

namespace sallyport {
namespace {

TEST(PolicyArguments, MistakesAreNamedWithTheirPlace) {
  constexpr ProblemRow kRows[] = {
      {kTool "args: {a: {type: string}}\n",
       R"(f:6:12: tools.t.args.a: the argument 'a' is never used (put "{a}" into `run`, or write input: json))"},
      {kTool "args: {a: string}\n",
       "f:6:15: tools.t.args.a: a mapping is wanted here, and this is 'string' (write {type: "
       "string})"},
      {kTool "args: {a: {type: strng}}\n",
       "f:6:22: tools.t.args.a.type: there is no 'strng' here (did you mean 'string'? it is one of "
       "string, integer, number, boolean, array, object, null, path, sql_identifier, url, host, "
       "command)"},
      {kTool "args: {a: {type: string, format: email}}\n",
       "f:6:30: tools.t.args.a.format: `format` is a comment in JSON Schema 2020-12 and would "
       "check nothing (use a pattern, or for an argument type: url or type: host)"},
      {kTool "args: {a: {type: string, maxLenght: 5}}\n",
       "f:6:30: tools.t.args.a.maxLenght: there is no keyword 'maxLenght' in JSON Schema (did you "
       "mean 'maxLength'?)"},
      {kTool "args: {a: {type: integer, default: x}}\n",
       "f:6:40: tools.t.args.a.default: the default is refused by its own schema: must be an "
       "integer, and is a string"},
      {kTool "args: {a: {type: string, pattern: 012}}\n",
       R"(f:6:39: tools.t.args.a.pattern: the bare '012' is one number to some readers of YAML and another, or a text, to others (write plain digits, such as 1000 or 0.5, or quote this: "012"))"},
      {kTool R"(args: {a: {type: string, pattern: "("}})"
             "\n",
       "f:6:15: tools.t.args.a:"},
      {kTool "args: {a: {type: path}}\n",
       "f:6:15: tools.t.args.a: a path needs the directory that it must lie in (write below: "
       "/srv/data)"},
      {kTool "args: {a: {}}\n",
       "f:6:15: tools.t.args.a: this argument would take any value (write its type, such as type: "
       "string)"},
      {kTool "args: {a: {type: integer, required: true}}\n",
       "f:6:31: tools.t.args.a.required: there is no key 'required' here (every argument is "
       "required unless it has a default or says optional: true)"},
      {kTool "args: {a: {type: integer, multiline: true}}\n",
       "f:6:42: tools.t.args.a.multiline: 'multiline' does not go with this type (it belongs to "
       "type: string)"},
      {kTool "args: {a: {type: integer, minimum: yes}}\n",
       R"(f:6:40: tools.t.args.a.minimum: the bare 'yes' is a truth value to some readers of YAML (write true or false, or quote this: "yes"))"},
      {kTool "args: {a: {type: integer, minimum: 1e3}}\n",
       R"(f:6:40: tools.t.args.a.minimum: the bare '1e3' is one number to some readers of YAML and another, or a text, to others (write plain digits, such as 1000 or 0.5, or quote this: "1e3"))"},
      {kTool "args: {a: {type: object, properties: {b: {typ: string}}}}\n",
       "f:6:47: tools.t.args.a.properties.b.typ: there is no keyword 'typ' in JSON Schema (did you "
       "mean 'type'?)"},
      {kVersion "tools: {t: {use: run_python, needs: [], args: {}}}\n",
       "f:2:47: tools.t.args: the arguments of this tool are given by what it uses (leave `args` "
       "out; a `run` tool takes arguments of your own)"},
      {kVersion
       R"(tools: {t: {http: {method: GET, url: "https://a.b/"}, needs: [], args: {x: {type: integer}}}})"
       "\n",
       R"(f:2:73: tools.t.args.x: the argument 'x' is never used (put "{x}" into the url or the body))"},
      {kVersion R"(tools: {t: {run: [x, "{p}"], needs: [], args: {p: {type: path, below: /srv}}}})"
                "\n",
       "f:2:71: tools.t.args.p.below: the tool does not see '/srv' (show it to the tool under "
       "files.read or files.write)"},
      {kVersion
       R"(tools: {t: {run: [x, "/other/{p}"], needs: [], files: {read: ["/srv:/data"]}, args: {p: {type: path, below: /srv}}}})"
       "\n",
       "f:2:18: tools.t.run: the path {p} stands behind another path, '/other/' (write \"{p}\": it "
       "becomes "
       "a path such as '/data/name')"},
      {kTool R"(args: {a: {type: string, default: "x", optional: true}})"
             "\n",
       "f:6:54: tools.t.args.a.optional: an argument with a default is optional already (leave "
       "`optional` out)"},
      {kTool R"(args: {a: {type: string, default: "x\ny"}})"
             "\n",
       "f:6:39: tools.t.args.a.default: the default is refused:"},
      {kTool R"(args: {a: {type: url, default: "ftp://x"}})"
             "\n",
       "f:6:36: tools.t.args.a.default: the default is refused:"},
      {kTool "args: {a: {enum: [~]}}\n",
       R"(f:6:23: tools.t.args.a.enum[0]: the bare '~' is nothing to some readers of YAML (write null, or quote this: "~"))"},
      {kTool "args: {a: {type: integer, minimum: 99999999999999999999}}\n",
       "f:6:40: tools.t.args.a.minimum: the number '99999999999999999999' is too large (write a "
       "smaller one, or a text)"},
  };
  expect_problems(kRows);
}

std::vector<std::string> problems(std::string_view yaml) {
  const auto policy = Policy::parse(yaml, "f");
  std::vector<std::string> said;
  if (policy) return said;
  for (const PolicyProblem& problem : policy.error())
    said.push_back(problem.rule);
  return said;
}

TEST(PolicyArguments, AWrongDeclarationIsOneMistakeAndNotAnUnknownPlaceholderToo) {
  EXPECT_EQ(problems(kVersion "tools: {t: {run: [x, \"{a}\"], needs: [], args: {a: {type: "
                              "strng}}}}\n"),
            (std::vector<std::string>{"tools.t.args.a.type"}));
  EXPECT_EQ(problems(kVersion "tools: {t: {run: [x, \"{a b}\"], needs: [], args: {a b: {type: "
                              "string}}}}\n"),
            (std::vector<std::string>{"tools.t.args.a b"}));
  EXPECT_EQ(problems(kVersion "tools: {t: {run: [x, \"{a}\"], needs: [], approval: {by: [r], when: "
                              "{a: {minimum: 1}}}, args: {a: {type: integer, minimun: 2}}}}\n"),
            (std::vector<std::string>{"tools.t.approval.by[0]", "tools.t.args.a.minimun"}));
}

TEST(PolicyArguments, AllMistakesOfOneArgumentAreFoundAtOnce) {
  EXPECT_EQ(problems(kTool "args: {a: {type: integer, minimun: 1, maximum: yes, multiline: true, "
                           "format: x}}\n"),
            (std::vector<std::string>{"tools.t.args.a.minimun", "tools.t.args.a.maximum",
                                      "tools.t.args.a.multiline", "tools.t.args.a.format"}));
  EXPECT_EQ(
      problems(kTool "output: {schema: {typ: object, maxItems: 012}}\n"),
      (std::vector<std::string>{"tools.t.output.schema.typ", "tools.t.output.schema.maxItems"}));
  EXPECT_EQ(
      problems(kVersion "tools: {t: {run: [x, \"{a}\"], needs: [], args: {a: {type: integer}}, "
                        "approval: {by: [], when: {a: {minimum: yes}}}}}\n"),
      (std::vector<std::string>{"tools.t.approval.by", "tools.t.approval.when.a.minimum"}));
}

// A value that begins with '-' is refused at a call, so a tool that can have no other is a mistake.
TEST(PolicyArguments, WhatWouldAlwaysBeTakenForAnOptionDoesNotLoad) {
  const auto said = [](std::string_view word, std::string_view argument) {
    const auto policy =
        Policy::parse(std::string(kVersion "tools: {t: {needs: [], run: [x, \"") +
                          std::string(word) + "\"], args: {a: {" + std::string(argument) + "}}}}\n",
                      "f");
    return policy ? std::string() : to_text(policy.error()[0]);
  };
  EXPECT_EQ(said("{a}", "type: integer, default: -1"),
            "f:2:76: tools.t.args.a.default: the default begins with '-', and so every call that "
            "leaves the argument out would be refused (the command would take it for an option; "
            "write dash: true if it cannot, or put text before it, as in \"--a={a}\")");
  EXPECT_NE(said("-{a}", "type: number, default: -0.5"), "");
  EXPECT_NE(said("{a}", "type: string, default: \"-v\""), "");
  EXPECT_NE(said("{a}", "type: string, enum: [\"-v\", \"-q\"]").find("every value"),
            std::string::npos);
  EXPECT_NE(said("{a}", "const: -1"), "");
  EXPECT_NE(said("{a}", "type: integer, maximum: -1"), "");
  EXPECT_NE(said("{a}", "type: number, exclusiveMaximum: 0"), "");
  for (const char* fine : {"type: integer, default: -1, dash: true", "type: integer, maximum: 0",
                           "type: string, enum: [\"-v\", v]", "type: integer, default: 1"})
    EXPECT_EQ(said("{a}", fine), "") << fine;
  EXPECT_EQ(said("--n={a}", "type: integer, default: -1"), "");
  EXPECT_EQ(said("x{a}", "type: integer, maximum: -1"), "");
}

TEST(PolicyArguments, ModelsAreShownPureJsonSchema) {
  const auto arguments = compile_arguments(
      {{"file", {{"type", "path"}, {"below", "/srv/data"}, {"exists", false}}},
       {"site", {{"type", "url"}, {"schemes", {"https"}}, {"hosts", {"*.example.com"}}}},
       {"note", {{"type", "string"}, {"optional", true}, {"multiline", true}, {"dash", true}}},
       {"limit", {{"type", "integer"}, {"minimum", 1}, {"default", 5}}},
       {"ratio", {{"type", "number"}, {"maximum", 0.5}}},
       {"color", {{"type", "string"}, {"enum", {"red", "blue"}}}}},
      "functions.f.args");
  ASSERT_TRUE(arguments) << to_text(arguments.error()[0]);
  ASSERT_EQ(arguments->size(), 6u);
  const auto& list = *arguments;
  EXPECT_EQ(list[0].type, ArgumentType::path);
  EXPECT_EQ(list[0].below, "/srv/data");
  EXPECT_FALSE(list[0].exists);
  EXPECT_EQ(canonical_json(list[0].definition), R"({"maxLength":4096,"type":"string"})");
  EXPECT_EQ(list[1].type, ArgumentType::url);
  EXPECT_EQ(list[1].schemes, (std::vector<std::string>{"https"}));
  EXPECT_EQ(list[1].hosts.at(0).to_text(), "*.example.com");
  EXPECT_TRUE(list[2].optional && list[2].multiline && list[2].dash);
  EXPECT_EQ(canonical_json(list[2].definition), R"({"maxLength":1000,"type":"string"})");
  EXPECT_EQ(canonical_json(list[3].definition), R"({"default":5,"minimum":1,"type":"integer"})");
  EXPECT_EQ(*list[3].fallback, json::value(5));
  EXPECT_EQ(list[3].type, ArgumentType::json);
  EXPECT_TRUE(list[4].schema.accepts(json::value(0.5)));
  EXPECT_FALSE(list[4].schema.accepts(json::value(0.6)));
  EXPECT_EQ(canonical_json(list[5].definition), R"({"enum":["red","blue"],"type":"string"})");
}

TEST(PolicyArguments, AStringHasAThousandCharactersUnlessSaid) {
  const auto arguments = compile_arguments({{"a", {{"type", "string"}}},
                                            {"b", {{"type", "string"}, {"maxLength", 2000}}},
                                            {"c", {{"type", {"string", "null"}}}}},
                                           "args");
  ASSERT_TRUE(arguments);
  const json::value longer(std::string(1001, 'x'));
  EXPECT_FALSE((*arguments)[0].schema.accepts(longer));
  EXPECT_TRUE((*arguments)[1].schema.accepts(longer));
  EXPECT_EQ((*arguments)[1].max_length, 2000u);
  EXPECT_FALSE((*arguments)[2].schema.accepts(longer));
  EXPECT_TRUE((*arguments)[2].schema.accepts(nullptr));
}

TEST(PolicyArguments, FunctionsAreCheckedLikeTheFile) {
  const auto arguments = compile_arguments(
      {{"a", {{"type", "strng"}}}, {"b", {{"type", "string"}, {"format", "email"}}}},
      "functions.f");
  ASSERT_FALSE(arguments);
  ASSERT_EQ(arguments.error().size(), 2u);
  EXPECT_EQ(arguments.error()[0].rule, "functions.f.a.type");
  EXPECT_EQ(arguments.error()[0].line, 0u);
  EXPECT_EQ(arguments.error()[1].rule, "functions.f.b.format");
}

}  // namespace
}  // namespace sallyport
