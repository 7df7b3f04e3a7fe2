// One request and its answer, read strictly.
#pragma once

#include <string>
#include <vector>

#include "fetch/connection.h"
#include "fetch/redirect.h"

namespace sallyport {

struct FetchReply {
  ResponseHead head;
  std::string body;
  bool cut = false;  // there was more of it
};

// The request as it goes over the wire: one connection carries one request, and answers are wanted
// as they are, not compressed.
[[nodiscard]] std::string request_text(const FetchRequest& request);

// At most `most` bytes of the body are kept, and the rest is not waited for. A body that ends
// before its own length is an error, and so is whatever two readers could read differently.
[[nodiscard]] Result<FetchReply> exchange(const FetchRequest& request, FetchConnection& connection,
                                          std::uint64_t most);

}  // namespace sallyport
