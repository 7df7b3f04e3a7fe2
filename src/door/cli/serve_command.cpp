#include "door/cli/serve_command.h"

#include <cstdio>

#include "base/text.h"
#include "door/cli/option_table.h"
#include "door/cli/process.h"
#include "http/client.h"
#include "sallyport/units.h"
#include "serve/front.h"

namespace sallyport {
namespace {

struct ServeRequest {
  ServeOptions options;
  bool help = false;
};

template <std::string ServeOptions::* Field>
Result<void> set(ServeRequest& request, std::string_view value) {
  request.options.*Field = value;
  return {};
}

template <std::vector<std::string> ServeOptions::* Field>
Result<void> add(ServeRequest& request, std::string_view value) {
  (request.options.*Field).emplace_back(value);
  return {};
}

Result<void> set_drain(ServeRequest& request, std::string_view value) {
  auto parsed = parse_duration(value);
  if (!parsed) return std::unexpected(parsed.error());
  request.options.drain = std::chrono::duration_cast<std::chrono::milliseconds>(*parsed);
  return {};
}

Result<void> set_otlp(ServeRequest& request, std::string_view value) {
  if (auto checked = check_fetch_url(value); !checked) return checked;
  request.options.otlp = value;
  return {};
}

Result<void> require_certificate(ServeRequest& request, std::string_view) {
  request.options.require_certificate = true;
  return {};
}

Result<void> set_help(ServeRequest& request, std::string_view) {
  request.help = true;
  return {};
}

constexpr Option<ServeRequest> kServeOptions[] = {
    {"policy", "FILE", "What is served",
     "The policy file. Without it, the one that `sallyport policy init` prints.",
     set<&ServeOptions::policy>},
    {"state", "DIR", "What is served",
     "Where keys, counts and records are kept. Without it, the private directory of the user.",
     set<&ServeOptions::state>},
    {"listen", "ADDRESS", "Where",
     "127.0.0.1:8640, [::1]:8640, or unix:/PATH. Without it, the sockets that systemd passes on, "
     "or "
     "else 127.0.0.1:8640.",
     add<&ServeOptions::listen>, nullptr, Times::many},
    {"host", "NAME", "Where",
     "A name under which clients reach the service, and web pages of it may call. The addresses it "
     "listens on and localhost need not be named; all other Host headers are refused.",
     add<&ServeOptions::hosts>, nullptr, Times::many},
    {"trusted-proxy", "ADDRESS", "Where",
     "An address, or a range such as 10.0.0.0/8, whose X-Forwarded-For header is believed.",
     add<&ServeOptions::trusted_proxies>, nullptr, Times::many},
    {"certificate", "FILE", "TLS", "The certificate chain, as PEM. Then TCP is served by TLS only.",
     set<&ServeOptions::certificate>},
    {"key", "FILE", "TLS", "Its private key, as PEM.", set<&ServeOptions::key>},
    {"client-ca", "FILE", "TLS",
     "Clients may show a certificate of this authority; its common name is the caller.",
     set<&ServeOptions::client_ca>},
    {"require-certificate", "", "TLS", "... and must.", require_certificate},
    {"user", "NAME", "How",
     "The user, or uid, that answers clients when root starts the service. Without it, `sallyport` "
     "if there is one, or a uid that belongs to nobody.",
     set<&ServeOptions::user>},
    {"drain", "TIME", "How", "What calls in flight get at SIGTERM before they are cut. [10s]",
     set_drain},
    {"checkpoint-file", "FILE", "How",
     "Each signed checkpoint of the records is appended to this file too.",
     set<&ServeOptions::checkpoint_file>},
    {"checkpoint-url", "URL", "How",
     "Each signed checkpoint of the records is sent there too, by POST. http:// to an address.",
     set<&ServeOptions::checkpoint_url>},
    {"otlp", "URL", "How",
     "Send a trace of each call to the OpenTelemetry collector at this URL, such as "
     "http://127.0.0.1:4318 (OTLP over HTTP, as JSON). Without TLS, and to an address or localhost "
     "only: run a collector beside the service.",
     set_otlp},
    {"help", "", "How", "Print this text.", set_help},
};

}  // namespace

int serve_command(std::span<const char* const> words) {
  ServeRequest request;
  const auto parsed = parse_options<ServeRequest>(kServeOptions, words, request);
  if (!parsed) {
    print_error(parsed.error());
    return kWrongUsage;
  }
  if (request.help) {
    std::fputs(R"x(Usage: sallyport serve [options]

Serves the tools of a policy over HTTP. Callers show a key that `sallyport key add` makes.

  curl -H "Authorization: Bearer $KEY" http://127.0.0.1:8640/v1/tools
  curl -H "Authorization: Bearer $KEY" http://127.0.0.1:8640/v1/tools/python/call \
       -d '{"arguments": {"code": "print(2 + 2)"}}'

SIGHUP reads the policy file again: a good one is put in force for the calls that begin from then
on, a bad one is refused with a line in the log. SIGTERM lets calls end and stops.

)x",
               stdout);
    std::fputs(options_help<ServeRequest>(kServeOptions, ServeRequest{}).c_str(), stdout);
    return 0;
  }
  if (!parsed->rest.empty()) {
    print_error({Reason::argument, "serve takes no word " + quoted(parsed->rest[0]),
                 "`sallyport serve --help` lists its options"});
    return kWrongUsage;
  }
  return keep(request.options, run_front);
}

}  // namespace sallyport
