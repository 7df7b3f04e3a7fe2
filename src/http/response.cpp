#include "http/response.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "http/characters.h"

namespace sallyport {
namespace {

struct StatusText {
  unsigned status;
  std::string_view line;
};

constexpr StatusText kStatuses[] = {
    {200, "HTTP/1.1 200 OK\r\n"},
    {201, "HTTP/1.1 201 Created\r\n"},
    {202, "HTTP/1.1 202 Accepted\r\n"},
    {204, "HTTP/1.1 204 No Content\r\n"},
    {304, "HTTP/1.1 304 Not Modified\r\n"},
    {400, "HTTP/1.1 400 Bad Request\r\n"},
    {401, "HTTP/1.1 401 Unauthorized\r\n"},
    {403, "HTTP/1.1 403 Forbidden\r\n"},
    {404, "HTTP/1.1 404 Not Found\r\n"},
    {405, "HTTP/1.1 405 Method Not Allowed\r\n"},
    {406, "HTTP/1.1 406 Not Acceptable\r\n"},
    {408, "HTTP/1.1 408 Request Timeout\r\n"},
    {409, "HTTP/1.1 409 Conflict\r\n"},
    {410, "HTTP/1.1 410 Gone\r\n"},
    {411, "HTTP/1.1 411 Length Required\r\n"},
    {413, "HTTP/1.1 413 Content Too Large\r\n"},
    {414, "HTTP/1.1 414 URI Too Long\r\n"},
    {415, "HTTP/1.1 415 Unsupported Media Type\r\n"},
    {416, "HTTP/1.1 416 Range Not Satisfiable\r\n"},
    {417, "HTTP/1.1 417 Expectation Failed\r\n"},
    {421, "HTTP/1.1 421 Misdirected Request\r\n"},
    {422, "HTTP/1.1 422 Unprocessable Content\r\n"},
    {429, "HTTP/1.1 429 Too Many Requests\r\n"},
    {431, "HTTP/1.1 431 Request Header Fields Too Large\r\n"},
    {500, "HTTP/1.1 500 Internal Server Error\r\n"},
    {501, "HTTP/1.1 501 Not Implemented\r\n"},
    {503, "HTTP/1.1 503 Service Unavailable\r\n"},
    {505, "HTTP/1.1 505 HTTP Version Not Supported\r\n"},
};

constexpr std::string_view kOurs[] = {
    "cache-control", "connection",        "content-length",         "content-type",
    "date",          "transfer-encoding", "x-content-type-options",
};

void append_number(std::string& out, std::size_t number, int base = 10) {
  std::array<char, 20> digits{};
  const auto [end, error] =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, base);
  out.append(digits.data(), end);
}

void append_status(std::string& out, unsigned status) {
  for (const StatusText& row : kStatuses)
    if (row.status == status) return void(out += row.line);
  out += "HTTP/1.1 ";
  append_number(out, status);
  out += " \r\n";
}

bool may_be_written(std::string_view name, std::string_view value) {
  return !name.empty() && std::ranges::all_of(name, is_token_char) &&
         std::ranges::all_of(value, is_value_char) &&
         std::ranges::none_of(
             kOurs, [&](std::string_view ours) { return equal_ignoring_case(ours, name); });
}

}  // namespace

void append_head(std::string& out, const HttpResponse& response, BodyForm form, bool close,
                 std::string_view date) {
  const unsigned status = response.status >= 200 && response.status <= 599 ? response.status : 500;
  append_status(out, status);
  if (has_body(status)) {
    if (!response.type.empty() && std::ranges::all_of(response.type, is_value_char))
      out.append("Content-Type: ").append(response.type).append("\r\n");
    if (form == BodyForm::length) {
      out += "Content-Length: ";
      append_number(out, response.body.size());
      out += "\r\n";
    } else {
      out += "Transfer-Encoding: chunked\r\n";
    }
  }
  if (!date.empty()) out.append("Date: ").append(date).append("\r\n");
  out += "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n";
  for (const auto& [name, value] : response.headers)
    if (may_be_written(name, value)) out.append(name).append(": ").append(value).append("\r\n");
  if (close) out += "Connection: close\r\n";
  out += "\r\n";
}

void append_chunk(std::string& out, std::string_view piece) {
  if (piece.empty()) return;
  append_number(out, piece.size(), 16);
  out.append("\r\n").append(piece).append("\r\n");
}

std::string http_date(std::time_t time) {
  static constexpr std::array kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 64> text{};
  const int size = std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                                 kDays[static_cast<unsigned>(parts.tm_wday) % 7], parts.tm_mday,
                                 kMonths[static_cast<unsigned>(parts.tm_mon) % 12],
                                 parts.tm_year + 1900, parts.tm_hour, parts.tm_min, parts.tm_sec);
  return {text.data(), static_cast<std::size_t>(std::max(size, 0))};
}

}  // namespace sallyport
