// Where an answer that redirects leads, and what is asked there.
#pragma once

#include <optional>
#include <string>

#include "egress/http_head.h"
#include "input/url.h"

namespace sallyport {

// Those that servers make for downloads are long.
inline constexpr std::size_t kLongestFetchUrl = 8192;

struct FetchRequest {
  std::string method;
  Url url;
  HeadFields headers;
  std::optional<std::string> body;
};

// A reference as it stands in a Location header, seen from `base` (RFC 3986, 5.2), and read as
// strictly as any URL then: no user, no address, no backslash, nothing that decodes to "..".
[[nodiscard]] Result<Url> resolve_reference(const Url& base, std::string_view reference);

// The next request; nothing: the answer is no redirect. 303 turns all methods but HEAD into GET,
// 301 and 302 turn POST into GET, as every browser does; 307 and 308 change nothing. On the way to
// another host, port or scheme, only headers that say nothing about who asks go along. A way from
// https to http is refused.
[[nodiscard]] Result<std::optional<FetchRequest>> follow(const FetchRequest& request,
                                                         const ResponseHead& answer);

}  // namespace sallyport
