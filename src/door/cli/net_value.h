// The value of `sallyport run --net`.
#pragma once

#include <string_view>

#include "base/error.h"
#include "egress/rules.h"

namespace sallyport {

// HOST[:PORT][,WORD...], where a word is a scheme (https, http, postgres, tcp), `internal`,
// `inspect`, or `address=IP`. Without a scheme it is https; at port 80, http.
[[nodiscard]] Result<EgressRule> parse_net(std::string_view text);

}  // namespace sallyport
