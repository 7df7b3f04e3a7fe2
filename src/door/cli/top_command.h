// `sallyport top`: a live view of a service.
#pragma once

#include <span>
#include <string>

#include "base/error.h"
#include "door/cli/top_view.h"
#include "sallyport/units.h"

namespace sallyport {

struct TopRequest {
  std::string url = "http://127.0.0.1:8640";
  std::string key_file;
  std::string state, caller;  // whose key is made for as long as this runs
  Duration interval = std::chrono::seconds{2};
  bool once = false;
  bool json = false;
  bool help = false;
};

[[nodiscard]] Result<TopRequest> parse_top(std::span<const char* const> words);

// Where a service is, and what is shown to it.
struct TopTarget {
  std::string url;     // without a path
  std::string socket;  // empty: TCP
  std::string key;     // empty: none
};

// "http://ADDRESS:PORT" or "unix:/PATH".
[[nodiscard]] Result<TopTarget> parse_top_url(const std::string& url);

// One look at the service. The error of a refused request is what the service said.
[[nodiscard]] Result<TopSample> look_at(const TopTarget& target);

// Returns the exit code of the program.
int top_command(std::span<const char* const> words);

}  // namespace sallyport
