// Something noteworthy about a call that is not a failure of it: the result lists them under
// `findings`.
#pragma once

#include <string>

namespace sallyport {

struct Finding {
  std::string kind;  // a name that programs can match: "not_exported", "not_copied_back"
  std::string path;  // what it is about, safe to print
  std::string why;   // a sentence
};

}  // namespace sallyport
