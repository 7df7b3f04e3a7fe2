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

Sys<void> install_killing_filter(const sock_fprog& program) {
  if (seccomp_call(SECCOMP_SET_MODE_FILTER, 0, &program) < 0) return sys_fail("seccomp");
  return {};
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

Sys<std::optional<WaitingCall>> RefusalListener::receive() {
  std::ranges::fill(request_, std::byte{0});  // the kernel takes nothing else
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, request_.data()) < 0) {
    if (errno == ENOENT || errno == EINTR) return std::nullopt;
    return sys_fail("ioctl(SECCOMP_IOCTL_NOTIF_RECV)");
  }
  seccomp_notif request;
  std::memcpy(&request, request_.data(), sizeof request);
  return WaitingCall{
      .id = request.id, .thread = static_cast<pid_t>(request.pid), .call = request.data};
}

Sys<bool> RefusalListener::answer(const seccomp_notif_resp& response) {
  std::memcpy(response_.data(), &response, sizeof response);
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, response_.data()) < 0) {
    if (errno == ENOENT) return false;
    return sys_fail("ioctl(SECCOMP_IOCTL_NOTIF_SEND)");
  }
  return true;
}

Sys<std::optional<seccomp_data>> RefusalListener::receive_and_refuse(const SeccompPolicy& policy) {
  const auto answered = receive_and_answer(policy, nullptr);
  if (!answered) return std::unexpected(answered.error());
  if (!*answered) return std::nullopt;
  return (*answered)->call;
}

Sys<std::optional<AnsweredCall>> RefusalListener::receive_and_answer(
    const SeccompPolicy& policy, const std::function<void(const WaitingCall&)>& look) {
  const auto received = receive();
  if (!received) return std::unexpected(received.error());
  if (!*received) return std::nullopt;
  const WaitingCall& waiting = **received;

  const bool observed = look && policy.decide(waiting.call).kind == seccomp::Verdict::Kind::observe;
  if (observed) look(waiting);
  const auto answered = answer(
      {.id = waiting.id,
       .val = 0,
       .error = observed ? 0 : -refusal_errno(policy, waiting.call),
       .flags = observed ? static_cast<std::uint32_t>(SECCOMP_USER_NOTIF_FLAG_CONTINUE) : 0U});
  if (!answered) return std::unexpected(answered.error());
  if (!*answered) return std::nullopt;
  return AnsweredCall{.call = waiting.call, .refused = !observed};
}

bool RefusalListener::still_waits(std::uint64_t id) const {
  return ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

}  // namespace sallyport
