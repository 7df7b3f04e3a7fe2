// Any bytes are one head and one body, or are refused with a status; the reading does not depend on
// how they were split, and what is taken has no second reading.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "check.h"
#include "http/allowed_hosts.h"
#include "http/chunked.h"
#include "http/parse.h"

using namespace sallyport;
using State = HttpHeadParser::State;

namespace {

constexpr std::size_t kMost = 2048;

struct Reading {
  HttpRequest request;
  HttpHeadParser parser{kMost, request};
  State state = State::incomplete;

  Reading(std::string_view bytes, std::size_t step) {
    for (std::size_t shown = 0; shown < bytes.size() && state == State::incomplete;) {
      shown = std::min(shown + step, bytes.size());
      state = parser.parse(bytes.substr(0, shown));
    }
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
};

void check_refusal(const HttpRefusal& refusal) {
  FUZZ_CHECK(refusal.status >= 400 && refusal.status <= 505 && !refusal.sentence.empty());
}

void check_request(std::string_view bytes, const Reading& reading) {
  const std::string_view head = bytes.substr(0, reading.parser.length());
  FUZZ_CHECK(head.size() <= kMost && head.find("\r\n\r\n") == head.size() - 4);
  const HttpRequest& request = reading.request;
  const std::string slashed = request.path + "/";
  FUZZ_CHECK(request.path.starts_with('/') && !slashed.contains("/../") &&
             !slashed.contains("/./"));
  FUZZ_CHECK(!request.path.contains("//") && !request.path.contains('\\'));
  FUZZ_CHECK(std::ranges::none_of(request.path, [](char c) { return c >= 0 && c < 0x20; }));
  HttpHeaders values;
  FUZZ_CHECK(parse_query(request.query, values));
  const auto count = [&](std::string_view name) {
    return std::ranges::count(request.headers, name, &HttpHeaders::value_type::first);
  };
  FUZZ_CHECK(count("host") == 1);
  FUZZ_CHECK(count("content-length") + count("transfer-encoding") <= 1);
  FUZZ_CHECK((count("transfer-encoding") == 1) == reading.parser.chunked());
  for (const auto& [name, value] : request.headers) {
    FUZZ_CHECK(!name.empty() && !name.contains(' ') && !name.contains('\n'));
    FUZZ_CHECK(!value.contains('\r') && !value.contains('\n') && !value.contains('\0'));
  }
}

std::string read_chunks(std::string_view bytes, std::size_t step) {
  ChunkedDecoder decoder(kMost);
  std::string body;
  std::size_t used = 0;
  while (used < bytes.size() && !decoder.done() && decoder.refusal().status == 0)
    used += decoder.feed(bytes.substr(used, step), body);
  FUZZ_CHECK(body.size() <= kMost);
  if (decoder.refusal().status != 0) {
    check_refusal(decoder.refusal());
    return std::to_string(decoder.refusal().status) + std::string(decoder.refusal().sentence);
  }
  if (decoder.done()) FUZZ_CHECK(bytes.substr(0, used).ends_with("\r\n\r\n"));
  return body + "|" + std::to_string(used) + (decoder.done() ? "|done" : "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t step = 1 + data[0] % 64;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  static const AllowedHosts hosts = *AllowedHosts::create({"example.com"});
  FUZZ_CHECK(read_chunks(bytes, bytes.size() + 1) == read_chunks(bytes, step));

  const Reading whole(bytes, bytes.size() + 1);
  const Reading split(bytes, step);
  FUZZ_CHECK(whole.state == split.state);
  if (whole.state == State::refused) {
    check_refusal(whole.parser.refusal());
    FUZZ_CHECK(whole.parser.refusal().status == split.parser.refusal().status);
    FUZZ_CHECK(whole.parser.refusal().sentence == split.parser.refusal().sentence);
  }
  if (whole.state != State::complete) return 0;
  FUZZ_CHECK(whole.parser.length() == split.parser.length());
  FUZZ_CHECK(whole.request.path == split.request.path);
  FUZZ_CHECK(whole.request.headers == split.request.headers);
  FUZZ_CHECK(whole.parser.content_length() == split.parser.content_length());
  check_request(bytes, whole);
  static_cast<void>(hosts.judge(whole.request.header("host"), std::nullopt));
  const std::string_view rest = bytes.substr(whole.parser.length());
  if (whole.parser.chunked())
    FUZZ_CHECK(read_chunks(rest, rest.size() + 1) == read_chunks(rest, step));
  return 0;
}
