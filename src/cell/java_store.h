// Certificates in the form that Java reads: its programs look at no PEM file and at no variable of
// OpenSSL's. The format (JKS) is that of a key store without keys.
#pragma once

#include <string>
#include <string_view>

namespace sallyport {

// A store of all certificates of a PEM text that can be read, and of one more, which java_entry()
// appends to it.
[[nodiscard]] std::string begin_java_store(std::string_view pem);

// The first certificate of `pem`, and the end of the store.
[[nodiscard]] std::string java_entry(std::string_view pem);

}  // namespace sallyport
