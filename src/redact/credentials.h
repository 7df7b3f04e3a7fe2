// Secrets with a structure of their own: passwords in URLs, cookies, private keys in lines.
#pragma once

#include <optional>

#include "redact/sight.h"

namespace sallyport {

// The password of `scheme://user:password@host`; the anchor is "://".
[[nodiscard]] std::optional<Found> url_password_at(const Sight& sight);

// The values of a Cookie header; of a Set-Cookie header, the value without its attributes.
[[nodiscard]] std::optional<Found> cookie_at(const Sight& sight);

// What a cookie's value has, and goes on with.
inline constexpr CharClass kCookieValue{
    table_of([](char c) { return c != '\n' && c != '\r' && c != '\\' && !is_quote(c); }),
    run_of::kCookie};

// A JSON Web Token; the anchor is the beginning of its header.
[[nodiscard]] std::optional<Found> jwt_at(const Sight& sight);

// A private key, from its first line to as much of its end as is seen.
[[nodiscard]] std::optional<Found> key_block_at(const Sight& sight);

// More lines of a private key that began before `sight.at`; none if it ends there.
[[nodiscard]] std::optional<Found> more_of_key_block(const Sight& sight);

}  // namespace sallyport
