// `sallyport audit`
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "audit/verify.h"

namespace sallyport {

// What verification found, for people and for programs.
[[nodiscard]] std::string verify_text(const VerifyReport& report);
[[nodiscard]] std::string verify_json(const VerifyReport& report);

// A record in one line, for people.
[[nodiscard]] std::string record_text(const std::string& stream, std::string_view line);

// What the record of a call says of its network, a line for each event; empty: nothing.
[[nodiscard]] std::string network_text(std::string_view line, bool as_json);

// `sallyport egress log`; the exit code of the program.
int egress_log_command(std::span<const char* const> words);

// Returns the exit code of the program.
int audit_command(std::span<const char* const> words);

}  // namespace sallyport
