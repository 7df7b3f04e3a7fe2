#include "serve/keeper.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "kernel/cgroup.h"
#include "serve/keeper_loop.h"

namespace sallyport {
namespace {

int refuse(const Error& error) {
  std::fprintf(stderr, "sallyport: %s\n", escape_for_terminal(error.message).c_str());
  if (!error.hint.empty())
    std::fprintf(stderr, "sallyport: hint: %s\n", escape_for_terminal(error.hint).c_str());
  return kCouldNotServe;
}

Result<std::string> read_pem(const std::string& path) {
  if (path.empty()) return std::string();
  auto text = read_file(path.c_str());
  if (!text || text->empty())
    return fail(Reason::unavailable, sallyport::quoted(path) + " cannot be read",
                "give the path of a PEM file");
  return std::move(*text);
}

Result<TlsSettings> read_tls(const ServeOptions& options) {
  if (options.certificate.empty() != options.key.empty())
    return fail(Reason::argument, "TLS needs a certificate and its key", "give both, or neither");
  if (options.certificate.empty() && (!options.client_ca.empty() || options.require_certificate))
    return fail(Reason::argument, "client certificates need TLS", "give a certificate and a key");
  auto certificate = read_pem(options.certificate);
  if (!certificate) return std::unexpected(certificate.error());
  auto key = read_pem(options.key);
  if (!key) return std::unexpected(key.error());
  auto client_ca = read_pem(options.client_ca);
  if (!client_ca) return std::unexpected(client_ca.error());
  return TlsSettings{.certificate = std::move(*certificate),
                     .key = std::move(*key),
                     .client_ca = std::move(*client_ca),
                     .require_certificate = options.require_certificate};
}

Result<std::vector<Listener>> open_listeners(const ServeOptions& options, const FrontUser& user,
                                             std::vector<Listener> listeners) {
  std::vector<std::string> wanted = options.listen;
  if (wanted.empty() && listeners.empty()) wanted.emplace_back(kDefaultListen);
  for (const std::string& text : wanted) {
    const auto address = parse_listen(text);
    auto opened = address ? open_listener(*address, user)
                          : Result<Listener>(std::unexpected(address.error()));
    if (!opened) {
      for (Listener& listener : listeners)
        remove_listener(listener);
      return std::unexpected(std::move(opened.error()));
    }
    listeners.push_back(std::move(*opened));
  }
  return listeners;
}

Result<std::string> own_program() {
  char path[4096];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path));
  if (size <= 0) return fail(Reason::unavailable, SysError{"readlink", "/proc/self/exe", errno});
  return std::string(path, static_cast<std::size_t>(size));
}

// What whoever started us left open is nobody's business in a service.
void close_leaked(const std::vector<Listener>& activated) {
  std::vector<int> kept;
  kept.reserve(activated.size());
  for (const Listener& listener : activated)
    kept.push_back(listener.socket.get());
  close_all_but(std::move(kept));
}

// Whoever could write the policy would choose the launcher's ceiling. A link in the directory is in
// it too, wherever it leads.
bool is_within(const std::string& file, const std::string& directory) {
  namespace fs = std::filesystem;
  if (file.empty()) return false;
  std::error_code error;
  const fs::path outer = fs::weakly_canonical(directory, error);
  const fs::path whole = fs::absolute(file, error);
  return std::ranges::any_of(
      std::array{fs::weakly_canonical(whole, error),
                 fs::weakly_canonical(whole.parent_path(), error) / whole.filename()},
      [&](const fs::path& inner) {
        return std::ranges::mismatch(outer, inner).in1 == outer.end();
      });
}

// Keys and results that go in the clear where others may listen are worth a line; a service behind
// a proxy on another machine may want it so.
void warn_of_clear_text(const std::vector<Listener>& listeners) {
  std::string open;
  for (const Listener& listener : listeners)
    if (listener.tcp && !listener.name.starts_with("127.") && !listener.name.starts_with("[::1]:"))
      open.append(open.empty() ? "" : ", ").append(listener.name);
  if (!open.empty())
    log_line("warning",
             {{"on", open},
              {"message", "without TLS, keys and results can be read and changed on the network"},
              {"hint", "give --certificate and --key, or listen on 127.0.0.1 behind a proxy"}});
}

int keep_service(const ServeOptions& options, Front front) {
  auto activated = take_activated_listeners();
  if (!activated) return refuse(activated.error());
  close_leaked(*activated);
  ::umask(022);  // whatever it was; what is private has its own mode

  const auto user = choose_front_user(options.user, read_file("/etc/passwd").value_or(""),
                                      ::geteuid(), ::getegid());
  if (!user) return refuse(user.error());
  if (user->changes && ::setgroups(0, nullptr) != 0)
    return refuse({Reason::unavailable, describe({"setgroups", "", errno}), {}});
  const auto uids = UidRange::configured();
  if (!uids) return refuse(uids.error());
  auto program = own_program();
  if (!program) return refuse(program.error());

  auto policy = read_checked_policy(options.policy, *user);
  if (!policy) {
    for (const std::string& problem : policy.error())
      std::fprintf(stderr, "%s\n", escape_for_terminal(problem).c_str());
    return kCouldNotServe;
  }
  auto ceiling = make_launch_ceiling(policy->policy.rules(), *program, *uids);
  if (!ceiling) return refuse(ceiling.error());
  auto tls = read_tls(options);
  if (!tls) return refuse(tls.error());
  if (user->changes &&
      is_within(options.policy, options.state.empty() ? kDefaultState : options.state))
    return refuse({Reason::argument,
                   "the policy file is in the state directory, which is given to the user that the "
                   "service runs as",
                   "keep it elsewhere, such as /etc/sallyport/policy.yaml"});
  auto state = prepare_state(options.state, *user);
  if (!state) return refuse(state.error());
  auto listeners = open_listeners(options, *user, std::move(*activated));
  if (!listeners) return refuse(listeners.error());
  auto launcher = LauncherSocket::make(*user);
  if (!launcher) {
    for (Listener& listener : *listeners)
      remove_listener(listener);
    return refuse(launcher.error());
  }
  auto door = make_door();
  if (!door) return refuse({Reason::unavailable, describe(door.error()), {}});
  for (const Listener& listener : *listeners)
    log_line("listening",
             {{"on", listener.name}, {"tls", listener.tcp && !tls->certificate.empty()}});
  if (tls->certificate.empty()) warn_of_clear_text(*listeners);
  // What a service that was killed left behind; and on a delegated cgroup it moves this process,
  // and so all that it starts, out of the way of the cells' groups.
  sweep_cgroups();
  return keep_running(options, front,
                      {.user = *user,
                       .uids = *uids,
                       .program = std::move(*program),
                       .state = std::move(*state),
                       .tls = std::move(*tls),
                       .listeners = std::move(*listeners),
                       .launcher = std::move(*launcher),
                       .egress_user = choose_egress_user(*user),
                       .egress = std::move(*door)},
                      std::move(*policy), std::move(*ceiling));
}

}  // namespace

int keep(const ServeOptions& options, Front front) try {
  return keep_service(options, front);
} catch (const std::exception& error) {
  return refuse({Reason::internal, std::string("the service cannot go on: ") + error.what(), {}});
}

}  // namespace sallyport
