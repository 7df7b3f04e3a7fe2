// Inspected TLS with real clients: they trust the cell's own authority without being told, each
// request is judged by itself, and the host behind is verified in their place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/cell_result.h"
#include "support/inspect_lab.h"

namespace sallyport::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace json = boost::json;

class Inspect : public CellTest {
 protected:
  static void SetUpTestSuite() { lab_ = std::make_unique<InspectLab>(); }
  static void TearDownTestSuite() { lab_.reset(); }

  // `script` in a cell; what it wrote is in `out`, both streams together.
  Ran cell(const std::vector<std::string>& options, const std::string& script) {
    std::vector<std::string> argv = {sallyport_path(), "run"};
    argv.insert(argv.end(), options.begin(), options.end());
    argv.insert(argv.end(), {"--", "sh", "-c", "exec 2>&1; " + script});
    return lab_->run(GetParam(), argv);
  }
  Ran inspected(const std::string& script) {
    return cell({"--net", "api.example.com,inspect"}, script);
  }

  // What the records of the call say about its network.
  static std::vector<std::string> events(const CellResult& result, const std::string& kind) {
    std::vector<std::string> list;
    for (const json::value& event : result.json.at("network").as_array())
      if (event.at("kind").as_string() == kind)
        list.push_back(std::string(event.at("verdict").as_string()) + " " +
                       std::string(event.at("host").as_string()));
    return list;
  }

  static std::unique_ptr<InspectLab> lab_;
};
std::unique_ptr<InspectLab> Inspect::lab_;
SALLYPORT_FOR_ROOT_AND_USER(Inspect);

struct Client {
  const char* name;
  const char* script;
  const char* says = "GET /x for api.example.com\n";
};
constexpr const char* kDirect = "export no_proxy='*' NO_PROXY='*'; ";
constexpr Client kClients[] = {
    {"curl", "curl -sS https://api.example.com/x"},
    {"curl with the system's file",
     "unset CURL_CA_BUNDLE SSL_CERT_FILE; curl -sS --cacert /etc/ssl/certs/ca-certificates.crt "
     "https://api.example.com/x"},
    {"urllib",
     "python3 -c 'import urllib.request as r; "
     "print(r.urlopen(\"https://api.example.com/x\").read().decode(), end=\"\")'"},
    {"requests",
     "python3 -c 'import requests; print(requests.get(\"https://api.example.com/x\").text, "
     "end=\"\")'"},
    {"node",
     "node -e 'fetch(\"https://api.example.com/x\").then(r => r.text()).then(t => "
     "process.stdout.write(t))'"},
    {"java",
     "cat > Get.java <<'END'\n"
     "public class Get { public static void main(String[] a) throws Exception {\n"
     "  System.out.print(new String(new java.net.URL(\"https://api.example.com/x\")\n"
     "      .openStream().readAllBytes())); } }\n"
     "END\n"
     "java Get.java 2>/dev/null"},
    {"git", "git clone -q https://api.example.com/files/repo.git here && cat here/hello.txt",
     "from a repository\n"},
    {"openssl",
     "printf 'GET /x HTTP/1.1\\r\\nHost: api.example.com\\r\\nConnection: close\\r\\n\\r\\n' | "
     "openssl s_client -quiet -verify_return_error -connect api.example.com:443 -servername "
     "api.example.com 2>/dev/null | tail -1"},
    {"post", "curl -sS -d hello=1 https://api.example.com/y", "got 7: hello=1"},
    {"post in chunks",
     "printf 'in pieces' | curl -sS -H 'Transfer-Encoding: chunked' --data-binary @- "
     "https://api.example.com/y",
     "got 9: in pieces"},
    {"until the end", "curl -sS https://api.example.com/until-end", "until the end\n"},
};

TEST_P(Inspect, ClientsNeedToKnowNothing) {
  for (const Client& client : kClients)
    EXPECT_EQ(cell({"--net", "api.example.com,inspect", "--requests", "20", "--memory", "1GB"},
                   std::string(kDirect) + client.script)
                  .out,
              client.says)
        << client.name;
}

TEST_P(Inspect, ThroughTheProxyToo) {
  for (const Client& client : kClients)
    EXPECT_EQ(cell({"--net", "api.example.com,inspect", "--requests", "20", "--memory", "1GB"},
                   client.script)
                  .out,
              client.says)
        << client.name;
  EXPECT_EQ(inspected("curl -sS -x socks5h://198.18.0.1:3128 https://api.example.com/x").out,
            "GET /x for api.example.com\n");
}

TEST_P(Inspect, AnotherPortAndNamesBelowOne) {
  EXPECT_EQ(
      cell({"--net", "api.example.com:8443,inspect"}, "curl -sS https://api.example.com:8443/x")
          .out,
      "GET /x for api.example.com:8443\n");
  EXPECT_EQ(
      cell({"--net", "*.api.example.com,inspect"}, "curl -sS https://deep.api.example.com/x").out,
      "GET /x for deep.api.example.com\n");
}

TEST_P(Inspect, MuchGoesThrough) {
  EXPECT_EQ(inspected("curl -sS https://api.example.com/big/30000000 | wc -c").out, "30000000\n");
  EXPECT_THAT(inspected("head -c 5000000 /dev/zero | curl -sS -T - -X POST "
                        "https://api.example.com/y | head -c 12")
                  .out,
              HasSubstr("got 5000000:"));
}

TEST_P(Inspect, EachRequestIsRecordedAndCounted) {
  const Ran ran = cell({"--json", "--net", "api.example.com,inspect", "--requests", "2"},
                       "curl -sS https://api.example.com/1 https://api.example.com/2 "
                       "https://api.example.com/3");
  const CellResult result(ran);
  EXPECT_THAT(result.text("output"),
              AllOf(HasSubstr("GET /1 for"), HasSubstr("GET /2 for"), Not(HasSubstr("GET /3")),
                    HasSubstr("Sallyport refused this request: the call has made all the requests "
                              "that it may")));
  EXPECT_THAT(events(result, "request"),
              testing::ElementsAre("allowed api.example.com", "allowed api.example.com",
                                   "refused api.example.com"))
      << result;
  EXPECT_GT(result.usage("network_bytes"), 100);
}

TEST_P(Inspect, HandshakesAloneComeToAnEnd) {
  EXPECT_THAT(
      cell({"--json", "--net", "api.example.com,inspect", "--requests", "1", "--timeout", "60s"},
           "python3 -c '\n"
           "import socket, ssl\n"
           "context = ssl.create_default_context()\n"
           "for i in range(200):\n"
           "    context.wrap_socket(socket.create_connection((\"api.example.com\", 443)),\n"
           "                        server_hostname=\"api.example.com\").close()\n'")
          .out,
      HasSubstr("the call has made all the connections that it may"));
}

TEST_P(Inspect, MethodsAndPathsAreHeld) {
  const TempDir directory(GetParam());
  write_file(
      directory / "policy.yaml",
      "version: 1\n"
      "roles: { dev: [go] }\n"
      "callers: { bot: { role: dev } }\n"
      "tools:\n"
      "  sh:\n"
      "    use: run_shell\n"
      "    needs: [go]\n"
      "    screen: none\n"
      "    network:\n"
      "      allow:\n"
      "        - { host: api.example.com, inspect: true, methods: [GET], paths: [/v1] }\n"
      "        - { host: api.example.com, inspect: true, methods: [DELETE], paths: [/v2] }\n",
      GetParam());
  const auto call = [&](const std::string& code) {
    const Ran ran = lab_->run(
        GetParam(), {sallyport_path(), "call", "sh", "--policy", directory / "policy.yaml", "--as",
                     "bot", "--state", directory / "state", "--args",
                     json::serialize(json::object{{"code", code + " 2>&1"}}), "--json"});
    return json::serialize(ran.json());
  };
  EXPECT_THAT(call("curl -sS https://api.example.com/v1/orders"),
              HasSubstr("GET /v1/orders for api.example.com"));
  EXPECT_THAT(call("curl -sS -X DELETE https://api.example.com/v2/x"), HasSubstr("deleted"));
  for (const char* refused :
       {"-X DELETE https://api.example.com/v1/orders", "https://api.example.com/v2/x",
        "-d a=1 https://api.example.com/v1/orders", "https://api.example.com/v10",
        "--path-as-is https://api.example.com/v1/../v2", "https://api.example.com/v1/%2e%2e/v2",
        "-H 'X-HTTP-Method-Override: DELETE' -X PATCH https://api.example.com/v1"}) {
    const std::string answer = call(std::string("curl -sS ") + refused);
    EXPECT_THAT(answer, HasSubstr("Sallyport refused this request: no rule allows")) << refused;
    EXPECT_THAT(answer, HasSubstr("Allowed here: https://api.example.com:443")) << refused;
    EXPECT_THAT(answer, Not(HasSubstr(" for api.example.com"))) << refused;
  }
}

TEST_P(Inspect, AHostThatCannotBeTrustedIsNotTalkedTo) {
  struct Case {
    const char* host;
    const char* why;
  };
  for (const Case& c : {Case{"self.example.com", "self-signed certificate"},
                        Case{"wrong.example.com", "hostname mismatch"},
                        Case{"expired.example.com", "certificate has expired"}}) {
    const CellResult result(cell({"--json", "--net", std::string(c.host) + ",inspect"},
                                 std::string("curl -sSk -w '%{http_code}' https://") + c.host));
    EXPECT_THAT(result.text("output"),
                AllOf(HasSubstr("Sallyport allowed this request, and it failed: TLS with " +
                                std::string(c.host) + " failed: "),
                      HasSubstr(c.why), testing::EndsWith("502")))
        << c.host;
    EXPECT_THAT(events(result, "request"), testing::ElementsAre("failed " + std::string(c.host)));
    EXPECT_THAT(json::serialize(result.json.at("network")), HasSubstr(c.why));
  }
}

TEST_P(Inspect, AMachineThatTrustsNobodyTalksToNobody) {
  const Ran ran = lab_->run(
      As::root,
      {"unshare", "--mount", "sh", "-c",
       "mount --bind /dev/null /etc/ssl/certs/ca-certificates.crt && exec " + sallyport_path() +
           " run --net api.example.com,inspect -- curl -sS https://api.example.com/x"});
  EXPECT_THAT(ran.out, HasSubstr("this machine trusts no certificate authority"));
}

TEST_P(Inspect, WhatIsNotTheNamedHostIsRefused) {
  EXPECT_THAT(inspected("curl -sS -H 'Host: second.example.com' https://api.example.com/x").out,
              HasSubstr("the request names another host than the one connected to"));
  EXPECT_THAT(cell({"--net", "*.example.com,inspect"},
                   "curl -sS -H 'Host: second.example.com' https://api.example.com/x")
                  .out,
              HasSubstr("the request names another host than the one connected to"));
  // A name in the hello that is not that of the address.
  EXPECT_THAT(
      cell({"--json", "--net", "api.example.com,inspect", "--net", "second.example.com,inspect"},
           std::string(kDirect) +
               "curl -sS --connect-to second.example.com:443:api.example.com:443 "
               "https://second.example.com/x")
          .out,
      HasSubstr("names another server than the one connected to"));
}

TEST_P(Inspect, AClientThatSpeaksOnlyAnotherProtocolIsTold) {
  const CellResult result(
      cell({"--json", "--net", "api.example.com,inspect"},
           "openssl s_client -alpn h2 -connect api.example.com:443 -servername api.example.com "
           "</dev/null"));
  EXPECT_THAT(json::serialize(result.json.at("network")),
              HasSubstr("the host is inspected, and the client does not offer HTTP/1.1"));
}

TEST_P(Inspect, AClientThatTrustsOthersIsRecorded) {
  const CellResult result(cell({"--json", "--net", "api.example.com,inspect"},
                               "cd /tmp; openssl req -x509 -newkey ec -pkeyopt "
                               "ec_paramgen_curve:P-256 -nodes -subj /CN=x -keyout k -out c "
                               "2>/dev/null; curl -sS --cacert c https://api.example.com/"));
  EXPECT_THAT(result.text("output"), HasSubstr("SSL certificate problem"));
  EXPECT_THAT(json::serialize(result.json.at("network")),
              HasSubstr("the host is inspected, and the client did not agree"));
}

TEST_P(Inspect, ProtocolsThatBeginAsARequestGoOn) {
  EXPECT_EQ(inspected("python3 -c '\n"
                      "import socket, ssl\n"
                      "s = ssl.create_default_context().wrap_socket(\n"
                      "    socket.create_connection((\"api.example.com\", 443)),\n"
                      "    server_hostname=\"api.example.com\")\n"
                      "s.sendall(b\"GET /ws HTTP/1.1\\r\\nHost: api.example.com\\r\\n\"\n"
                      "          b\"Connection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n\")\n"
                      "head = b\"\"\n"
                      "while not head.endswith(b\"\\r\\n\\r\\n\"): head += s.recv(1)\n"
                      "print(head.split()[1].decode())\n"
                      "for word in (b\"one\", b\"two\"):\n"
                      "    s.sendall(word); print(s.recv(100).decode())'")
                .out,
            "101\nONE\nTWO\n");
}

constexpr const char* kIssuer =
    "openssl s_client -connect api.example.com:443 -servername api.example.com </dev/null "
    "2>/dev/null | openssl x509 -noout -issuer; ";

TEST_P(Inspect, WithoutItTheClientSeesTheHost) {
  const std::string look = std::string(kIssuer) +
                           "env | grep -c -e CERT -e _CA -e CAINFO; ls /etc/ssl/sallyport-ca.crt; "
                           "grep -c sallyport /proc/self/mountinfo";
  EXPECT_THAT(cell({"--net", "api.example.com"}, look).out,
              AllOf(HasSubstr("issuer=CN = Lab root\n0\n"), HasSubstr("No such file")));
  EXPECT_THAT(inspected(look).out, AllOf(HasSubstr("issuer=O = Sallyport, CN = Sallyport cell "),
                                         HasSubstr("\n10\n/etc/ssl/sallyport-ca.crt\n")));
  // Beside an inspected host, too; and its certificate is trusted as before.
  EXPECT_THAT(cell({"--net", "api.example.com", "--net", "second.example.com,inspect"},
                   std::string(kIssuer) + "curl -sS https://api.example.com/x "
                                          "https://second.example.com/x")
                  .out,
              "issuer=CN = Lab root\nGET /x for api.example.com\nGET /x for second.example.com\n");
}

TEST_P(Inspect, EachCellHasAnAuthorityOfItsOwn) {
  const TempDir directory(GetParam());
  const std::string look = "tail -n 40 /etc/ssl/sallyport-ca.crt";
  const std::string one = inspected(look).out, two = inspected(look).out;
  EXPECT_THAT(one, HasSubstr("END CERTIFICATE"));
  EXPECT_NE(one, two);
  // What one cell trusts says nothing to another.
  write_file(directory / "other.crt",
             "-----BEGIN CERTIFICATE-----" + one.substr(one.rfind("BEGIN CERTIFICATE-----") + 22),
             GetParam());
  EXPECT_THAT(cell({"--net", "api.example.com,inspect", "--read",
                    (directory / "other.crt") + ":/other.crt"},
                   "curl -sS --cacert /other.crt https://api.example.com/x")
                  .out,
              HasSubstr("SSL certificate problem"));
}

TEST_P(Inspect, NothingOfTheKeyIsInTheCell) {
  const Ran ran = inspected(
      "curl -sS https://api.example.com/x; env | grep -c PRIVATE; "
      "grep -rlsa 'PRIVATE[ ]KEY' /etc/ssl /run /dev/shm /tmp /workspace /.sallyport-ca.crt; "
      "for p in /proc/[0-9]*; do cat $p/environ $p/cmdline 2>/dev/null | grep -ac 'PRIVATE[ ]KEY'; "
      "ls -l $p/fd 2>/dev/null; done; head -c 1 /proc/1/mem; "
      "touch /etc/ssl/sallyport-ca.crt /etc/ssl/certs/ca-certificates.crt");
  EXPECT_THAT(ran.out, HasSubstr("GET /x for api.example.com\n0\n0\n"));
  EXPECT_THAT(ran.out, Not(HasSubstr("memfd")));
  EXPECT_THAT(ran.out, Not(HasSubstr("\n1\n")));
  EXPECT_THAT(ran.out, HasSubstr("/proc/1/mem"));
  EXPECT_THAT(ran.out, HasSubstr("cannot touch '/etc/ssl/sallyport-ca.crt'"));
  EXPECT_THAT(ran.out, HasSubstr("cannot touch '/etc/ssl/certs/ca-certificates.crt'"));
}

TEST_P(Inspect, AVariableOfTheCallerStays) {
  EXPECT_THAT(cell({"--net", "api.example.com,inspect", "--env", "CURL_CA_BUNDLE=/dev/null"},
                   "echo $CURL_CA_BUNDLE $SSL_CERT_FILE")
                  .out,
              "/dev/null /etc/ssl/sallyport-ca.crt\n");
}

TEST_P(Inspect, ARootOfOnesOwnHasItToo) {
  const TempDir root;
  for (const char* name : {"data", "etc", "etc/ssl", "etc/ssl/certs"})
    std::filesystem::create_directory(root / name);
  std::filesystem::create_directory_symlink("data", root / "usr");
  for (const char* name : {"bin", "lib", "lib64"})
    std::filesystem::create_directory_symlink(std::string("data/") + name, root / name);
  write_file(root / "etc/resolv.conf", "nameserver 127.0.0.1\n");
  write_file(root / "etc/nsswitch.conf", "hosts: files dns\n");
  std::filesystem::permissions(root.path(), std::filesystem::perms(0755));
  const std::vector<std::string> options = {"--root",     root.path(), "--read",
                                            "/usr:/data", "--net",     "api.example.com,inspect"};
  EXPECT_THAT(cell(options, "echo $SSL_CERT_FILE; curl -sS https://api.example.com/x").out,
              "/.sallyport-ca.crt\nGET /x for api.example.com\n");
  write_file(root / "etc/ssl/certs/ca-certificates.crt", "of the root\n");
  EXPECT_THAT(cell(options,
                   "unset CURL_CA_BUNDLE SSL_CERT_FILE; curl -sS "
                   "https://api.example.com/x; head -1 "
                   "/etc/ssl/certs/ca-certificates.crt /.sallyport-ca.crt")
                  .out,
              "GET /x for api.example.com\n"
              "==> /etc/ssl/certs/ca-certificates.crt <==\nof the root\n"
              "\n==> /.sallyport-ca.crt <==\nof the root\n");
  // A symlink in it leads nowhere.
  std::filesystem::remove(root / "etc/ssl/certs/ca-certificates.crt");
  std::filesystem::create_symlink("/etc/shadow", root / "etc/ssl/certs/ca-certificates.crt");
  EXPECT_THAT(
      cell(options, "curl -sS https://api.example.com/x; grep -c root: /.sallyport-ca.crt").out,
      "GET /x for api.example.com\n0\n");
}

TEST_P(Inspect, OnlyHttpsCanBeInspected) {
  const Ran ran = cell({"--net", "api.example.com:80,inspect"}, "true");
  EXPECT_EQ(ran.exit_code, 125);
  EXPECT_THAT(ran.err, HasSubstr("there is no TLS to look into in http"));
}

}  // namespace
}  // namespace sallyport::test
