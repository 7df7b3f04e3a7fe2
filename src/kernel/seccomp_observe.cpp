#include "kernel/seccomp_observe.h"

#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <optional>

#include "kernel/seccomp_calls.h"

namespace sallyport {
namespace {

using seccomp::allow;
using seccomp::arg;
using seccomp::observe;
using seccomp::Rule;
using seccomp::Verdict;
using seccomp::when;

// Without stat, access and readlink: every program makes thousands of them, and what they find is
// opened next if it is wanted.
constexpr int kFileCalls[] = {
    call::open,     call::openat,    call::creat, call::truncate, call::execve,    call::execveat,
    call::mkdir,    call::mkdirat,   call::rmdir, call::unlink,   call::unlinkat,  call::rename,
    call::renameat, call::renameat2, call::link,  call::linkat,   call::symlink,   call::symlinkat,
    call::mknod,    call::mknodat,   call::chmod, call::fchmodat, call::utimensat,
};

constexpr int kNetworkCalls[] = {call::connect, call::sendto, call::sendmsg, call::sendmmsg};

constexpr int kProfileCalls[] = {
    call::socket,        call::socketpair,   call::personality,     call::shmget,
    call::shmat,         call::shmctl,       call::shmdt,           call::semget,
    call::semop,         call::semtimedop,   call::semctl,          call::msgget,
    call::msgsnd,        call::msgrcv,       call::msgctl,          call::mq_open,
    call::mq_unlink,     call::mq_timedsend, call::mq_timedreceive, call::mq_notify,
    call::mq_getsetattr,
};

Rule observed(Rule rule) {
  const auto turn = [](Verdict& verdict) {
    if (verdict.kind == Verdict::Kind::allow) verdict = observe();
  };
  for (seccomp::Clause& clause : rule.clauses)
    turn(clause.verdict);
  turn(rule.otherwise);
  return rule;
}

// Calls that need no look. Only for a rule that allows whatever the arguments are: in front of
// another one the exception would allow what that one refuses.
Rule without_noise(int number, Rule rule) {
  if (!rule.clauses.empty() || rule.otherwise != allow()) return observed(std::move(rule));
  if (number == call::sendto)  // on a connected socket
    return when(arg(4).is(0), allow()).otherwise(observe());
  // The cell's init hands the listener itself over in this way: nobody could answer it yet.
  if (number == call::sendmsg)
    return when(arg(2).low32().is(MSG_NOSIGNAL), allow()).otherwise(observe());
  return observe();
}

}  // namespace

std::vector<int> observed_calls() {
  std::vector<int> calls(std::begin(kFileCalls), std::end(kFileCalls));
  calls.insert(calls.end(), std::begin(kNetworkCalls), std::end(kNetworkCalls));
  calls.insert(calls.end(), std::begin(kProfileCalls), std::end(kProfileCalls));
  return calls;
}

std::span<const int> profile_calls() {
  return kProfileCalls;
}

Result<SeccompPolicy> observing(const SeccompPolicy& policy) {
  const std::vector<int> calls = observed_calls();
  std::vector<PolicyLine> lines;
  std::map<const Rule*, std::size_t> kept;  // calls that share a rule go on sharing it
  for (int number = 0; number < SeccompPolicy::kCallLimit; ++number) {
    const Rule* rule = policy.find(number);
    if (rule == nullptr) continue;
    if (std::ranges::find(calls, number) != calls.end()) {
      lines.emplace_back(number, without_noise(number, *rule));
    } else if (const auto [line, first] = kept.try_emplace(rule, lines.size()); first) {
      lines.emplace_back(number, *rule);
    } else {
      lines[line->second].calls.push_back(number);
    }
  }
  return SeccompPolicy::make(std::move(lines));
}

}  // namespace sallyport
