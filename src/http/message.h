// One HTTP request and one answer, as plain values. What a handler sees has passed the parser and
// every limit on what a client may send.
#pragma once

#include <boost/container/small_vector.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sallyport {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;   // a HEAD comes as GET; the server leaves the body of the answer out
  std::string path;     // UTF-8, percent-decoded, begins with '/', without "." and ".." components
  std::string query;    // behind the '?', as it came
  HttpHeaders headers;  // names in lower case
  std::string body;
  std::string address;             // of the client; empty: it came over a unix socket
  std::string client_certificate;  // common name of a verified one; empty: none
  bool by_operator = false;        // it came over a socket for operators

  // The value of the first header of that name (in lower case); empty: there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

// Names and types are texts of the program; every answer is made with little memory of its own.
struct HttpResponse {
  unsigned status = 200;
  std::string body;
  std::string_view type = "application/json";
  // Beside those that every answer has.
  boost::container::small_vector<std::pair<std::string_view, std::string>, 2> headers = {};
};

// The decoded values of a query "a=1&b=2" in their order, '+' being a space. False: a broken
// escape.
[[nodiscard]] bool parse_query(std::string_view query, HttpHeaders& values);

}  // namespace sallyport
