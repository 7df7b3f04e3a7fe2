// A head that passes through is read the same wherever it was split, and what is written from it is
// read back as the same request: nothing between the two readers can be taken for something else.
#include <cstdint>
#include <string>
#include <string_view>

#include "check.h"
#include "egress/http_head.h"

using namespace sallyport;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::size_t searched = 0;
  const auto end = head_end(bytes, searched);
  std::size_t again = 0;
  static_cast<void>(head_end(bytes.substr(0, size / 2), again));
  FUZZ_CHECK(head_end(bytes, again) == end);
  if (!end) return 0;
  const std::string_view head = bytes.substr(0, *end);

  RequestHead request;
  if (parse_request_head(head, request).empty()) {
    const std::string written = write_request_head(request, request.target, "a.example");
    RequestHead back;
    FUZZ_CHECK(parse_request_head(written, back).empty());
    FUZZ_CHECK(back.method == request.method && back.target == request.target);
    FUZZ_CHECK(back.framing.kind == request.framing.kind &&
               back.framing.length == request.framing.length);
    FUZZ_CHECK(back.host == "a.example" && back.keep_alive == request.keep_alive);
    std::size_t from = 0;
    FUZZ_CHECK(head_end(written, from) == written.size());
  }
  ResponseHead response;
  if (parse_response_head(head, false, response).empty()) {
    ResponseHead back;
    FUZZ_CHECK(parse_response_head(write_response_head(response), false, back).empty());
    FUZZ_CHECK(back.status == response.status && back.framing.kind == response.framing.kind);
  }
  return 0;
}
