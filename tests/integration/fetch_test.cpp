// http_fetch and `http` tools through `sallyport call`, in a network of the test's own: a name
// server, a web server at an address that looks public, and certificates good and bad.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <thread>

#include "base/fd.h"
#include "http/identity_fixture.h"
#include "support/cell_runner.h"

namespace sallyport::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

namespace json = boost::json;

constexpr const char* kServer = R"PY(
import json, os, socket, ssl, struct, sys, threading, time
ADDRESS = "93.184.216.34"
PAGE = b"<html><head><title>Shop</title><script>bad()</script></head><body><h1>Hello &amp; welcome</h1><p>Two   words</p></body></html>"

def answer(status, body, kind="text/plain", extra=""):
    head = "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n" % (status, kind, len(body), extra)
    return head.encode() + body

def serve(link, tls):
    data = b""
    while b"\r\n\r\n" not in data:
        more = link.recv(65536)
        if not more: return
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    lines = head.decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ")
    headers = {}
    for line in lines[1:]:
        name, value = line.split(": ", 1)
        headers.setdefault(name.lower(), []).append(value)
    length = int(headers.get("content-length", ["0"])[0])
    while len(body) < length: body += link.recv(65536)
    path, _, query = target.partition("?")
    if path == "/echo" or path.startswith("/v1/"):
        told = {"method": method, "target": target, "headers": headers, "body": body.decode(), "tls": tls}
        link.sendall(answer("200 OK", json.dumps(told).encode(), "application/json"))
    elif path == "/html": link.sendall(answer("200 OK", PAGE, "text/html; charset=utf-8", "ETag: \"e1\"\r\n"))
    elif path == "/refresh": link.sendall(answer("200 OK", b'<meta http-equiv="refresh" content="0; url=/html"><p>stay</p>', "text/html", "Refresh: 0; url=/html\r\n"))
    elif path == "/json": link.sendall(answer("200 OK", b'{"id": 7, "name": "x"}', "application/json"))
    elif path == "/nothing": link.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
    elif path == "/unprocessable": link.sendall(answer("422 Unprocessable", b'{"error": "amount is too large"}', "application/json"))
    elif path == "/binary": link.sendall(answer("200 OK", bytes(range(256)), "image/png"))
    elif path == "/gzip": link.sendall(answer("200 OK", b"plain enough", "text/plain", "Content-Encoding: gzip\r\n"))
    elif path == "/big": link.sendall(answer("200 OK", b"a" * 5000000))
    elif path == "/short": link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nfar too short")
    elif path == "/two": link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nabcde")
    elif path == "/junk": link.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    elif path == "/head": link.sendall(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200000 + b"\r\n\r\n")
    elif path == "/endless":
        link.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True: link.sendall(b"400\r\n" + b"b" * 1024 + b"\r\n")
    elif path == "/drip":
        link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while True: link.sendall(b"d"); time.sleep(0.05)
    elif path == "/hang": time.sleep(60)
    elif path == "/to": link.sendall(answer(query[:3] + " Go", b"moved", "text/plain", "Location: " + bytes.fromhex(query[4:]).decode("latin-1") + "\r\n"))
    else: link.sendall(answer("404 Not Found", b"no such page"))

def listen(port, tls):
    server = socket.socket(); server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((ADDRESS, port)); server.listen(64)
    def handle(link):
        try:
            if tls: link = tls.wrap_socket(link, server_side=True)
            serve(link, tls is not None)
            if tls: link.unwrap()
        except Exception: pass
        finally: link.close()
    def loop():
        while True: threading.Thread(target=handle, args=(server.accept()[0],), daemon=True).start()
    threading.Thread(target=loop, daemon=True).start()

def context(name):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain("%s/%s.pem" % (sys.argv[1], name)); return made
contexts = {name: context(name) for name in ("good", "wrong", "expired", "selfsigned")}
front = context("good")
front.sni_callback = lambda link, name, _: setattr(link, "context", contexts.get((name or "").split(".")[0], contexts["good"]))
listen(80, None); listen(8080, None); listen(443, front)

def names():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); server.bind(("127.0.0.1", 53))
    while True:
        query, client = server.recvfrom(512)
        at, labels = 12, []
        while query[at]: labels.append(query[at + 1:at + 1 + query[at]].decode()); at += query[at] + 1
        kind, = struct.unpack(">H", query[at + 1:at + 3])
        question = query[12:at + 5]
        address = "10.0.0.5" if labels[0] == "internal" else ADDRESS
        records = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(address) if kind == 1 else b""
        server.sendto(query[:2] + b"\x81\x80\0\1" + struct.pack(">H", 1 if records else 0) + b"\0\0\0\0" + question + records, client)
threading.Thread(target=names, daemon=True).start()
os.write(1, b"+"); sys.stdin.read(); os._exit(0)
)PY";

constexpr const char* kPolicy = R"(
version: 1
roles: { worker: [work] }
callers: { agent: { role: worker } }
defaults: { rate: 1000/min, output: { redact: [] }, limits: { timeout: 5s } }
ceiling: { network: { deny: [never.example.com] } }
tools:
  fetch:
    use: http_fetch
    needs: [work]
    network:
      allow: ["*.example.com", { host: plain.example.com, scheme: http },
              { host: narrow.example.com, scheme: http, methods: [GET], paths: [/v1] }]
      requests: 30
  send:
    use: http_fetch
    needs: [work]
    methods: [GET, POST]
    network: { allow: [good.example.com, other.example.com] }
  twice:
    use: http_fetch
    needs: [work]
    network: { allow: [good.example.com], requests: 2 }
  nowhere: { use: http_fetch, needs: [work] }
  refund:
    http:
      method: POST
      url: "https://good.example.com/v1/{shop}/refunds?dry={dry}&note={note}"
      headers: { X-Request: "id-{order}" }
      body: { order: "{order}", amount: "{amount}", text: "for {order}", tags: ["{tag}", fixed] }
    needs: [work]
    args:
      shop: { type: string, default: main }
      order: { type: string, multiline: true }
      amount: { type: number }
      dry: { type: boolean, optional: true }
      note: { type: string, optional: true }
      tag: { type: string, optional: true }
    result: json
  item:
    http: { method: GET, url: "http://plain.example.com/{page}" }
    needs: [work]
    args: { page: { type: string } }
  checked:
    http: { method: GET, url: "https://good.example.com/{page}" }
    needs: [work]
    args: { page: { type: string } }
    output: { schema: { type: object, required: [id] } }
)";

std::string text(const json::object& object, const char* key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

json::object data_of(const json::object& result) {
  const auto* data = result.if_contains("data");
  return data != nullptr && data->is_object() ? data->as_object() : json::object();
}

json::object member(const json::object& object, const char* key) {
  const auto* value = object.if_contains(key);
  return value != nullptr && value->is_object() ? value->as_object() : json::object();
}

json::value parsed(const std::string& body) {
  boost::system::error_code error;
  json::value value = json::parse(body, error);
  EXPECT_FALSE(error) << body;
  return value;
}

// The body of the result: what the server was told.
json::object told_by(const json::object& result) {
  const json::value value = parsed(text(data_of(result), "body"));
  if (!value.is_object()) ADD_FAILURE() << "no echo: " << json::serialize(result);
  return value.is_object() ? value.as_object() : json::object();
}

// What the tool said about a failure, wherever it came from.
std::string said(const json::object& result) {
  return text(result, "message") + "\n" + text(result, "hint") + "\n" + text(result, "error");
}

std::string redirect_to(std::string_view place, int status = 302) {
  std::string hexadecimal;
  for (const unsigned char c : place) {
    hexadecimal.push_back("0123456789abcdef"[c >> 4]);
    hexadecimal.push_back("0123456789abcdef"[c & 15]);
  }
  return "/to?" + std::to_string(status) + "=" + hexadecimal;
}

// A certificate that names its hosts where a client looks today.
std::unique_ptr<TestIdentity> make_server(const std::vector<std::string>& names,
                                          const TestIdentity& authority, long to) {
  auto made = make_identity({names[0]}, &authority, -7200, to);
  std::string alternatives;
  for (const std::string& name : names)
    alternatives.append(alternatives.empty() ? "DNS:" : ",DNS:").append(name);
  X509_EXTENSION* extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, alternatives.c_str());
  X509_add_ext(made->certificate, extension, -1);
  X509_EXTENSION_free(extension);
  EXPECT_GT(X509_sign(made->certificate, authority.key, EVP_sha256()), 0);
  return made;
}

class Fetch : public CellTest {
 protected:
  Fetch() : directory_(GetParam()), files_(As::root) {
    write_file(directory_ / "policy.yaml", kPolicy, GetParam());
    write_file(files_ / "server.py", kServer);
    write_file(files_ / "resolv.conf", "nameserver 127.0.0.1\n");
    std::filesystem::create_directory(files_ / "certs");
    const auto authority = make_identity({"Authority"});
    write_file(files_ / "certs/ca-certificates.crt", certificate_pem(*authority));
    const auto write_identity = [&](const std::string& name, const TestIdentity& identity) {
      write_file(files_ / (name + ".pem"), key_pem(identity) + certificate_pem(identity), As::root,
                 0600);
    };
    write_identity("good",
                   *make_server({"good.example.com", "other.example.com", "internal.example.com"},
                                *authority, 3600));
    write_identity("wrong", *make_server({"another.example.com"}, *authority, 3600));
    write_identity("expired", *make_server({"expired.example.com"}, *authority, -60));
    write_identity("selfsigned", *make_identity({"selfsigned.example.com"}));
  }

  // Runs `body` in a network and with files of its own. A thread can have both; the programs that
  // it starts get them.
  void in_lab(const std::function<void()>& body) {
    std::thread([&] {
      ASSERT_EQ(::unshare(CLONE_FS | CLONE_NEWNS | CLONE_NEWNET), 0);
      ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
      ASSERT_EQ(
          ::mount((files_ / "resolv.conf").c_str(), "/etc/resolv.conf", nullptr, MS_BIND, nullptr),
          0);
      ASSERT_EQ(::mount((files_ / "certs").c_str(), "/etc/ssl/certs", nullptr, MS_BIND, nullptr),
                0);
      set_up_loopback();
      start_server();
      body();
      server_input_.reset();
      ::waitpid(server_, nullptr, 0);
    }).join();
  }

  json::object call(const std::string& tool, const json::object& arguments) {
    return run({sallyport_path(), "call", tool, "--policy", directory_ / "policy.yaml", "--as",
                "agent", "--state", directory_ / "state", "--json", "--args",
                json::serialize(arguments)},
               {.as = GetParam(), .cwd = directory_.path()})
        .json();
  }
  json::object fetch(const std::string& url, json::object more = {}) {
    more["url"] = url;
    return call("fetch", more);
  }

 private:
  static void set_up_loopback() {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    ASSERT_EQ(::ioctl(socket.get(), SIOCSIFFLAGS, &request), 0);
    request = {};
    std::strcpy(request.ifr_name, "lo:1");
    auto* address = reinterpret_cast<sockaddr_in*>(&request.ifr_addr);
    address->sin_family = AF_INET;
    ASSERT_EQ(::inet_pton(AF_INET, "93.184.216.34", &address->sin_addr), 1);
    ASSERT_EQ(::ioctl(socket.get(), SIOCSIFADDR, &request), 0);
  }

  void start_server() {
    int in[2], out[2];
    ASSERT_EQ(::pipe2(in, O_CLOEXEC) | ::pipe2(out, O_CLOEXEC), 0);
    server_ = ::fork();
    if (server_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::execl("/usr/bin/python3", "python3", (files_ / "server.py").c_str(), files_.path().c_str(),
              nullptr);
      ::_exit(99);
    }
    ::close(in[0]);
    ::close(out[1]);
    server_input_ = Fd(in[1]);
    const Fd output(out[0]);
    char up = 0;
    ASSERT_EQ(::read(output.get(), &up, 1), 1) << "the server did not start";
  }

  TempDir directory_, files_;
  Fd server_input_;
  pid_t server_ = -1;
};

#define EXPECT_STATUS(result, expected) \
  EXPECT_EQ(text(result, "status"), expected) << json::serialize(result)

TEST_P(Fetch, GivesAPageWithWhatIsKnownAboutIt) {
  in_lab([&] {
    auto result = fetch("https://good.example.com/html");
    EXPECT_STATUS(result, "success");
    auto page = data_of(result);
    EXPECT_EQ(text(page, "url"), "https://good.example.com/html");
    EXPECT_EQ(page["status"], 200);
    EXPECT_EQ(text(page, "content_type"), "text/html");
    EXPECT_EQ(text(member(page, "headers"), "etag"), "\"e1\"");
    EXPECT_THAT(text(page, "body"), HasSubstr("<h1>Hello &amp; welcome</h1>"));
    EXPECT_EQ(page["truncated"], false);

    page = data_of(fetch("https://good.example.com/html", {{"text", true}}));
    EXPECT_EQ(text(page, "text"), "Shop\n\nHello & welcome\n\nTwo words");

    page = data_of(fetch("http://plain.example.com/nowhere"));
    EXPECT_EQ(page["status"], 404) << "any status is an answer";
    EXPECT_EQ(text(page, "body"), "no such page");

    page = data_of(fetch("https://good.example.com/binary"));
    EXPECT_THAT(text(page, "base64"), testing::StartsWith("AAECAwQF"));
    EXPECT_TRUE(data_of(fetch("https://good.example.com/gzip")).contains("base64"));

    const json::object told =
        told_by(fetch("https://good.example.com/echo?a=b%20c", {{"headers", {{"X-A", "1"}}}}));
    EXPECT_EQ(text(told, "target"), "/echo?a=b%20c");
    json::object headers = member(told, "headers");
    EXPECT_EQ(headers["host"], json::array{"good.example.com"});
    EXPECT_EQ(headers["accept-encoding"], json::array{"identity"});
    EXPECT_EQ(headers["x-a"], json::array{"1"});
  });
}

TEST_P(Fetch, SendsOnlyWhatItsRulesAllow) {
  in_lab([&] {
    auto result = fetch("https://good.example.com/echo", {{"method", "POST"}});
    EXPECT_EQ(text(result, "reason"), "argument");
    EXPECT_EQ(text(result, "rule"), "tools.fetch.methods");
    EXPECT_THAT(said(result), HasSubstr("GET or HEAD"));

    result = call("send", {{"url", "https://good.example.com/echo"},
                           {"method", "POST"},
                           {"headers", {{"Content-Type", "application/json"}}},
                           {"body", R"({"a":1})"}});
    const json::object told = told_by(result);
    EXPECT_EQ(text(told, "method"), "POST");
    EXPECT_EQ(text(told, "body"), R"({"a":1})");

    for (const char* url : {"https://elsewhere.org/", "http://good.example.com/",
                            "https://good.example.com:444/", "https://never.example.com/"}) {
      result = fetch(url);
      EXPECT_EQ(text(result, "reason"), "argument") << url;
      EXPECT_EQ(text(result, "rule"), "tools.fetch.network");
      EXPECT_THAT(said(result), HasSubstr("https://*.example.com")) << url;
    }
    result = call("nowhere", {{"url", "https://good.example.com/"}});
    EXPECT_EQ(text(result, "reason"), "argument");

    // What the egress process alone can see.
    EXPECT_THAT(
        said(fetch("http://narrow.example.com/v2")),
        AllOf(HasSubstr("Sallyport refused"), HasSubstr("no rule allows GET of this path")));
    EXPECT_EQ(data_of(fetch("http://narrow.example.com/v1/x"))["status"], 200);
    EXPECT_THAT(said(fetch("https://internal.example.com/")), HasSubstr("may not reach"));
  });
}

TEST_P(Fetch, RefusesWhatWouldMakeAnotherRequest) {
  in_lab([&] {
    for (const char* url :
         {"https://user:word@good.example.com/", "https://good.example.com\\@evil.org/",
          "https://good.example.com/\r\nX: y", "https://good.example.com/\x01",
          "https://good.example.com/a/../b", "https://good.example.com/%2e%2e/b",
          "https://93.184.216.34/", "http://169.254.169.254/latest/meta-data/", "http://127.0.0.1/",
          "http://localhost/", "http://[::1]/", "http://2130706433/", "file:///etc/passwd",
          "gopher://good.example.com/", "https://good.example.com/#x"})
      EXPECT_EQ(text(fetch(url), "reason"), "argument") << url;
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
             {"X-A", "1\r\nX-B: 2"},
             {"X-A", "1\nX-B: 2"},
             {"X-A\r\nX-B", "1"},
             {"X A", "1"},
             {"", "1"},
             {"Host", "evil.org"},
             {"content-length", "5"},
             {"Transfer-Encoding", "chunked"},
             {"Connection", "keep-alive"},
             {"Proxy-Authorization", "x"},
             {"X-A", "\xC3\xA9"}})
      EXPECT_EQ(
          text(fetch("https://good.example.com/echo", {{"headers", {{name, value}}}}), "reason"),
          "argument")
          << name << ": " << value;
    EXPECT_EQ(text(fetch("https://good.example.com/echo", {{"body", "x"}}), "reason"), "argument");
  });
}

TEST_P(Fetch, FollowsRedirectsWithinTheRules) {
  in_lab([&] {
    auto page = data_of(fetch("https://good.example.com" + redirect_to("/html")));
    EXPECT_EQ(text(page, "url"), "https://good.example.com/html");
    const json::object hop = {{"status", 302}, {"url", "https://good.example.com/html"}};
    EXPECT_EQ(page["redirects"], json::array{hop});

    // A page that asks a browser to go elsewhere is what was asked for.
    page = data_of(fetch("https://good.example.com/refresh", {{"text", true}}));
    EXPECT_EQ(text(page, "url"), "https://good.example.com/refresh");
    EXPECT_EQ(text(page, "text"), "stay");

    const json::object secret = {
        {"Authorization", "Bearer s3cret"}, {"Cookie", "a=b"}, {"Accept", "text/x"}};
    json::object headers = member(
        told_by(fetch("https://good.example.com" + redirect_to("https://other.example.com/echo"),
                      {{"headers", secret}})),
        "headers");
    EXPECT_FALSE(headers.contains("authorization"));
    EXPECT_FALSE(headers.contains("cookie"));
    EXPECT_EQ(headers["accept"], json::array{"text/x"});
    headers = member(
        told_by(fetch("https://good.example.com" + redirect_to("/echo"), {{"headers", secret}})),
        "headers");
    EXPECT_TRUE(headers.contains("authorization")) << "the same host";

    for (const auto& [status, method, body] :
         std::initializer_list<std::tuple<int, const char*, const char*>>{{301, "GET", ""},
                                                                          {302, "GET", ""},
                                                                          {303, "GET", ""},
                                                                          {307, "POST", "b"},
                                                                          {308, "POST", "b"}}) {
      const auto result =
          call("send", {{"url", "https://good.example.com" + redirect_to("/echo", status)},
                        {"method", "POST"},
                        {"body", "b"}});
      const json::object told = told_by(result);
      EXPECT_EQ(text(told, "method"), method) << status;
      EXPECT_EQ(text(told, "body"), body) << status;
    }

    const std::pair<const char*, const char*> refused[] = {
        {"http://169.254.169.254/latest/meta-data/", "names an IP address"},
        {"http://127.0.0.1:8640/", "names an IP address"},
        {"https://127.0.0.1/", "names an IP address"},
        {"http://localhost/", "leads to this machine"},
        {"//169.254.169.254/", "names an IP address"},
        {"http://plain.example.com/", "from https to"},
        {"https://elsewhere.org/", "may not reach 'elsewhere.org'"},
        {"https://internal.example.com/", "may not reach"},
        {"https://good.example.com:444/", "may not reach port 444"},
        {"https://user@good.example.com/", "user name"},
        {"file:///etc/passwd", "scheme"},
        {"https://good.example.com\\@evil.org/", "backslash"},
        {"/%2e%2e/x", "\"..\""},
    };
    for (const auto& [place, why] : refused) {
      const auto result = fetch("https://good.example.com" + redirect_to(place));
      EXPECT_STATUS(result, "error") << place;
      EXPECT_THAT(said(result), HasSubstr(why)) << place;
    }
    EXPECT_THAT(said(fetch("https://good.example.com" + redirect_to(""))),
                HasSubstr("more than 5 times"));
    EXPECT_THAT(said(call("twice", {{"url", "https://good.example.com" + redirect_to("")}})),
                HasSubstr("all the requests that it may"));
  });
}

TEST_P(Fetch, TrustsNoServerThatDoesNotProveItsName) {
  in_lab([&] {
    for (const auto& [host, why] : std::initializer_list<std::pair<const char*, const char*>>{
             {"wrong", "hostname mismatch"},
             {"expired", "certificate has expired"},
             {"selfsigned", "self-signed certificate"}}) {
      const auto result = fetch("https://" + std::string(host) + ".example.com/html");
      EXPECT_STATUS(result, "error");
      EXPECT_THAT(said(result),
                  AllOf(HasSubstr("does not prove by its certificate"), HasSubstr(why)));
    }
  });
}

TEST_P(Fetch, IsNotHeldUpOrFloodedByAServer) {
  in_lab([&] {
    for (const char* path : {"/big", "/endless"}) {
      const auto result = fetch(std::string("https://good.example.com") + path);
      EXPECT_STATUS(result, "success") << path;
      auto page = data_of(result);
      EXPECT_EQ(page["truncated"], true) << path;
      EXPECT_GT(text(page, "body").size(), 40'000U);
      EXPECT_LE(json::serialize(page).size(), 50'000U);
    }
    for (const auto& [path, why] : std::initializer_list<std::pair<const char*, const char*>>{
             {"/short", "ends before the length"},
             {"/two", "cannot be read"},
             {"/junk", "cannot be read"},
             {"/head", "too long"},
             {"/drip", "in time"},
             {"/hang", "in time"}})
      for (const char* host : {"https://good.example.com", "http://plain.example.com"}) {
        const auto result = fetch(std::string(host) + path);
        EXPECT_STATUS(result, "error") << host << path;
        // The egress process reads plain answers itself, and passes on none that it cannot read.
        if (std::string_view(host).starts_with("https"))
          EXPECT_THAT(said(result), HasSubstr(why)) << host << path;
      }
  });
}

TEST_P(Fetch, MakesTheRequestOfThePolicy) {
  in_lab([&] {
    auto result =
        call("refund",
             {{"order", "ord_1"}, {"amount", 12.5}, {"note", "a&b=c/d e"}, {"shop", "x y/z?#"}});
    EXPECT_STATUS(result, "success");
    json::object told = data_of(result);
    EXPECT_EQ(text(told, "method"), "POST");
    EXPECT_EQ(text(told, "target"), "/v1/x%20y%2Fz%3F%23/refunds?note=a%26b%3Dc%2Fd%20e");
    EXPECT_EQ(
        parsed(text(told, "body")),
        json::parse(R"({"order":"ord_1","amount":12.5,"text":"for ord_1","tags":["fixed"]})"));
    json::object headers = member(told, "headers");
    EXPECT_EQ(headers["x-request"], json::array{"id-ord_1"});
    EXPECT_EQ(headers["content-type"], json::array{"application/json"});
    EXPECT_EQ(headers["host"], json::array{"good.example.com"});

    for (const char* shop : {"..", ".", "", "%2e%2e", "a/../../b", "..;x"})
      EXPECT_EQ(text(call("refund", {{"order", "o"}, {"amount", 1}, {"shop", shop}}), "reason"),
                "argument")
          << shop;
    result = call("refund", {{"order", "o\r\nX-Evil: 1"}, {"amount", 1}});
    EXPECT_EQ(text(result, "reason"), "argument");
    EXPECT_EQ(text(result, "rule"), "tools.refund.http");
    told = data_of(call("refund", {{"order", "\"}, {\"x\": \"{amount}"}, {"amount", 1}}));
    EXPECT_EQ(member(json::object{{"body", parsed(text(told, "body"))}}, "body")["order"],
              "\"}, {\"x\": \"{amount}");
  });
}

TEST_P(Fetch, GivesTheBodyOfAPolicyRequestAsItsResult) {
  in_lab([&] {
    auto result = call("item", {{"page", "html"}});
    EXPECT_STATUS(result, "success");
    EXPECT_THAT(text(result, "output"), HasSubstr("<h1>Hello"));

    result = call("item", {{"page", "unprocessable"}});
    EXPECT_STATUS(result, "error");
    EXPECT_EQ(text(result, "reason"), "exit");
    EXPECT_THAT(said(result), AllOf(HasSubstr("status 422"), HasSubstr("amount is too large")));

    result = call("checked", {{"page", "json"}});
    EXPECT_STATUS(result, "success");
    EXPECT_EQ(data_of(result)["id"], 7);
    EXPECT_EQ(text(call("checked", {{"page", "html"}}), "reason"), "output_schema");
    EXPECT_EQ(text(call("checked", {{"page", "echo"}}), "reason"), "output_schema");
    EXPECT_EQ(text(call("checked", {{"page", "nothing"}}), "reason"), "output_schema");
    EXPECT_EQ(text(call("checked", {{"page", "big"}}), "reason"), "result_too_large");

    // Its own host only, wherever it is sent.
    result = call("item", {{"page", "to"}});
    EXPECT_STATUS(result, "error");
  });
}

SALLYPORT_FOR_ROOT_AND_USER(Fetch);

}  // namespace
}  // namespace sallyport::test
