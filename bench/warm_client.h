// A client of the service as an agent would be one: HTTP/1.1 on a connection that is kept, a key,
// one call at a time. It believes no answer that it has not checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "warm_question.h"

namespace sallyport::warm {

// Says why and ends the benchmark: a benchmark of failures would mean nothing.
[[noreturn]] void give_up(const std::string& why);

struct Service {
  std::uint16_t port = 0;
  std::string key;  // empty: the caller `anonymous`
};

// PORT or PORT:FILE, the file having the key.
[[nodiscard]] Service service_at(const std::string& text);

class Client {
 public:
  explicit Client(Service service) : service_(std::move(service)) {}

  // From the first byte of the request to the last of the answer, in microseconds. The answer must
  // be a success and say what it should; looking at it is not part of the time.
  double call(const std::string& tool, const Question& question);
  // The same through all gates, but nothing is run.
  double dry_run(const std::string& tool, const Question& question);
  double get(std::string_view path);
  // The body of the last answer.
  [[nodiscard]] const std::string& body() const { return body_; }

 private:
  double post(const std::string& tool, const Question& question, bool dry);
  double exchange(const std::string& request);
  void connect();

  Service service_;
  Fd socket_;
  std::string body_;
};

}  // namespace sallyport::warm
