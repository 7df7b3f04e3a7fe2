#include "warm_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/file.h"
#include "base/json.h"

namespace sallyport::warm {
namespace {

using Clock = std::chrono::steady_clock;

// The value of a header of ours: they are written in one way only.
std::string_view header(std::string_view head, std::string_view name) {
  const auto found = head.find(name);
  if (found == std::string_view::npos) return {};
  head.remove_prefix(found + name.size());
  return head.substr(0, head.find('\r'));
}

// The output without the marks around it that tell a model what is not to be obeyed.
std::string_view unmarked(std::string_view output) {
  constexpr std::string_view kBegin = "[UNTRUSTED_OUTPUT ", kEnd = "[END_UNTRUSTED_OUTPUT ";
  if (!output.starts_with(kBegin)) return output;
  output.remove_prefix(std::min(output.size(), output.find('\n') + 1));
  return output.substr(0, output.rfind(kEnd));
}

}  // namespace

void give_up(const std::string& why) {
  std::fprintf(stderr, "bench/warm: %s\n", why.c_str());
  std::fflush(nullptr);
  std::_Exit(1);  // other threads may be in the middle of a call
}

Service service_at(const std::string& text) {
  const auto colon = text.find(':');
  Service service;
  const char* const end = text.data() + std::min(colon, text.size());
  if (std::from_chars(text.data(), end, service.port).ptr != end || service.port == 0)
    give_up("'" + text + "' is not PORT or PORT:FILE");
  if (colon == std::string::npos) return service;
  const auto key = read_file(text.c_str() + colon + 1);
  if (!key || key->empty()) give_up("there is no key in " + text.substr(colon + 1));
  service.key = key->substr(0, key->find('\n'));
  return service;
}

void Client::connect() {
  socket_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(service_.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  (void)::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    give_up("nobody listens on port " + std::to_string(service_.port));
}

double Client::exchange(const std::string& request) {
  if (!socket_) connect();
  char bytes[16384];
  std::string answer;
  std::size_t whole = std::string::npos;
  const auto begin = Clock::now();
  if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size()))
    give_up("the service has closed the connection");
  std::size_t head = 0;
  while (answer.size() < whole) {
    const ssize_t got = ::recv(socket_.get(), bytes, sizeof(bytes), 0);
    if (got <= 0) give_up("the service has closed the connection within an answer");
    answer.append(bytes, static_cast<std::size_t>(got));
    if (whole != std::string::npos || (head = answer.find("\r\n\r\n")) == std::string::npos)
      continue;
    const std::string_view length = header({answer.data(), head + 2}, "\r\nContent-Length: ");
    std::size_t size = 0;
    std::from_chars(length.data(), length.data() + length.size(), size);
    whole = head + 4 + size;
  }
  const auto end = Clock::now();
  if (!answer.starts_with("HTTP/1.1 200 ")) give_up("the service answered\n" + answer);
  // It closes a connection now and then; the next call opens another before its clock starts.
  if (header({answer.data(), head + 2}, "\r\nConnection: ") == "close") socket_.reset();
  body_ = answer.substr(head + 4);
  return std::chrono::duration<double, std::micro>(end - begin).count();
}

double Client::get(std::string_view path) {
  return exchange("GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" +
                  (service_.key.empty() ? "" : "Authorization: Bearer " + service_.key + "\r\n") +
                  "\r\n");
}

double Client::post(const std::string& tool, const Question& question, bool dry) {
  json::object arguments;
  if (!question.code.empty()) arguments["code"] = question.code;
  json::object asked{{"arguments", std::move(arguments)}};
  if (dry) asked["dry_run"] = true;
  const std::string body = json::serialize(asked);
  return exchange("POST /v1/tools/" + tool + "/call HTTP/1.1\r\nHost: localhost\r\n" +
                  (service_.key.empty() ? "" : "Authorization: Bearer " + service_.key + "\r\n") +
                  "Content-Type: application/json\r\nContent-Length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body);
}

double Client::call(const std::string& tool, const Question& question) {
  const double took = post(tool, question, false);
  const auto parsed = parse_json(body_);
  const json::object* result = parsed ? parsed->if_object() : nullptr;
  const auto text = [&](const char* name) -> std::string_view {
    const json::value* found = result == nullptr ? nullptr : result->if_contains(name);
    return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : "";
  };
  const std::string output = question.answer.empty() ? "" : question.answer + "\n";
  if (text("status") != "success" || unmarked(text("output")) != output)
    give_up("'" + question.code + "' must print '" + question.answer + "'; the result is\n" +
            body_);
  return took;
}

double Client::dry_run(const std::string& tool, const Question& question) {
  return post(tool, question, true);
}

}  // namespace sallyport::warm
