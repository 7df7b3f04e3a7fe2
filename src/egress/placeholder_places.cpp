#include "egress/placeholder_places.h"

#include <algorithm>

#include "base/base64.h"
#include "base/parse.h"
#include "base/text.h"
#include "http/characters.h"

namespace sallyport {
namespace {

constexpr std::string_view kHeader = "header:", kQuery = "query:";
// As the documents of services have them, in lower case.
constexpr std::string_view kUsualHeaders[] = {"authorization",
                                              "api-key",
                                              "apikey",
                                              "circle-token",
                                              "dd-api-key",
                                              "dd-application-key",
                                              "job-token",
                                              "ocp-apim-subscription-key",
                                              "private-token",
                                              "x-access-token",
                                              "x-algolia-api-key",
                                              "x-api-key",
                                              "x-api-token",
                                              "x-apikey",
                                              "x-auth-key",
                                              "x-auth-token",
                                              "x-figma-token",
                                              "x-goog-api-key",
                                              "x-honeycomb-team",
                                              "x-n8n-api-key",
                                              "x-postmark-server-token",
                                              "x-rapidapi-key",
                                              "x-shopify-access-token",
                                              "x-subscription-token",
                                              "x-token",
                                              "x-typesense-api-key",
                                              "x-vault-token",
                                              "xi-api-key"};

std::size_t count_of(std::string_view text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos;
       at = text.find(what, at + what.size()))
    ++count;
  return count;
}

bool is_for_header(const std::vector<std::string>& places, std::string_view name) {
  const auto is_it = [&](std::string_view other) { return equal_ignoring_case(other, name); };
  if (places.empty()) return std::ranges::any_of(kUsualHeaders, is_it);
  return std::ranges::any_of(places, [&](std::string_view place) {
    return place.starts_with(kHeader) && is_it(place.substr(kHeader.size()));
  });
}

// One parameter, with the placeholder somewhere in it. Some servers end a parameter at a semicolon,
// and would find another one in it.
bool is_for_parameter(const std::vector<std::string>& places, std::string_view placeholder,
                      std::string_view parameter) {
  const std::string_view name = parameter.substr(0, parameter.find('='));
  return !name.contains(placeholder) && !parameter.contains(';') &&
         std::ranges::any_of(places, [&](std::string_view place) {
           return place.starts_with(kQuery) && place.substr(kQuery.size()) == name;
         });
}

}  // namespace

std::optional<std::string> basic_words(std::string_view value) {
  constexpr std::string_view kBasic = "basic ";
  if (value.size() < kBasic.size() || !equal_ignoring_case(value.substr(0, kBasic.size()), kBasic))
    return std::nullopt;
  return from_base64(value.substr(kBasic.size()));
}

PlaceholderFound find_placeholder(const std::vector<std::string>& places,
                                  std::string_view placeholder, const RequestHead& request,
                                  std::string_view target) {
  PlaceholderFound found;
  const std::size_t mark = std::min(target.find('?'), target.size());
  found.in_path = target.substr(0, mark).contains(placeholder);
  const auto add = [&](std::size_t count, bool allowed, const auto& place) {
    if (count > 0 && !allowed && found.misplaced.empty()) found.misplaced = place();
    found.count += count;
  };
  for (const auto& [name, text] : request.fields) {
    const auto words = basic_words(text);
    add(count_of(text, placeholder) + (words ? count_of(*words, placeholder) : 0),
        is_for_header(places, name), [&] { return "the header " + name.substr(0, 64); });
  }
  std::string_view query = target.substr(std::min(mark + 1, target.size()));
  while (!query.empty()) {
    const std::string_view parameter = take(query, '&');
    add(count_of(parameter, placeholder), is_for_parameter(places, placeholder, parameter), [&] {
      const std::string_view name = parameter.substr(0, parameter.find('='));
      return name.contains(placeholder) ? std::string("the query")
                                        : "the query as " + quoted(name.substr(0, 64));
    });
  }
  return found;
}

}  // namespace sallyport
