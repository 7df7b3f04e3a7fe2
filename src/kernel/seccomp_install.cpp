#include "kernel/seccomp_install.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace sallyport {

namespace {

int seccomp_call(unsigned operation, unsigned flags, const void* argument) {
  return static_cast<int>(::syscall(SYS_seccomp, operation, flags, argument));
}

}  // namespace

Sys<int> install_filter(const sock_fprog& program) {
  // Without it a signal takes a call back that the supervisor has already received, and a call that
  // is interrupted often enough is never answered. Linux 5.19.
  int listener = seccomp_call(
      SECCOMP_SET_MODE_FILTER,
      SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
  if (listener < 0 && errno == EINVAL)
    listener = seccomp_call(SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
  if (listener < 0) return sys_fail("seccomp");
  return listener;
}

Sys<RefusalListener> RefusalListener::make(Fd listener) {
  seccomp_notif_sizes sizes{};
  if (seccomp_call(SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0) return sys_fail("seccomp");
  return RefusalListener(std::move(listener), sizes);
}

RefusalListener::RefusalListener(Fd listener, const seccomp_notif_sizes& sizes)
    : listener_(std::move(listener)),
      request_(std::max<std::size_t>(sizes.seccomp_notif, sizeof(seccomp_notif))),
      response_(std::max<std::size_t>(sizes.seccomp_notif_resp, sizeof(seccomp_notif_resp))) {}

Sys<std::optional<seccomp_data>> RefusalListener::receive_and_refuse(const SeccompPolicy& policy) {
  std::ranges::fill(request_, std::byte{0});  // the kernel takes nothing else
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, request_.data()) < 0) {
    if (errno == ENOENT || errno == EINTR) return std::nullopt;
    return sys_fail("ioctl(SECCOMP_IOCTL_NOTIF_RECV)");
  }
  seccomp_notif request;
  std::memcpy(&request, request_.data(), sizeof request);

  const seccomp_notif_resp response{
      .id = request.id, .val = 0, .error = -refusal_errno(policy, request.data), .flags = 0};
  std::memcpy(response_.data(), &response, sizeof response);
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, response_.data()) < 0) {
    if (errno == ENOENT) return std::nullopt;
    return sys_fail("ioctl(SECCOMP_IOCTL_NOTIF_SEND)");
  }
  return request.data;
}

}  // namespace sallyport
