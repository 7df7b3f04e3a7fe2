// How fast text is redacted, with every rule, on one core: log-like text, and the worst texts that
// we could think of. CPU time, so that a busy machine does not matter.
//
//   bench_redact [MEGABYTES [NAME]]
#include "redact/redact.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <string_view>

#include "redact/clean_text.h"
#include "redact/rule.h"

namespace {

using namespace sallyport;

std::mt19937 g_random(1);
std::string_view g_only;  // what is measured, if not all

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

void measure(const char* name, const std::shared_ptr<const Redactions>& rules,
             const std::string& text) {
  if (!std::string_view(name).contains(g_only)) return;
  std::string out;
  out.reserve(text.size() * 2);
  Redactor redactor(rules);
  const double begin = cpu_seconds();
  for (std::size_t at = 0; at < text.size(); at += 16 * 1024)
    redactor.feed(std::string_view(text).substr(at, 16 * 1024), out);
  redactor.finish(out);
  const double seconds = cpu_seconds() - begin;
  std::uint64_t found = 0;
  for (const auto& [id, count] : redactor.counts())
    found += count;
  std::printf("%-28s %8.1f MB/s   %9llu looks, %8llu found\n", name,
              static_cast<double>(text.size()) / 1e6 / seconds,
              static_cast<unsigned long long>(redactor.looks()),
              static_cast<unsigned long long>(found));
  std::fflush(stdout);
}

std::string repeated(std::string_view piece, std::size_t size) {
  std::string text;
  while (text.size() < size)
    text.append(piece);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t size = (argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 8) * 1'000'000;
  if (argc > 2) g_only = argv[2];
  double begin = cpu_seconds();
  const auto made =
      Redactions::make({.groups = {std::begin(kRedactionGroups), std::end(kRedactionGroups)}});
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().message.c_str());
    return 1;
  }
  std::printf("all rules made in %.2f s\n", cpu_seconds() - begin);

  std::string log;
  while (log.size() < size)
    log.append(log_line());
  measure("log-like", *made, log);
  begin = cpu_seconds();
  const std::string cleaned = clean_text(log);
  std::printf("%-28s %8.1f MB/s\n", "(cleaning the same)",
              static_cast<double>(log.size()) / 1e6 / (cpu_seconds() - begin));

  measure("one letter", *made, std::string(size, 'a'));
  measure("base64", *made, random_of(std::string(kLetters) + "+/", size));
  measure("hexadecimal", *made, random_of("0123456789abcdef", size));
  measure("digits", *made, random_of("0123456789", size));
  std::string soup;
  for (const std::string_view prefix :
       {"ghp_", "sk-", "sk-ant-", "xoxb-", "AKIA", "glpat-", "npm_", "eyJ", "AIza", "SG.", "hvs.",
        "-----BEGIN ", "://", "Bearer ", "key-", "dop_v1_", "sq0atp-", "ya29.", "shpat_"})
    soup.append(prefix);
  measure("prefix soup", *made, repeated(soup, size));
  std::string near;
  for (int i = 0; i < 500; ++i)
    near.append("gh")
        .append("p_" + random_of(kLetters, 35) + " sk")
        .append("-" + random_of(kLetters, 31) + " AK")
        .append("IA" + random_of("ABCDEFGHIJKLMNOP", 15) + " xo")
        .append("xb-" + random_of(kLetters, 8) + " npm_" + random_of(kLetters, 35) + "\n");
  measure("near misses", *made, repeated(near, size));
  measure("names without values", *made, repeated("password token secret api_key key auth ", size));
  measure("password=password=", *made, repeated("password=", size));
  measure("password=\"", *made, repeated("password=\"", size));
  measure("token: x", *made, repeated("token: x\n", size));
  measure("eyJ tokens", *made, repeated("eyJhbGciOiJ eyJhbGciOiJIUzI1.eyJx ", size));
  measure("addresses", *made, repeated("1.1.1.1 ::1 a@b.cc 1.2.3.4.5 ", size));
  measure("::1::1", *made, repeated("::1", size));
  measure("1.1.1.1.1", *made, repeated("1.", size));
  measure("a@a.a@a.", *made, repeated("a@a.", size));
  measure("urls", *made, repeated("http://a:", size));
  measure("key blocks", *made, repeated("-----BEGIN PRIVATE KEY-----\n", size));
  measure("command lines", *made, repeated("curl mysql sshpass ", size));
  measure("headers", *made, repeated("Authorization: cookie: a=b x-api-key: ", size));
  measure("markers", *made, repeated("[REDACTED_SECRET:jwt]", size));
  measure("secrets", *made, repeated("PASSWORD=hunter2hunter2\n/home/a 10.0.0.1 b@c.de\n", size));
}
