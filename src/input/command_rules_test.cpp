#include "input/command_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "input/command_wrappers.h"

namespace sallyport {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

// A generous list, so that each refusal has another cause than a missing rule.
CommandRules wide_rules() {
  CommandRules rules;
  for (const char* program :
       {"ls",          "cat",    "grep",  "git",     "env",    "xargs",    "find",   "bash",
        "sh",          "nice",   "nohup", "timeout", "setsid", "stdbuf",   "time",   "sed",
        "awk",         "tar",    "make",  "python3", "perl",   "node",     "ruby",   "sort",
        "rg",          "ssh",    "rsync", "zip",     "man",    "docker",   "npm",    "sudo",
        "watch",       "less",   "vim",   "busybox", "strace", "echo",     "printf", "eval",
        "/usr/bin/id", "ionice", "go",    "curl",    "zsh",    "parallel", "flock",  "test"})
    rules.allow.push_back({program});
  return rules;
}

CommandRules narrow_rules() {
  return {
      .allow = {{"ls"}, {"cat"}, {"git", "status"}, {"git", "log"}, {"/opt/bin/tool"}},
      .refuse_flags = {{"git", {"-c", "--output", "--exec-path"}}, {"ls", {"-R", "--recursive"}}}};
}

Result<Words> check_line(const CommandRules& rules, std::string_view line) {
  const auto command = parse_command(line);
  if (!command) return std::unexpected(command.error());
  return check_command(rules, *command);
}

struct Case {
  std::string_view line, message;
};

void expect_refused(const CommandRules& rules, std::span<const Case> cases) {
  for (const Case& c : cases) {
    const auto words = check_line(rules, c.line);
    ASSERT_FALSE(words) << c.line;
    EXPECT_EQ(words.error().reason, Reason::argument);
    EXPECT_THAT(words.error().message, HasSubstr(std::string(c.message))) << c.line;
    EXPECT_FALSE(words.error().hint.empty()) << c.line;
    // They stand within sentences.
    for (const std::string& text : {words.error().message, words.error().hint})
      EXPECT_FALSE((text[0] >= 'A' && text[0] <= 'Z') ||
                   (text.ends_with('.') && !text.ends_with("...")))
          << text;
  }
}

void expect_allowed(const CommandRules& rules, std::span<const std::string_view> lines) {
  for (const std::string_view line : lines) {
    const auto words = check_line(rules, line);
    EXPECT_TRUE(words) << line << ": " << words.error().message;
    if (words) EXPECT_EQ(*words, parse_command(line)->words());
  }
}

TEST(CheckCommand, MatchesWholeFirstWords) {
  const Case refused[] = {
      {"rm x", "the program 'rm' is not allowed"},
      {"lsof", "'lsof' is not allowed"},
      {"LS", "'LS' is not allowed"},
      {"/bin/ls", "is not allowed by that path"},
      {"./ls", "is not allowed by that path"},
      {"../../bin/ls", "is not allowed by that path"},
      {"/proc/self/root/bin/ls", "is not allowed by that path"},
      {"tool", "'tool' is not allowed"},
      {"/opt/bin/../bin/tool", "is not allowed"},
      {"/opt//bin/tool", "is not allowed"},
      {"git", "'git' is not allowed"},
      {"git push", "'git push' is not allowed"},
      {"git logs", "'git logs' is not allowed"},
      {"git -C /x log", "'git -C' is not allowed"},
      {"git -c core.pager=id log", "'git -c' is not allowed"},
      {"git --exec-path=/tmp log", "'git --exec-path=/tmp' is not allowed"},
      {"'git log'", "is not allowed"},
      {"'ls ' -l", "is not allowed"},
  };
  expect_refused(narrow_rules(), refused);
  constexpr std::string_view kAllowed[] = {"ls",    "ls -l /tmp", "git log -5",      "git status",
                                           "cat x", "\"l\"'s' x", "/opt/bin/tool -x"};
  expect_allowed(narrow_rules(), kAllowed);
  EXPECT_FALSE(check_line({}, "ls"));
  EXPECT_THAT(check_line(narrow_rules(), "git -C /x log").error().hint,
              HasSubstr("options before the sub-command"));
}

TEST(CheckCommand, FindsRefusedFlagsInEverySpelling) {
  const Case refused[] = {
      {"git log -c x", "'-c'"},
      {"git log -cx", "'-cx'"},
      {"git log -pc x", "'-pc'"},
      {"git log --output x", "'--output'"},
      {"git log --output=x", "'--output=x'"},
      {"git log --outp=x", "'--outp=x'"},
      {"git log --o x", "'--o'"},
      {"git log x --output=y", "'--output=y'"},
      {"git log \"--out\"put=x", "'--output=x'"},
      // The "--" is the value of --grep, so what follows is a flag.
      {"git log --grep -- --output=x", "'--output=x'"},
      {"git log -S -- --output=x", "'--output=x'"},
      {"ls -lR", "'-lR'"},
      {"ls --recurs", "'--recurs'"},
  };
  expect_refused(narrow_rules(), refused);
  constexpr std::string_view kAllowed[] = {"git log -- --output=x", "git log HEAD -- -c",
                                           "git log --oneline",     "git log -p -n 5",
                                           "git log --color",       "ls -lr",
                                           "ls --reverse",          "ls - x"};
  expect_allowed(narrow_rules(), kAllowed);
}

TEST(CheckCommand, LooksThroughWrappers) {
  const Case refused[] = {
      {"env rm x", "'rm' is not allowed"},
      {"env -i rm x", "'rm'"},
      {"env -u HOME LANG=C rm x", "'rm'"},
      {"env - rm x", "'rm'"},
      {"env -S 'rm x'", "not understood"},
      {"env -iS 'rm x'", "not understood"},
      {"env --split-string='rm x'", "not understood"},
      {"env -C /x ls", "not understood"},
      {"env LD_PRELOAD=./x.so ls", "may not set"},
      {"env PATH=. ls", "may not set"},
      {"env GIT_SSH_COMMAND=x git log", "may not set"},
      {"env BASH_ENV=x bash -c ls", "may not set"},
      {"env TZ=:/etc/shadow ls", "may not set"},
      {"env LANG=../../x ls", "may not set"},
      {"env LC_ALL=/tmp/x ls", "may not set"},
      {"env LC_x=1 ls", "may not set"},
      {"env =x ls", "may not set"},
      {"nice rm x", "'rm'"},
      {"nice -n 5 rm x", "'rm'"},
      {"nice -n5 rm x", "'rm'"},
      {"nice --adjustment=5 rm", "'rm'"},
      {"nice -5 ls", "not understood"},
      {"nohup rm x", "'rm'"},
      {"nohup -- rm x", "'rm'"},
      {"timeout 5 rm x", "'rm'"},
      {"timeout -k 5 -s KILL 5 rm x", "'rm'"},
      {"timeout --signal KILL 5 rm x", "'rm'"},
      {"timeout --sig=KILL 5 ls", "not understood"},
      {"setsid -f rm x", "'rm'"},
      {"stdbuf -oL rm x", "'rm'"},
      {"xargs rm", "'rm'"},
      {"xargs -0 -n 1 rm", "'rm'"},
      {"xargs -n1 -P4 rm", "'rm'"},
      {"xargs -I {} rm {}", "'rm'"},
      {"xargs -I {} {} x", "'{}' is not allowed"},
      {"xargs -I ls ls", "is not {}"},
      {"xargs -Ils ls", "is not {}"},
      {"xargs -i rm", "not understood"},
      {"xargs --max-lines rm ls", "not understood"},
      {"xargs --replace ls rm", "not understood"},
      {"xargs -l rm", "not understood"},
      {"xargs sh -c", "nobody has seen"},
      {"xargs bash", "nobody has seen"},
      {"xargs env", "nobody has seen"},
      {"xargs find", "nobody has seen"},
      {"xargs git log", "nobody has seen"},
      {"xargs -I {} git log {} -- x", "nobody has seen"},
      {"xargs tar", "nobody has seen"},
      {"xargs python3", "nobody has seen"},
      {"xargs nice ls", "nobody has seen"},
      {"find . -exec rm {} +", "'rm'"},
      {"find . -exec rm {} \\;", "'rm'"},
      {"find . -execdir rm {} \\;", "'rm'"},
      {"find . -ok cat {} \\;", "nobody to ask"},
      {"find . -okdir cat {} \\;", "nobody to ask"},
      {"find a -ok sed p {} + -e '1e id' ';'", "nobody to ask"},
      {"find c -exec cat -{} x \\;", "flag that nobody has seen"},
      {"find inode -exec ls --{} x \\;", "flag that nobody has seen"},
      {"find x -exec find . -name y -{} \\;", "flag that nobody has seen"},
      {"find . -exec cat {} \\; -exec rm {} \\;", "'rm'"},
      {"find . -exec {} \\;", "'{}' is not allowed"},
      {"find . -exec env rm {} +", "'rm'"},
      {"find . -exec sh -c 'cat {}' \\;", "as code that nobody has seen"},
      {"find . -exec sh -c ls {} \\;", "may only be run as"},
      {"find . -exec awk '{}' x \\;", "awk program"},
      {"find . -exec sed 's/{}/x/' x \\;", "sed script"},
      {"find . -exec sed --sandbox 's/{}/x/' x \\;", "sed script"},
      {"find . -exec", "no end"},
      {"find . -exec ls", "no end"},
      {"find . -exec \\;", "no command"},
      {"find . -delete", "'rm'"},
      {"find . -fprintf x y", "writes or reads a file"},
      {"find . -fprint0 x", "writes or reads a file"},
      {"find . -fls x", "writes or reads a file"},
      {"find -files0-from x -exec cat {} +", "writes or reads a file"},
      {"env nice timeout 5 nohup find . -exec env rm {} +", "'rm'"},
      {"env env env env env env env env env ls", "too deeply"},
  };
  expect_refused(wide_rules(), refused);
  constexpr std::string_view kAllowed[] = {"env",
                                           "env ls",
                                           "env -i LANG=C.UTF-8 TZ=Europe/Berlin ls -l",
                                           "env -u HOME cat x",
                                           "nice -n 10 ls",
                                           "timeout 5 ls",
                                           "timeout -k 1s 5s cat x",
                                           "nohup ls",
                                           "stdbuf -oL -eL cat x",
                                           "xargs",
                                           "xargs -0 cat",
                                           "xargs -n 1 -P 4 grep x",
                                           "xargs -I {} cat {}",
                                           "xargs git log --",
                                           "xargs -I {} git log -- {}",
                                           "find . -name '*.c' -type f",
                                           "find . -exec cat {} +",
                                           "find . -exec grep -n x {} \\; -print",
                                           "find . ! -name x -exec env LANG=C grep x {} +",
                                           "setsid ls",
                                           "ionice -c 3 ls"};
  expect_allowed(wide_rules(), kAllowed);
}

TEST(CheckCommand, ReadsTheCodeOfAShellAsACommand) {
  const Case refused[] = {
      {"bash -c 'rm x'", "'rm' is not allowed"},
      {"bash -ec 'rm x'", "'rm'"},
      {"bash -e -u -c 'rm x'", "'rm'"},
      {"sh -c 'ls; rm x'", "not one simple command"},
      {"sh -c 'ls $(rm x)'", "not one simple command"},
      {"sh -c 'ls | cat'", "not one simple command"},
      {"sh -c 'A=b ls'", "not one simple command"},
      {"sh -c \"bash -c 'rm x'\"", "'rm'"},
      {"sh -c 'env rm x'", "'rm'"},
      {"sh -c ''", "not one simple command"},
      {"sh -c", "may only be run as"},
      {"sh", "may only be run as"},
      {"sh script.sh", "may only be run as"},
      {"sh -s", "may only be run as"},
      {"bash -lc ls", "may only be run as"},
      {"bash -ic ls", "may only be run as"},
      {"bash --rcfile x -c ls", "may only be run as"},
      {"bash --init-file x", "may only be run as"},
      {"bash -O extglob -c ls", "may only be run as"},
      {"bash -c -x 'rm x'", "may only be run as"},
      {"bash -c ls x", "may only be run as"},
      {"bash -c -- ls", "may only be run as"},
      {"sh -c 'eval ls'", "never run"},
      {"sh -c \"printf -v 'a[$(id)]' x\"", "'$' at column"},
      {"sh -c 'test -v x'", "built-in"},
      {"zsh -c ls", "never run"},
  };
  expect_refused(wide_rules(), refused);
  // In single quotes, the index reaches bash as it is, and bash would run it.
  const auto printf = command_from_words({"bash", "-c", "printf -v 'a[$(id)]' x"});
  EXPECT_FALSE(check_command(wide_rules(), *printf));
  constexpr std::string_view kAllowed[] = {"bash -c ls",     "sh -c 'ls -l \"a b\"'",
                                           "sh -ec 'cat x'", "bash --norc -c 'echo hello'",
                                           "printf x",       "sh -c 'bash -c ls'"};
  expect_allowed(wide_rules(), kAllowed);
}

TEST(CheckCommand, RefusesFlagsThatRunOtherPrograms) {
  const Case refused[] = {
      {"git -c alias.x=!id x", "git with '-c'"},
      {"git --namespace x -c core.pager=id log", "git with '-c'"},
      {"git -C /x log", "git with '-C'"},
      {"git --exec-path=/tmp log", "--exec-path"},
      {"git --config-env=a=b log", "--config-env"},
      {"git fetch --upload-pack=id x", "--upload-pack"},
      {"git fetch --upload-p id x", "--upload-p"},
      {"git diff --output=x", "--output"},
      {"git diff --ext-diff", "--ext-diff"},
      {"git grep -Oid x", "-Oid"},
      {"git grep --open-files-in-pager=id x", "--open-files"},
      {"git clone -u id x", "'-u'"},
      {"git rebase -x id", "'-x'"},
      {"git rebase --exec id", "--exec"},
      {"git submodule foreach id", "git submodule"},
      {"git bisect run id", "git bisect"},
      {"git config alias.x '!id'", "git config"},
      {"git --namespace x config a b", "git config"},
      {"tar -xf x --to-command=id", "--to-command"},
      {"tar -cf x --checkpoint-action=exec=id y", "--checkpoint-action"},
      {"tar -I id -cf x y", "'-I'"},
      {"tar cfI x id y", "'cfI'"},
      {"tar -cf x -T list", "'-T'"},
      {"tar xf -- --to-command=id", "--to-command"},  // the archive is called "--"
      {"tar -xf -- --to-command=id", "--to-command"},
      {"tar --use-compress-prog=id -cf x y", "--use-compress-prog"},
      {"sort --compress-program=id x", "--compress-program"},
      {"sort --compress-prog id x", "--compress-prog"},
      {"rg --pre id x", "--pre"},
      {"ssh -o ProxyCommand=id x", "'-o'"},
      {"ssh -oProxyCommand=id x", "-oProxyCommand"},
      {"ssh -vo ProxyCommand=id x", "'-vo'"},
      {"ssh -F x y", "'-F'"},
      {"rsync -e id x y", "'-e'"},
      {"rsync -ave id x y", "'-ave'"},
      {"rsync --rsh=id x y", "--rsh"},
      {"zip -T -TT id x y", "'-T'"},
      {"zip --unzip-command=id x y", "--unzip-command"},
      {"man -P id ls", "'-P'"},
      {"make --eval='$(shell id)'", "--eval"},
      {"make SHELL=id", "'SHELL=id'"},
      {"make CC='sh -c id'", "CC="},
      {"go test -exec id", "'-exec'"},
      {"go build --toolexec=id", "--toolexec"},
      {"curl -K x", "'-K'"},
      {"docker run x", "docker run"},
      {"docker --context x exec y id", "docker exec"},
      {"npm exec x", "npm exec"},
      {"npm --prefix d run y", "npm run"},
  };
  expect_refused(wide_rules(), refused);
  constexpr std::string_view kAllowed[] = {
      "git log --oneline", "git diff -u",   "git commit -m 'rebase clone'",
      "git status -- -c",  "tar -xzf x",    "tar xzf x",
      "sort -u x",         "rsync -av x y", "make all",
      "make -j2",          "rg -n x",       "ssh host uptime",
      "docker ps",         "npm ls",        "go build ./x"};
  expect_allowed(wide_rules(), kAllowed);
}

TEST(CheckCommand, RefusesCompilersThatWouldRunOtherPrograms) {
  CommandRules rules = wide_rules();
  for (const char* program :
       {"gcc", "g++-14", "cc", "c++", "c89", "c99", "cpp", "clang-19", "clang++", "/usr/bin/gcc"})
    rules.allow.push_back({program});
  constexpr Case kRefused[] = {
      {"gcc -wrapper /tmp/x a.c", "'-wrapper'"},
      {"gcc -B /tmp a.c", "'-B'"},
      {"gcc -B/tmp a.c", "'-B/tmp'"},
      {"gcc --prefix=/tmp a.c", "'--prefix=/tmp'"},
      {"g++-14 -specs=x a.c", "'-specs=x'"},
      {"cc --specs=x a.c", "'--specs=x'"},
      {"c++ -fplugin=./x.so a.c", "'-fplugin=./x.so'"},
      {"c89 -fplugin=./x.so a.c", "'-fplugin=./x.so'"},
      {"c99 -wrapper x a.c", "'-wrapper'"},
      {"cpp -wrapper x a.c", "'-wrapper'"},
      {"gcc -Wl,-plugin,./x.so a.c", "'-Wl,-plugin,./x.so'"},
      {"gcc -Xlinker -plugin -Xlinker ./x.so a.c", "'-plugin'"},
      {"clang-19 -Xclang -load -Xclang ./x.so a.c", "'-load'"},
      {"clang-19 -fpass-plugin=./x.so a.c", "'-fpass-plugin=./x.so'"},
      {"clang-19 --ld-path=./x a.c", "'--ld-path=./x'"},
      {"clang++ -fuse-ld=./x a.c", "'-fuse-ld=./x'"},
      {"clang++ --config x a.c", "'--config'"},
      // Words from a file are words that nobody has seen.
      {"gcc @flags", "'@flags'"},
      {"gcc -c a.c @/workspace/flags", "'@/workspace/flags'"},
      {"gcc -- @flags", "'@flags'"},
      {"gcc -Wl,@flags a.c", "'-Wl,@flags'"},
      {"clang-19 @flags", "'@flags'"},
      {"clang++ -c '@a b'", "'@a b'"},
      {"/usr/bin/gcc @flags", "'@flags'"},
      {"env gcc @flags", "'@flags'"},
      {"xargs gcc -c --", "nobody has seen"},
  };
  expect_refused(rules, kRefused);
  constexpr std::string_view kAllowed[] = {"gcc -c -O2 a.c -o a.o", "gcc -Wl,-z,now a.c",
                                           "clang-19 -std=c17 -c a.c", "cpp a.h", "gcc a@b.c"};
  expect_allowed(rules, kAllowed);
  rules.allow = {{"gcc", "@safe.flags"}};
  EXPECT_TRUE(check_line(rules, "gcc @safe.flags a.c"));
  EXPECT_FALSE(check_line(rules, "gcc @safe.flags @other"));
}

TEST(CheckCommand, RefusesCodeThatNoRuleHasSeen) {
  const Case refused[] = {
      {"python3 -c 'import os'", "code that no rule has seen"},
      {"python3 -Ic 'import os'", "code that no rule has seen"},
      {"python3 -W ignore -c x", "code that no rule has seen"},
      {"python3 -m http.server", "code that no rule has seen"},
      {"python3", "standard input"},
      {"python3 -", "standard input"},
      {"python3 -u", "standard input"},
      {"python3 /dev/stdin", "standard input"},
      {"perl -e x", "code that no rule has seen"},
      {"perl -ne x", "code that no rule has seen"},
      {"perl -Mx y", "code that no rule has seen"},
      {"node -e x", "code that no rule has seen"},
      {"node --eval=x", "code that no rule has seen"},
      {"node -pe x", "code that no rule has seen"},
      {"node --require ./x y.js", "code that no rule has seen"},
      {"ruby -e x", "code that no rule has seen"},
      {"sed '1e id' x", "sed script"},
      {"sed 's/a/id/e' x", "sed script"},
      {"sed 's/a/id/ge' x", "sed script"},
      {"sed 's/a/b/w out' x", "sed script"},
      {"sed 'w out' x", "sed script"},
      {"sed -n 'r /etc/passwd' x", "sed script"},
      {"sed -e p -e e x", "sed script"},
      {"sed x -e e", "sed script"},
      {"sed -ne e x", "sed script"},
      {"sed --expression=e x", "sed script"},
      {"sed 's/[/]/x/e;s/]/y/' x", "sed script"},
      {"sed 's,[,],x,e' x", "sed script"},
      {"sed 's;a;b;e' x", "sed script"},
      {"sed 's^[^]^e;p^p' x", "sed script"},
      {"sed 'a\\\ne id' x", "sed script"},
      {"sed '/a/{e\n}' x", "sed script"},
      {"sed -f x y", "option '-f' of sed"},
      {"sed -nf x y", "option '-nf' of sed"},
      {"sed --file=x y", "option"},
      {"sed --exp=e x", "option"},
      {"awk 'BEGIN{system(\"id\")}'", "awk program"},
      {"awk '{print | \"sh\"}' x", "awk program"},
      {"awk '{\"id\" | getline}' x", "awk program"},
      {"awk 'BEGIN{f=\"sys\" \"tem\"; @f(\"id\")}'", "awk program"},
      {"awk -F : '{print |& \"sh\"}' x", "awk program"},
      {"awk -f x", "option '-f' of awk"},
      {"awk -e x", "option"},
      {"awk -vx=y -f z", "option '-f' of awk"},
      {"awk --file=x", "option"},
  };
  expect_refused(wide_rules(), refused);
  constexpr std::string_view kAllowed[] = {
      "python3 script.py",
      "python3 --version",
      "perl x.pl",
      "node x.js",
      "sed -n 1,50p x",
      "sed -n '/a b/,/c/p' x",
      "sed 's/a/b/g' x",
      "sed -E 's,a/(b),\\1,2' x",
      "sed 's/[^\\/]*$//' x",
      "sed 's/[[:space:]]*$//' x",
      "sed -e 1d -e '$d' x",
      "sed -i s/a/b/ x",
      "sed '/^#/d; s/x/y/' x",
      "sed 10q x",
      "sed --sandbox 'a text' x",
      "sed y/abc/xyz/ x",
      "awk '{print $1}' x",
      "awk -F: '$3 > 5 || $1 == \"x\" {n += $2} END {print n}' x",
      "awk -v a=b '{print a}' x"};
  expect_allowed(wide_rules(), kAllowed);
}

TEST(CheckCommand, AllowsWhatTheRuleItselfNames) {
  CommandRules rules{.allow = {{"python3", "-m", "pytest"}, {"docker", "run"}, {"git", "config"}}};
  constexpr std::string_view kAllowed[] = {"python3 -m pytest -k x -c y", "docker run image",
                                           "git config --list"};
  expect_allowed(rules, kAllowed);
  const Case refused[] = {{"python3 -m http.server", "is not allowed"},
                          {"docker exec x", "is not allowed"},
                          {"git config --exec-path", "--exec-path"}};
  expect_refused(rules, refused);
}

TEST(CheckCommand, NeverRunsWhatCannotBeLookedThrough) {
  for (const char* line : {"sudo ls", "watch ls", "less x", "vim x", "busybox ls", "strace ls",
                           "eval ls", "parallel ls", "flock x ls"}) {
    const auto words = check_line(wide_rules(), line);
    ASSERT_FALSE(words) << line;
    EXPECT_THAT(words.error().message, HasSubstr("never run")) << line;
  }
  CommandRules rules{.allow = {{"/usr/bin/sudo"}, {"/lib64/ld-linux-x86-64.so.2"}, {"vim.tiny"}}};
  EXPECT_FALSE(check_line(rules, "/usr/bin/sudo ls"));
  EXPECT_FALSE(check_line(rules, "/lib64/ld-linux-x86-64.so.2 /bin/rm"));
}

TEST(CheckCommandRules, RefusesRulesThatSayNothing) {
  EXPECT_TRUE(check_command_rules(narrow_rules()));
  EXPECT_FALSE(check_command_rules({.allow = {{}}}));
  EXPECT_FALSE(check_command_rules({.allow = {{""}}}));
  EXPECT_FALSE(check_command_rules({.allow = {{"ls"}, {"sudo"}}}));
  EXPECT_FALSE(check_command_rules({.allow = {{"/usr/bin/vim"}}}));
  for (const char* flag : {"", "-", "--", "c", "output", "--output=x"})
    EXPECT_FALSE(check_command_rules({.allow = {{"ls"}}, .refuse_flags = {{"ls", {flag}}}}))
        << flag;
}

TEST(KnownName, SeesThroughPathsAndVersions) {
  EXPECT_EQ(known_name("/usr/bin/python3.11"), "python");
  EXPECT_EQ(known_name("lua5.4"), "lua");
  EXPECT_EQ(known_name("sh"), "sh");
  EXPECT_EQ(known_name("7"), "7");
  EXPECT_EQ(known_name("."), ".");
}

}  // namespace
}  // namespace sallyport
