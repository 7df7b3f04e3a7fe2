// The credentials that one call may use: what goes into its requests, where a placeholder of it
// must not go, and what must not come back.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "egress/http_head.h"
#include "egress/rules.h"
#include "egress/secrets.h"
#include "egress/veil.h"
#include "input/host.h"

namespace sallyport {

class Grants {
 public:
  using Clock = std::chrono::steady_clock;

  // `placeholders`: one for each grant; empty for one that has no variable.
  Grants(const std::vector<EgressGrant>& grants, std::vector<std::string> placeholders,
         const Secrets& secrets, Clock::time_point now = Clock::now());

  [[nodiscard]] bool empty() const { return held_.empty(); }

  struct Destination {
    HostName name;
    std::uint16_t port;
    EgressScheme scheme;
  };

  // What was done to a request; with `fault` it must not go on.
  struct Applied {
    std::string credential;  // that is in it now, or that the fault is about; several: "a, b"
    std::string fault;       // as a sentence
    // The host has had a credential, of this request or of another: its answer must be one that the
    // veil can look into.
    bool must_be_plain = false;
  };
  // Puts into the head what belongs there. `target`: what the host is asked for.
  [[nodiscard]] Applied apply(const Destination& to, RequestHead& request, std::string& target,
                              Clock::time_point now = Clock::now());

  // The credential whose placeholder is in the bytes; empty: none. Of a body in pieces, `tail`
  // keeps what is between two of them.
  [[nodiscard]] std::string placeholder_in(std::string_view bytes, std::string& tail) const;

  // The grants for a password; none: none is for that host.
  struct Password {
    std::string credential, user, value, variable, placeholder;
    bool needs_placeholder = false;
    std::string fault;
  };
  [[nodiscard]] bool has_password(const Destination& to) const;
  [[nodiscard]] std::vector<Password> passwords_for(const Destination& to,
                                                    Clock::time_point now = Clock::now());
  // The password has been sent.
  void count_use(const std::string& credential);

  // Covers every value that the grants have or had. A host may say what it got from another call,
  // before this one has sent anything. Null: there is none.
  [[nodiscard]] std::shared_ptr<const Veil> veil();
  // Those values.
  [[nodiscard]] const std::vector<std::string>& known() const { return known_; }

 private:
  struct Held {
    const EgressGrant& grant;
    std::vector<HostPattern> hosts;
    std::string placeholder;
    Clock::time_point until;
    std::uint32_t used = 0;
  };

  [[nodiscard]] static bool is_for(const Held& held, const Destination& to);
  [[nodiscard]] static bool fits(const Held& held, const RequestHead& request,
                                 std::string_view target);
  [[nodiscard]] std::string lapsed(const Held& held, Clock::time_point now) const;
  [[nodiscard]] Applied swap(Held& held, const Destination& to, RequestHead& request,
                             std::string& target, Clock::time_point now);
  [[nodiscard]] Applied inject(Held& held, RequestHead& request, std::string& target,
                               Clock::time_point now);
  void remember(const Held& held);

  std::vector<Held> held_;
  const Secrets& secrets_;
  std::vector<std::string> known_;    // values, for the veil
  std::shared_ptr<const Veil> veil_;  // null: it has to be made
};

// A placeholder with that beginning, which nobody can guess.
[[nodiscard]] Result<std::string> make_placeholder(std::string_view shape);

// Whether a request is one of those: by its method, and by the path of its target. No methods or no
// paths: all are.
[[nodiscard]] bool is_one_of(const std::vector<std::string>& methods,
                             const std::vector<std::string>& paths, const RequestHead& request,
                             std::string_view target);

}  // namespace sallyport
