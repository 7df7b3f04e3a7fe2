// What keeper and front say to each other over a socket pair of packets.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace sallyport {

enum class ControlKind : unsigned char {
  ready,   // front → keeper: answering
  reload,  // front → keeper: somebody with the permission asks for the policy file to be read again
  policy,  // keeper → front: the file was read and is good; text: all of it
  bad,     // keeper → front: the file is bad and the old one stays in force; text: why
  stop,    // keeper → front: drain and end
};

struct KeeperMessage {
  ControlKind kind{};
  std::string text;  // of any size up to 16 MiB: passed as a sealed memory file
};

[[nodiscard]] Result<void> send_control(int socket, const KeeperMessage& message);
// Waits for one. An error: the other side is gone, or sent what it must not.
[[nodiscard]] Result<KeeperMessage> receive_control(int socket);

}  // namespace sallyport
