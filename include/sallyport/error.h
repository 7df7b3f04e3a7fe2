// Errors as values: a sentence for a person or a model.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "sallyport/reason.h"

namespace sallyport {

struct Error {
  Reason reason = Reason::internal;
  std::string message;  // what was refused or failed, as a sentence
  std::string hint;     // what would be allowed, or what to do; may be empty
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Reason reason, std::string message, std::string hint = {}) {
  return std::unexpected(Error{reason, std::move(message), std::move(hint)});
}

}  // namespace sallyport
