#include "fetch/work.h"

#include <algorithm>

#include "base/base64.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/parse.h"
#include "base/text.h"
#include "fetch/exchange.h"
#include "fetch/html_text.h"
#include "fetch/redirect.h"
#include "fetch/reply_text.h"
#include "http/characters.h"

namespace sallyport {
namespace {

constexpr std::string_view kShownHeaders[] = {"content-type",
                                              "content-length",
                                              "content-encoding",
                                              "content-language",
                                              "content-disposition",
                                              "location",
                                              "etag",
                                              "last-modified",
                                              "date",
                                              "cache-control",
                                              "retry-after",
                                              "link",
                                              "allow",
                                              "www-authenticate"};
constexpr std::size_t kLongestShownHeader = 1000;
constexpr std::size_t kShownOfAnError = 1000;

// Answers of the egress process have a status line of their own.
constexpr std::string_view kRefusedLine = "Refused by Sallyport";
constexpr std::string_view kRefusedBody = "Sallyport refused this request: ";

struct Hop {
  unsigned status;
  std::string url;
};

struct Fetched {
  FetchRequest request;  // the last one
  FetchReply reply;
  std::vector<Hop> hops;
};

bool is_encoded(const ResponseHead& head) {
  const std::string_view coding = field_of(head.fields, "content-encoding");
  return !coding.empty() && !equal_ignoring_case(coding, "identity");
}

std::optional<Error> refusal_of(const FetchReply& reply, const Url& url) {
  if (!reply.head.line.ends_with(kRefusedLine) || !reply.body.starts_with(kRefusedBody))
    return std::nullopt;
  std::string_view rest = std::string_view(reply.body).substr(kRefusedBody.size());
  const std::string why = to_utf8(take(rest, '\n'));
  return Error{Reason::permission,
               "Sallyport refused the request to " + quoted(url.to_text()) + ": " + why,
               to_utf8(take(rest, '\n'))};
}

Error at_hop(Error error, const std::vector<Hop>& hops) {
  if (!hops.empty()) error.message = "after a redirect: " + error.message;
  return error;
}

Result<Fetched> fetch_all(const FetchOrder& order, const FetchPlaces& places) {
  const std::int64_t deadline = monotonic_ns() + static_cast<std::int64_t>(std::min<std::uint64_t>(
                                                     order.milliseconds, 86'400'000)) *
                                                     1'000'000;
  auto url = Url::parse(order.url, {.max_length = kLongestFetchUrl});
  if (!url) return std::unexpected(std::move(url.error()));
  FetchRequest request{order.method, std::move(*url), order.headers, order.body};
  std::vector<Hop> hops;
  for (;;) {
    auto connection = FetchConnection::open(request.url, deadline, places, order.allowed);
    if (!connection) return std::unexpected(at_hop(std::move(connection.error()), hops));
    auto reply = exchange(request, *connection, order.most_bytes);
    if (!reply) return std::unexpected(at_hop(std::move(reply.error()), hops));
    if (auto refused = refusal_of(*reply, request.url))
      return std::unexpected(at_hop(std::move(*refused), hops));
    auto next = follow(request, reply->head);
    if (!next) return std::unexpected(std::move(next.error()));
    if (!*next) return Fetched{std::move(request), std::move(*reply), std::move(hops)};
    if (hops.size() >= order.redirects)
      return fail(Reason::unavailable,
                  "the host redirects more than " + std::to_string(order.redirects) + " times",
                  "the last place was " + quoted((*next)->url.to_text()));
    request = std::move(**next);
    hops.push_back({reply->head.status, request.url.to_text()});
  }
}

// --- as a document

json::object shown_headers(const ResponseHead& head) {
  json::object headers;
  for (const std::string_view name : kShownHeaders)
    if (const std::string_view value = field_of(head.fields, name); !value.empty())
      headers[name] = to_utf8(value.substr(0, kLongestShownHeader));
  return headers;
}

// `part` of the body, and as much less of it as the answer has no room for.
class Document {
 public:
  Document(const FetchOrder& order, const Fetched& fetched) : order_(order) {
    const FetchReply& reply = fetched.reply;
    answer_["url"] = fetched.request.url.to_text();
    answer_["status"] = static_cast<std::int64_t>(reply.head.status);
    answer_["headers"] = shown_headers(reply.head);
    answer_["content_type"] = media_type(to_utf8(field_of(reply.head.fields, "content-type")));
    answer_["truncated"] = reply.cut;
    json::array redirects;
    redirects.reserve(fetched.hops.size());
    for (const Hop& hop : fetched.hops)
      redirects.push_back(
          json::object{{"status", static_cast<std::int64_t>(hop.status)}, {"url", hop.url}});
    if (!redirects.empty()) answer_["redirects"] = std::move(redirects);
  }

  Result<std::string> with(const FetchReply& reply) {
    const std::string_view type = field_of(reply.head.fields, "content-type");
    const auto text =
        is_encoded(reply.head) ? std::nullopt : text_of_reply(reply.body, type, reply.cut);
    if (!text)
      return fitted("base64", reply.body, [](std::string_view part) { return to_base64(part); });
    const auto whole = [](std::string_view part) { return std::string(whole_characters(part)); };
    if (!order_.readable || !is_html(type, *text)) return fitted(kPlain, *text, whole);
    HtmlText readable = html_to_text(*text, order_.max_answer);
    if (readable.cut) answer_["truncated"] = true;
    return fitted("text", readable.text, whole);
  }

 private:
  static constexpr std::string_view kPlain = "body";

  static bool is_html(std::string_view content_type, std::string_view text) {
    const std::string type = media_type(to_utf8(content_type));
    if (type == "text/html" || type == "application/xhtml+xml") return true;
    return type.empty() && (text.starts_with("<!DOCTYPE html") || text.starts_with("<html"));
  }

  template <class Write>
  Result<std::string> fitted(std::string_view key, std::string_view bytes, Write write) {
    for (;;) {
      answer_[key] = write(bytes);
      std::string text = canonical_json(answer_);
      if (text.size() <= order_.max_answer) return text;
      if (bytes.empty())
        return fail(Reason::unavailable,
                    "the answer does not fit into " + std::to_string(order_.max_answer) + " bytes",
                    "the policy's max_result is too small for this tool");
      answer_["truncated"] = true;
      // What is escaped, or in base64, takes more than it is.
      bytes = bytes.substr(
          0, std::min(bytes.size() - 1, bytes.size() * order_.max_answer / text.size()));
    }
  }

  const FetchOrder& order_;
  json::object answer_;
};

// --- as the body alone

std::unexpected<Error> failed(const Fetched& fetched) {
  const FetchReply& reply = fetched.reply;
  std::string message = fetched.request.method + " " + fetched.request.url.to_text() +
                        " was answered with the status " + std::to_string(reply.head.status);
  const std::string_view phrase =
      std::string_view(reply.head.line).substr(std::min<std::size_t>(reply.head.line.size(), 13));
  if (!phrase.empty()) message.append(" ").append(to_utf8(phrase.substr(0, 100)));
  const auto text = is_encoded(reply.head)
                        ? std::nullopt
                        : text_of_reply(std::string_view(reply.body).substr(0, kShownOfAnError),
                                        field_of(reply.head.fields, "content-type"), true);
  if (text && !text->empty()) message.append(": ").append(*text);
  return fail(Reason::exit, std::move(message));
}

Result<std::string> body_alone(const FetchOrder& order, Fetched fetched) {
  FetchReply& reply = fetched.reply;
  if (reply.head.status < 200 || reply.head.status > 299) return failed(fetched);
  if (is_encoded(reply.head))
    return fail(Reason::unavailable, "the answer is compressed, although it was asked for as it is",
                "the server is at fault, not the call");
  if (order.form == FetchForm::json && reply.body.empty()) return "null";
  return std::move(reply.body);
}

}  // namespace

Result<std::string> do_fetch_work(const FetchOrder& order, const FetchPlaces& places) {
  auto fetched = fetch_all(order, places);
  if (!fetched) return std::unexpected(std::move(fetched.error()));
  if (order.form != FetchForm::document) return body_alone(order, std::move(*fetched));
  return Document(order, *fetched).with(fetched->reply);
}

}  // namespace sallyport
