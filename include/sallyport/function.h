// A function of the host program as a tool. It runs in the program itself: trusted code, bounded by
// the gates alone.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <string>
#include <vector>

#include "sallyport/error.h"

namespace sallyport {

enum class FunctionTier {
  inline_call,  // on the caller's thread; must not block
  thread,       // on a worker thread, with the deadline of the policy
};

struct Function {
  std::string name;
  std::string description;
  std::vector<std::string> needs;  // permissions; the policy may ask for more
  // Arguments by name, as in the policy file: {"id": {"type": "integer", "minimum": 1}}. What is
  // not declared is refused.
  boost::json::object args;
  FunctionTier tier = FunctionTier::inline_call;
  // Gets the validated arguments. An error becomes a result with the status `error`; so does an
  // exception.
  std::function<Result<boost::json::value>(const boost::json::object& arguments)> body;
};

}  // namespace sallyport
