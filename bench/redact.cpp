// How fast text is redacted, with every rule, on one core: log-like text, the worst texts that we
// could think of, and for every rule its anchor again and again with what may make it look further.
// Megabytes per second of CPU time, the best of three runs, so that a busy machine does not matter.
//
//   bench_redact [MEGABYTES [NAME]]
#include "redact/redact.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redact/clean_text.h"
#include "redact/rule.h"

namespace {

using namespace sallyport;

std::mt19937 g_random(1);

std::string random_of(std::string_view letters, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text.push_back(letters[g_random() % letters.size()]);
  return text;
}

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

std::string log_line() {
  char line[400];
  const unsigned n = g_random() % 100'000;
  switch (g_random() % 6) {
    case 0:
      std::snprintf(line, sizeof line,
                    "2026-11-16T10:%02u:%02u.%03uZ INFO  http.server request id=%08x method=GET "
                    "path=/v1/orders/%u status=200 bytes=%u duration=%ums\n",
                    n % 60, n / 60 % 60, n % 1000, n * 7919, n, n % 9000, n % 300);
      break;
    case 1:
      std::snprintf(line, sizeof line,
                    "10.2.%u.%u - - [16/Nov/2026:10:20:30 +0000] \"GET /static/app.%08x.js "
                    "HTTP/1.1\" 200 %u \"https://shop.example/\" \"Mozilla/5.0 (X11; Linux)\"\n",
                    n % 256, n / 256 % 256, n * 31, n);
      break;
    case 2:
      std::snprintf(
          line, sizeof line,
          "{\"time\":\"2026-11-16T10:20:30Z\",\"level\":\"warn\",\"msg\":\"retry of order "
          "%u in %u ms\",\"user\":%u,\"key\":\"orders:%u\",\"tokens\":%u}\n",
          n, n % 500, n * 3, n, n % 4096);
      break;
    case 3:
      std::snprintf(line, sizeof line,
                    "  File \"/usr/lib/python3.11/site-packages/shop/orders.py\", line %u, in "
                    "load_order\n    return self.session.get(url, timeout=%u)\n",
                    n % 900, n % 60);
      break;
    case 4:
      std::snprintf(line, sizeof line,
                    "Nov 16 10:20:30 web-%u kernel: [%u.%06u] eth0: link up, 1000Mbps, commit "
                    "9fceb02d0ae598e95dc970b74767f19372d6%04x done in %u.%u s\n",
                    n % 40, n, n, n % 65536, n % 9, n % 10);
      break;
    default:
      std::snprintf(line, sizeof line,
                    "worker %u: the password is required for user %u, see the manual of version "
                    "%u.%u.%u; home is /home/worker%u/app\n",
                    n % 16, n, n % 9, n % 20, n % 30, n % 16);
  }
  return line;
}

double cpu_seconds() {
  timespec time{};
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::string repeated(std::string_view piece, std::size_t size) {
  std::string text;
  text.reserve(size + piece.size());
  while (text.size() < size)
    text.append(piece);
  return text;
}

struct Speed {
  double megabytes = 0;  // per second
  std::uint64_t looks = 0, found = 0;
};

using Rules = std::shared_ptr<const Redactions>;

Speed speed_of(const Rules& rules, std::string_view text, int runs = 3) {
  constexpr std::size_t kPiece = 16 * 1024;
  Speed speed;
  std::string out;
  for (int run = 0; run < runs; ++run) {
    Redactor redactor(rules);
    const double begin = cpu_seconds();
    // What comes out is passed on piece by piece, as a stream is.
    for (std::size_t at = 0; at < text.size(); at += kPiece) {
      out.clear();
      redactor.feed(text.substr(at, kPiece), out);
    }
    redactor.finish(out);
    const double seconds = cpu_seconds() - begin;
    speed.megabytes = std::max(speed.megabytes, static_cast<double>(text.size()) / 1e6 / seconds);
    speed.looks = redactor.looks();
    speed.found = 0;
    for (const auto& [id, count] : redactor.counts())
      speed.found += count;
  }
  return speed;
}

void print(std::string_view name, const Speed& speed) {
  std::printf("%-28.*s %8.1f MB/s   %9llu looks, %8llu found\n", static_cast<int>(name.size()),
              name.data(), speed.megabytes, static_cast<unsigned long long>(speed.looks),
              static_cast<unsigned long long>(speed.found));
  std::fflush(stdout);
}

// One text that a regular expression of an anchor matches: it has literals, classes, groups with
// alternatives and fixed counts, and nothing else.
class Sample {
 public:
  explicit Sample(std::string_view pattern) : rest_(pattern) {}

  std::string text() {
    std::string all;
    while (!rest_.empty() && rest_.front() != '|' && rest_.front() != ')')
      all.append(item());
    return all;
  }

 private:
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  std::string item() {
    std::string one;
    const char c = take();
    if (c == '(') {
      if (rest_.starts_with("?:")) rest_.remove_prefix(2);
      one = text();
      while (take() != ')') {
      }  // the first alternative is as good as another
    } else if (c == '[') {
      one = letter_of_class();
    } else if (c == '\\') {
      const char escaped = take();
      one.push_back(escaped == 't' ? '\t' : escaped);
    } else if (c != '^') {
      one.push_back(c);
    }
    if (!rest_.starts_with('{')) return one;
    const unsigned long count = std::strtoul(rest_.substr(1).data(), nullptr, 10);
    while (take() != '}') {
    }
    return repeated(one, one.size() * count);
  }

  std::string letter_of_class() {
    if (rest_.starts_with('^')) {
      while (take() != ']') {
      }
      return " ";
    }
    const std::string first(1, take());
    while (take() != ']') {
    }
    return first;
  }

  std::string_view rest_;
};

std::vector<std::string> anchors_of(const RedactionRule& rule) {
  const bool words = rule.kind != RuleKind::token && rule.kind != RuleKind::ip_v4 &&
                     rule.kind != RuleKind::ip_v6 && rule.kind != RuleKind::email &&
                     rule.kind != RuleKind::card;
  const bool list = words || rule.kind != RuleKind::token;
  std::vector<std::string> anchors;
  std::string_view rest = rule.anchor;
  while (true) {
    const std::size_t end = list ? rest.find(words ? '|' : '&') : std::string_view::npos;
    const std::string_view part = rest.substr(0, end);
    anchors.push_back(words ? std::string(part) : Sample(part).text());
    if (end == std::string_view::npos) return anchors;
    rest.remove_prefix(end + 1);
  }
}

// Every anchor with each of these behind it, again and again; prints the slowest.
void measure_rules(const Rules& rules) {
  constexpr std::size_t kSize = 50'000, kShown = 12;
  std::vector<std::pair<Speed, std::string>> all;
  for (const auto table :
       {cloud_rules(), code_rules(), service_rules(), credential_rules(), place_rules()})
    for (const RedactionRule& rule : table)
      for (const std::string& anchor : anchors_of(rule))
        for (const std::string_view behind : {"", " ", "=", ": ", "=\"", "\n", "=a1B ", "a", ".",
                                              "/", "@a.", ":a@", "='\\", "_", "-", ":=", "=@"}) {
          std::string piece = anchor + std::string(behind);
          const Speed speed = speed_of(rules, repeated(piece, kSize), 1);
          all.emplace_back(speed, std::move(piece));
        }
  std::ranges::sort(all, {}, [](const auto& row) { return row.first.megabytes; });
  std::printf("the slowest of %zu texts made from the rules:\n", all.size());
  for (auto& [speed, piece] : all | std::views::take(kShown)) {
    speed = speed_of(rules, repeated(piece, 10 * kSize));
    std::ranges::replace_if(piece, [](char c) { return c < ' '; }, '~');
    print(piece.substr(0, 28), speed);
  }
}

// Words of many kinds, one after the other.
std::string prefix_soup() {
  std::string soup;
  for (const std::string_view prefix :
       {"ghp_", "sk-", "sk-ant-", "xoxb-", "AKIA", "glpat-", "npm_", "eyJ", "AIza", "SG.", "hvs.",
        "-----BEGIN ", "://", "Bearer ", "key-", "dop_v1_", "sq0atp-", "ya29.", "shpat_"})
    soup.append(prefix);
  return soup;
}

std::string near_misses() {
  std::string near;
  for (int i = 0; i < 500; ++i)
    near.append("gh")
        .append("p_" + random_of(kLetters, 35) + " sk")
        .append("-" + random_of(kLetters, 31) + " AK")
        .append("IA" + random_of("ABCDEFGHIJKLMNOP", 15) + " xo")
        .append("xb-" + random_of(kLetters, 8) + " npm_" + random_of(kLetters, 35) + "\n");
  return near;
}

std::string log_text(std::size_t size) {
  std::string log;
  while (log.size() < size)
    log.append(log_line());
  return log;
}

struct Row {
  const char* name;
  std::function<std::string()> piece;  // repeated
};

std::function<std::string()> is(std::string_view text) {
  return [text] { return std::string(text); };
}

const Row kHostile[] = {
    {"one letter", is("a")},
    {"base64", [] { return random_of(std::string(kLetters) + "+/", 1'000'000); }},
    {"hexadecimal", [] { return random_of("0123456789abcdef", 1'000'000); }},
    {"digits", [] { return random_of("0123456789", 1'000'000); }},
    {"prefix soup", prefix_soup},
    {"near misses", near_misses},
    {"names without values", is("password token secret api_key key auth ")},
    {"password=password=", is("password=")},
    {"password=\"", is("password=\"")},
    {"pwd=pwd=", is("pwd=")},
    {"token: x", is("token: x\n")},
    {"many names", is("x-auth-token=access_key_secret=")},
    {"names in one value", is("password=a1token=a1api_key=a1")},
    {"names and at signs", is("apikey:a@")},
    {"names and odd signs", is("pass:=")},
    {"names and odd signs, too", is("pass=@")},
    {"names within a name", is("_authtoken:oci_auth_token_authtoken_authtoken:-oci_auth_token")},
    {"names within a quoted value",
     is("_authtoken_authtoken=\"accesskeysecretToci_auth_token..ex")},
    {"names as addresses", is("auth@a.")},
    {"names as hosts", is("://_auth")},
    {"names of many kinds", is("password_authtoken://rsa_key=1etcf_token:=-auth_key-ent_api")},
    {"names of many kinds, too", is("saltoktaacjenkins1b2://_auth:_auth.:/_auth://_token://auth0")},
    {"beginnings of tokens", is("EAAAEAAAs")},
    {"beginnings of one token", is("AIza")},
    {"colons", is(":")},
    {"eyJ tokens", is("eyJhbGciOiJ eyJhbGciOiJIUzI1.eyJx ")},
    {"eyJ in one word", is("eyJhbGciOiJI-")},
    {"addresses", is("1.1.1.1 ::1 a@b.cc 1.2.3.4.5 ")},
    {"::1::1", is("::1")},
    {"::1 ::1", is("::1 ")},
    {"1.1.1.1.1", is("1.")},
    {"1.1.1.1 1.1.1.1", is("1.1.1.1 ")},
    {"1:1:1:1", is("1:")},
    {"a@a.a@a.", is("a@a.")},
    {"a@b.cc a@b.cc", is("a@b.cc ")},
    {"urls", is("http://a:")},
    {"logins", is("a://b:c@")},
    {"slashes of logins", is("a://b:1/2/3/4/5/6/7/8/9/1/2/3/4/5/6/7/8/9/")},
    {"key blocks", is("-----BEGIN PRIVATE KEY-----\n")},
    {"keys without end", is("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n")},
    {"cards", is("4111 1111 1111 1111 ")},
    {"near cards", is("4111-1111-1111-1112 ")},
    {"homes", is("/home/a ")},
    {"command lines", is("curl mysql sshpass ")},
    {"options", is(" -p -u -a")},
    {"options with values", is("curl -u a:bcd -p efgh ")},
    {"headers", is("Authorization: cookie: a=b x-api-key: ")},
    {"cookies", is("cookie:a=")},
    {"markers", is("[REDACTED_SECRET:jwt]")},
    {"secrets", is("PASSWORD=hunter2hunter2\n/home/a 10.0.0.1 b@c.de\n")},
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t size = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 8) * 1'000'000;
  const std::string_view only = argc > 2 ? argv[2] : "";
  const auto asked = [&](std::string_view name) { return name.contains(only); };
  const double begin = cpu_seconds();
  const auto made =
      Redactions::make({.groups = {std::begin(kRedactionGroups), std::end(kRedactionGroups)}});
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().message.c_str());
    return 1;
  }
  std::printf("all rules made in %.2f s\n", cpu_seconds() - begin);
  if (asked("log-like")) {
    const std::string log = log_text(size);
    print("log-like", speed_of(*made, log));
    const double clean_begin = cpu_seconds();
    const std::string cleaned = clean_text(log);
    std::printf("%-28s %8.1f MB/s\n", "(cleaning the same)",
                static_cast<double>(log.size()) / 1e6 / (cpu_seconds() - clean_begin));
  }
  for (const Row& row : kHostile)
    if (asked(row.name)) print(row.name, speed_of(*made, repeated(row.piece(), size)));
  if (asked("rules")) measure_rules(*made);
}
