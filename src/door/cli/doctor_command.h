// `sallyport doctor`
#pragma once

#include <span>
#include <string>

#include "base/error.h"
#include "cell/doctor.h"

namespace sallyport {

struct DoctorRequest {
  bool json = false;
  bool help = false;
};

// Reads the words behind "doctor".
[[nodiscard]] Result<DoctorRequest> parse_doctor(std::span<const char* const> words);

// What `sallyport doctor --help` prints.
[[nodiscard]] std::string doctor_help_text();

// 0, 1 or 2, as --help says.
[[nodiscard]] int exit_code_of(const Diagnosis& diagnosis);

// The diagnosis for people, and for programs.
[[nodiscard]] std::string diagnosis_text(const Diagnosis& diagnosis);
[[nodiscard]] std::string diagnosis_json(const Diagnosis& diagnosis);

// Returns the exit code of the program.
int doctor_command(std::span<const char* const> words);

}  // namespace sallyport
