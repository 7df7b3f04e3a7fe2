// One direction of a connection that carries much: the kernel moves its bytes from socket to
// socket, and this process sees none of them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "base/fd.h"
#include "egress/link.h"

namespace sallyport {

// A pipe without a name, through which bytes go from one socket to another.
struct Pipe {
  Fd read, write;

  // Nothing: there are no descriptors left, or no memory.
  [[nodiscard]] static std::optional<Pipe> make();
};

enum class Carried { to_the_end, failed, too_much };

// Until `from` ends. Both links are sockets. `take`: counts what came; false: that was too much,
// and does not go on.
Task<Carried> splice_rest(Link& from, Link& to, const Pipe& pipe,
                          const std::function<bool(std::size_t)>& take);

}  // namespace sallyport
