// SCRAM-SHA-256 (RFC 5802, RFC 7677), as PostgreSQL speaks it: a password is proved by both sides
// and sent by none.
#pragma once

#include <string>
#include <string_view>

#include "sallyport/error.h"

namespace sallyport {

class ScramClient {
 public:
  // How the proof is tied to the TLS that it goes through, so that nobody in between can use it.
  struct Binding {
    std::string header = "n,,";  // "p=tls-server-end-point,,"; "y,,": the server does not offer it
    std::string channel;         // of "p=": what is known of the server by its TLS
  };
  static constexpr int kMostIterations = 1'000'000;

  // `nonce`: random printable characters without a comma. The password is one of printable ASCII.
  // `most_iterations`: a server that asks for more wants to keep us busy.
  ScramClient(std::string password, std::string nonce)
      : ScramClient(std::move(password), std::move(nonce), Binding()) {}
  ScramClient(std::string password, std::string nonce, Binding binding,
              int most_iterations = kMostIterations);

  [[nodiscard]] std::string first_message() const;
  // The proof, in answer to the server's first message.
  [[nodiscard]] Result<std::string> final_message(std::string_view server_first);
  // Whether the server knows the password too.
  [[nodiscard]] Result<void> check_server(std::string_view server_final) const;

 private:
  std::string password_, nonce_;
  Binding binding_;
  int most_iterations_;
  std::string server_signature_;
};

// What a server keeps of a password (the value of ALTER ROLE … PASSWORD), so that the password
// itself never travels. `salt`: random bytes.
[[nodiscard]] std::string scram_verifier(std::string_view password, std::string_view salt);

}  // namespace sallyport
