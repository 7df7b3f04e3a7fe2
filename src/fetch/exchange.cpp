#include "fetch/exchange.h"

#include <algorithm>

#include "base/text.h"
#include "fetch/body.h"
#include "http/characters.h"

namespace sallyport {
namespace {

constexpr unsigned kMostInterim = 8;  // 100 Continue and the like, before the answer

std::unexpected<Error> broken(std::string what) {
  return fail(Reason::unavailable, std::move(what), "the server is at fault, not the request");
}

bool has_field(const HeadFields& fields, std::string_view name) {
  return std::ranges::any_of(
      fields, [name](const auto& field) { return equal_ignoring_case(field.first, name); });
}

Result<ResponseHead> read_head(FetchConnection& connection, bool to_head, std::string& bytes) {
  for (unsigned interim = 0; interim <= kMostInterim; ++interim) {
    std::size_t searched = 0;
    auto end = head_end(bytes, searched);
    while (!end) {
      if (bytes.size() > kLongestHead) return broken("the head of the answer is too long");
      const auto more = connection.read(bytes);
      if (!more) return std::unexpected(more.error());
      if (!*more)
        return broken(bytes.empty() ? "the connection was closed without an answer"
                                    : "the answer ends within its head");
      end = head_end(bytes, searched);
    }
    ResponseHead head;
    const auto fault = parse_response_head(std::string_view(bytes).substr(0, *end), to_head, head);
    if (!fault.empty()) return broken("the answer cannot be read: " + std::string(fault));
    bytes.erase(0, *end);
    if (head.status == 101) return broken("the server switches to a protocol nobody asked for");
    if (head.status >= 200) return head;
  }
  return broken("the answer never begins");
}

}  // namespace

std::string request_text(const FetchRequest& request) {
  const Url& url = request.url;
  std::string text = request.method + " " + url.path();
  if (url.query()) text.append("?").append(*url.query());
  text.append(" HTTP/1.1\r\nHost: ").append(url.host_text());
  if (url.port() != (url.scheme() == "https" ? 443 : 80))
    text.append(":").append(std::to_string(url.port()));
  text.append("\r\nConnection: close\r\nAccept-Encoding: identity\r\n");
  if (!has_field(request.headers, "user-agent")) text.append("User-Agent: Sallyport\r\n");
  if (!has_field(request.headers, "accept")) text.append("Accept: */*\r\n");
  for (const auto& [name, value] : request.headers)
    text.append(name).append(": ").append(value).append("\r\n");
  if (request.body || request.method == "POST" || request.method == "PUT" ||
      request.method == "PATCH") {
    const std::string body = request.body.value_or("");
    text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n\r\n");
    return text.append(body);
  }
  return text.append("\r\n");
}

Result<FetchReply> exchange(const FetchRequest& request, FetchConnection& connection,
                            std::uint64_t most) {
  if (auto written = connection.write(request_text(request)); !written)
    return std::unexpected(std::move(written.error()));
  std::string bytes;
  auto head = read_head(connection, request.method == "HEAD", bytes);
  if (!head) return std::unexpected(std::move(head.error()));
  FetchReply reply;
  reply.head = std::move(*head);

  FetchBody body(reply.head.framing, most);
  for (;;) {
    if (!body.add(bytes)) return broken("the chunks of the answer cannot be read");
    if (body.is_whole() || body.is_enough()) break;
    bytes.clear();
    const auto more = connection.read(bytes);
    if (!more) return std::unexpected(more.error());
    if (*more) continue;
    if (body.ends_with_connection()) break;
    return broken("the answer ends before the length that it gives itself");
  }
  reply.cut = body.is_enough();
  reply.body = body.take();
  return reply;
}

}  // namespace sallyport
