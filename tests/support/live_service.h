// `sallyport serve`, driven as a client drives it: with curl.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "support/live_process.h"

namespace sallyport::test {

// A port of the loopback that nobody uses.
inline int free_port() {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

struct Reply {
  int status = 0;
  std::string headers, body;
  [[nodiscard]] boost::json::object json() const {
    boost::system::error_code wrong;
    const auto value = boost::json::parse(body, wrong);
    EXPECT_TRUE(!wrong && value.is_object()) << status << " " << headers << body;
    return value.is_object() ? value.as_object() : boost::json::object();
  }
  [[nodiscard]] std::string text(const char* key) const {
    const auto object = json();
    const auto* value = object.if_contains(key);
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
  }
};

class LiveService {
 public:
  explicit LiveService(const std::string& policy, As as = As::root,
                       std::vector<std::string> options = {}, std::string state = "",
                       std::vector<std::string> before = {})
      : as_(as),
        directory_(as),
        before_(std::move(before)),
        options_(std::move(options)),
        state_(state.empty() ? directory_ / "state" : std::move(state)),
        port_(free_port()) {
    std::filesystem::permissions(directory_.path(), std::filesystem::perms{0755});
    write_policy(policy);
    begin();
  }

  void write_policy(const std::string& policy) {
    write_file(directory_ / "policy.yaml", policy, as_);
  }
  // Starts it (again) and waits until it answers.
  void begin() {
    std::vector<std::string> argv = {
        sallyport_path(), "serve",    "--policy", policy_file(), "--state",
        state(),          "--listen", address(),  "--listen",    "unix:" + unix_socket()};
    argv.insert(argv.begin(), before_.begin(), before_.end());
    argv.insert(argv.end(), options_.begin(), options_.end());
    process_.emplace(argv, as_);
    EXPECT_TRUE(eventually([&] { return !alive() || get_locally("/readyz").status == 200; }));
    EXPECT_TRUE(alive()) << log();
  }
  // As an operator ends it; its exit code.
  int end() {
    process_->signal(SIGTERM);
    return process_->wait();
  }

  std::string key(const std::string& caller, std::vector<std::string> more = {}) {
    std::vector<std::string> argv = {sallyport_path(), "key",         "add",     caller,
                                     "--policy",       policy_file(), "--state", state()};
    argv.insert(argv.end(), more.begin(), more.end());
    const Ran made = run(argv, {.as = as_});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return made.out.substr(0, made.out.find('\n'));
  }
  // `curl ARGS URL`
  Reply curl(std::vector<std::string> args, const std::string& path) {
    args.insert(args.begin(), {"curl", "-s", "-i", "--max-time", "60", "-H", "Expect:"});
    args.push_back("http://" + address() + path);
    return reply(run(args).out);
  }
  Reply get(const std::string& path, const std::string& key = "") {
    return curl(credential(key), path);
  }
  // Over the unix socket, which has no TLS.
  Reply get_locally(const std::string& path) {
    return reply(run({"curl", "-s", "-i", "--max-time", "60", "--unix-socket", unix_socket(),
                      "http://localhost" + path})
                     .out);
  }
  Reply post(const std::string& path, const std::string& body, const std::string& key,
             std::vector<std::string> more = {}) {
    auto args = credential(key);
    args.insert(args.end(), {"--data-binary", body});
    args.insert(args.end(), more.begin(), more.end());
    return curl(args, path);
  }
  Reply call(const std::string& tool, const std::string& arguments, const std::string& key) {
    return post("/v1/tools/" + tool + "/call", R"({"arguments": )" + arguments + "}", key);
  }
  Ran command(std::vector<std::string> words) {
    words.insert(words.begin(), sallyport_path());
    words.insert(words.end(), {"--state", state()});
    return run(words, {.as = as_});
  }

  // The processes of the service, as the host numbers them.
  [[nodiscard]] pid_t keeper() const { return process_->pid(); }
  [[nodiscard]] std::vector<pid_t> all() const { return descendants_of(keeper()); }
  // The one that calls itself "sally-front" or "sally-launcher"; -1: none does.
  [[nodiscard]] pid_t named(const std::string& name) const {
    for (const pid_t pid : all())
      if (status_of(pid, "Name") == name) return pid;
    return -1;
  }

  [[nodiscard]] bool alive() const { return process_->alive(); }
  [[nodiscard]] std::string log() { return process_->said(); }
  testing::AssertionResult says(const std::string& text) { return process_->says(text); }
  void signal(int number) { process_->signal(number); }
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string unix_socket() const { return directory_ / "sock"; }
  [[nodiscard]] std::string policy_file() const { return directory_ / "policy.yaml"; }
  [[nodiscard]] std::string state() const { return state_; }
  [[nodiscard]] const TempDir& directory() const { return directory_; }

  static std::vector<std::string> credential(const std::string& key) {
    if (key.empty()) return {};
    return {"-H", "Authorization: Bearer " + key};
  }
  // What `curl -i` printed.
  static Reply reply(const std::string& text) {
    Reply reply;
    const std::size_t end = text.find("\r\n\r\n");
    if (!text.starts_with("HTTP/1.1 ") || end == std::string::npos) return reply;
    reply.status = std::atoi(text.c_str() + 9);
    reply.headers = text.substr(0, end + 2);
    reply.body = text.substr(end + 4);
    return reply;
  }

 private:
  As as_;
  TempDir directory_;
  std::vector<std::string> before_;  // words that end in the execution of what follows them
  std::vector<std::string> options_;
  std::string state_;
  int port_;
  std::optional<LiveProcess> process_;
};

}  // namespace sallyport::test
