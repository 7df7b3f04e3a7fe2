#include "http/server.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <thread>
#include <utility>

#include "http/loop.h"

namespace sallyport {
namespace {

class LoopServer final : public HttpServer {
 public:
  LoopServer(std::shared_ptr<HttpService> service, std::vector<std::unique_ptr<HttpLoop>> loops,
             std::vector<HttpListener> listeners)
      : service_(std::move(service)), loops_(std::move(loops)) {
    for (const auto& loop : loops_)
      turn_.push_back(loop.get());
    loops_.front()->listen(std::move(listeners),
                           [this](Accepted accepted) { place(std::move(accepted)); });
  }

  void run() override {
    // Signals are for the thread that called; OpenSSL's writes need SIGPIPE blocked.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    {
      std::vector<std::jthread> threads;
      threads.reserve(loops_.size());
      for (const auto& loop : loops_)
        threads.emplace_back([&loop] { loop->run(); });
      ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
  }

  void drain(std::chrono::milliseconds most) override {
    for (const auto& loop : loops_)
      loop->drain(std::chrono::steady_clock::now() + most);
  }

  HttpNumbers numbers() const override {
    return {.connections = service_->connections,
            .accepted = service_->accepted,
            .requests = service_->requests,
            .refused = service_->refused,
            .failed = service_->failed};
  }

 private:
  // To the loop with the fewest, in turn among equals; without a socket, the kernel has no
  // descriptor left for one. Always called by the loop that listens.
  void place(Accepted accepted) {
    if (accepted.socket.valid()) {
      std::ranges::rotate(turn_, turn_.begin() + 1);
      (*std::ranges::min_element(turn_, {}, &HttpLoop::connections))->serve(std::move(accepted));
    } else {
      for (const auto& loop : loops_)
        loop->free_one();
    }
  }

  std::shared_ptr<HttpService> service_;
  std::vector<std::unique_ptr<HttpLoop>> loops_;
  std::vector<HttpLoop*> turn_;
};

std::unexpected<Error> wrong(std::string message, std::string hint) {
  return fail(Reason::argument, std::move(message), std::move(hint));
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::open(HttpSettings settings, HttpHandler handler,
                                                     HttpProblem problem) {
  if (settings.listeners.empty())
    return wrong("The server has nothing to listen on.", "Give it a listening socket.");
  auto service = std::make_shared<HttpService>(settings.limits);
  service->handler = std::move(handler);
  service->problem = std::move(problem);
  service->body_terms = std::move(settings.body_terms);
  if (auto hosts = AllowedHosts::create(settings.hosts))
    service->hosts = *std::move(hosts);
  else
    return std::unexpected(hosts.error());
  if (auto proxies = TrustedProxies::create(settings.trusted_proxies))
    service->proxies = *std::move(proxies);
  else
    return std::unexpected(proxies.error());
  if (!settings.tls.certificate.empty()) {
    auto tls = TlsContext::create(settings.tls);
    if (!tls) return std::unexpected(tls.error());
    service->tls = *std::move(tls);
  }
  for (const HttpListener& listener : settings.listeners) {
    if (listener.tls && !service->tls)
      return wrong("A listener speaks TLS, but there is no certificate.", "Give a certificate.");
    // Another process may hold the same socket: a connection that it takes first must not make this
    // one wait.
    const int flags = ::fcntl(listener.socket.get(), F_GETFL);
    if (flags < 0 || ::fcntl(listener.socket.get(), F_SETFL, flags | O_NONBLOCK) != 0)
      return fail(Reason::internal, SysError{"fcntl", "listener", errno});
  }

  const std::size_t connections = std::max<std::size_t>(settings.limits.connections, 1);
  const std::size_t threads = std::clamp<std::size_t>(settings.threads, 1, connections);
  std::vector<std::unique_ptr<HttpLoop>> loops;
  for (std::size_t i = 0; i < threads; ++i) {
    loops.push_back(HttpLoop::create(service, (connections + i) / threads));
    if (!loops.back())
      return fail(Reason::unavailable, "The server's event loop cannot be made.",
                  "Check the limit on open files.");
  }
  try {
    return std::make_unique<LoopServer>(std::move(service), std::move(loops),
                                        std::move(settings.listeners));
  } catch (const std::exception& error) {
    return fail(Reason::argument, std::string("A listener cannot be used: ") + error.what() + ".",
                "Give it bound and listening sockets.");
  }
}

}  // namespace sallyport
