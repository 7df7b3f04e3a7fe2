// Where the front finds the launcher: a socket in a directory that only root and the front's group
// can enter.
#pragma once

#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "serve/front_user.h"

namespace sallyport {

class LauncherSocket {
 public:
  // Also removes what keepers that were killed have left.
  [[nodiscard]] static Result<LauncherSocket> make(const FrontUser& user);
  LauncherSocket(LauncherSocket&&) noexcept = default;
  LauncherSocket& operator=(LauncherSocket&&) noexcept = default;

  [[nodiscard]] std::string path() const { return directory_ + "/launcher"; }
  [[nodiscard]] Fd& listener() { return listener_; }
  void remove();

 private:
  LauncherSocket(std::string directory, Fd listener)
      : directory_(std::move(directory)), listener_(std::move(listener)) {}
  std::string directory_;
  Fd listener_;
};

}  // namespace sallyport
