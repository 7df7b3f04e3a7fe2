// The values of command-line options: text to typed value. An error says what is wrong with the
// text and, in its hint, what to write; the name of the option is added by the caller.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "cell/spec.h"
#include "sallyport/units.h"

namespace sallyport {

// PATH or PATH:/INSIDE. The last ':' before a '/' divides, so that a PATH may hold other colons;
// one that holds ":/" or ends in ':' needs its INSIDE written out. INSIDE is left empty if it is
// not given.
[[nodiscard]] Result<Grant> parse_grant(std::string_view text, bool write);

// FILE or FILE:NAME, divided at the last ':'. NAME is the last component of FILE if it is not
// given.
[[nodiscard]] Result<InputFile> parse_input_file(std::string_view text);

// KEY=VALUE, with a KEY that a shell could assign to. VALUE may be empty.
[[nodiscard]] Result<std::pair<std::string, std::string>> parse_variable(std::string_view text);

// One label of letters, digits and inner hyphens, at most 63 long.
[[nodiscard]] Result<std::string> parse_hostname(std::string_view text);

// The name of a profile: lower-case letters, digits and inner hyphens. Whether there is one of that
// name is not known here.
[[nodiscard]] Result<std::string> parse_profile_name(std::string_view text);

[[nodiscard]] Result<WriteMode> parse_write_mode(std::string_view text);

// A decimal number of CPUs. Less than 0.01 is below the least quota that the kernel takes.
[[nodiscard]] Result<double> parse_cpus(std::string_view text);

// A whole number between two others.
[[nodiscard]] Result<unsigned> parse_count(std::string_view text, unsigned least, unsigned most);

// A size between two others.
[[nodiscard]] Result<ByteSize> parse_size_between(std::string_view text, ByteSize least,
                                                  ByteSize most);

// A duration of at least a millisecond.
[[nodiscard]] Result<Duration> parse_time_limit(std::string_view text);

// A rate that is not zero, which the kernel would take for "no limit".
[[nodiscard]] Result<Rate> parse_rate_limit(std::string_view text);

}  // namespace sallyport
