#include "egress/grants.h"

#include <sys/random.h>

#include <algorithm>
#include <array>

#include "base/base64.h"
#include "base/text.h"
#include "egress/placeholder_places.h"
#include "http/characters.h"
#include "http/target.h"

namespace sallyport {
namespace {

// Whether `path` is `allowed` or lies below it.
bool lies_below(std::string_view path, std::string_view allowed) {
  if (!path.starts_with(allowed)) return false;
  return allowed.ends_with('/') || path.size() == allowed.size() || path[allowed.size()] == '/';
}

// Each of them may become a value of 16 KiB.
constexpr std::size_t kMostPlaceholders = 8;

// How often it was there.
std::size_t replace_all(std::string& text, std::string_view what, std::string_view with) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size()), ++count)
    text.replace(at, what.size(), with);
  return count;
}

// What a header can carry. A value with a line break in it would be a header of its own; spaces at
// its ends are no part of a header, so a host that says it back says something else.
bool fits_a_header(std::string_view value) {
  return without_spaces(value).size() == value.size() && std::ranges::all_of(value, [](char c) {
           return static_cast<unsigned char>(c) >= ' ' && c != 0x7F;
         });
}

std::string in_a_query(std::string_view value) {
  constexpr std::string_view kDigits = "0123456789ABCDEF", kPlain = "-_.~";
  std::string text;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
        kPlain.contains(c))
      text.push_back(c);
    else
      text.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return text;
}

void remove_field(HeadFields& fields, std::string_view name) {
  std::erase_if(fields, [&](const auto& field) { return equal_ignoring_case(field.first, name); });
}

void set_field(HeadFields& fields, std::string_view name, std::string value) {
  remove_field(fields, name);
  fields.emplace_back(name, std::move(value));
}

// Parameters of that name are taken out, and one is put in.
void set_parameter(std::string& target, std::string_view name, std::string_view value) {
  const std::size_t mark = target.find('?');
  std::string query;
  if (mark != std::string::npos) {
    std::string_view rest = std::string_view(target).substr(mark + 1);
    for (;;) {
      const std::size_t end = rest.find('&');
      const std::string_view one = rest.substr(0, end);
      if (one.substr(0, one.find('=')) != name && !one.empty()) query.append(one).append("&");
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
    }
    target.resize(mark);
  }
  target.append("?").append(query).append(name).append("=").append(in_a_query(value));
}

// An answer in another coding, or in parts, could carry a value past the veil.
void ask_for_plain_answer(RequestHead& request) {
  for (const std::string_view name : {"Range", "If-Range", "Sec-WebSocket-Extensions"})
    remove_field(request.fields, name);
  set_field(request.fields, "Accept-Encoding", "identity");
}

// Servers that know one of these do something else than the request line says.
bool says_another_method(const HeadFields& fields) {
  constexpr std::string_view kNames[] = {"x-http-method-override", "x-http-method",
                                         "x-method-override"};
  return std::ranges::any_of(
      kNames, [&](std::string_view name) { return !field_of(fields, name).empty(); });
}

bool says_another_path(const HeadFields& fields) {
  constexpr std::string_view kNames[] = {"x-original-url", "x-rewrite-url"};
  return std::ranges::any_of(
      kNames, [&](std::string_view name) { return !field_of(fields, name).empty(); });
}

}  // namespace

bool is_one_of(const std::vector<std::string>& methods, const std::vector<std::string>& paths,
               const RequestHead& request, std::string_view target) {
  if (!methods.empty() && (std::ranges::find(methods, request.method) == methods.end() ||
                           says_another_method(request.fields)))
    return false;
  if (paths.empty()) return true;
  if (says_another_path(request.fields)) return false;
  // A path with two readings is not one that a rule can be held to.
  HttpTarget parts;
  if (!parse_target(target, parts).empty()) return false;
  return std::ranges::any_of(
      paths, [&](const std::string& allowed) { return lies_below(parts.path, allowed); });
}

Result<std::string> make_placeholder(std::string_view shape) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  std::array<unsigned char, 36> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return fail(Reason::unavailable, SysError{"getrandom", "placeholder", errno});
  std::string text(shape);
  for (const unsigned char byte : bytes)
    text.push_back(kLetters[byte % kLetters.size()]);
  return text;
}

Grants::Grants(const std::vector<EgressGrant>& grants, std::vector<std::string> placeholders,
               const Secrets& secrets, Clock::time_point now)
    : secrets_(secrets) {
  held_.reserve(grants.size());
  placeholders.resize(grants.size());
  for (std::size_t i = 0; i < grants.size(); ++i) {
    const EgressGrant& grant = grants[i];
    Held held{
        .grant = grant,
        .hosts = {},
        .placeholder = std::move(placeholders[i]),
        .until = grant.expires > Duration::zero() ? now + grant.expires : Clock::time_point::max()};
    held.hosts.reserve(grant.to.size());
    for (const EgressGrant::Host& to : grant.to)
      if (auto host = HostPattern::parse(to.host)) held.hosts.push_back(std::move(*host));
    // One that cannot be read is for no host at all.
    if (held.hosts.size() != grant.to.size()) held.hosts.clear();
    remember(held);
    held_.push_back(std::move(held));
  }
}

bool Grants::is_for(const Held& held, const Destination& to) {
  for (std::size_t i = 0; i < held.hosts.size(); ++i) {
    const EgressGrant::Host& host = held.grant.to[i];
    if (held.hosts[i].matches(to.name) && host.port == to.port && host.scheme == to.scheme)
      return true;
  }
  return false;
}

bool Grants::fits(const Held& held, const RequestHead& request, std::string_view target) {
  return is_one_of(held.grant.methods, held.grant.paths, request, target);
}

std::string Grants::lapsed(const Held& held, Clock::time_point now) const {
  const std::string& name = held.grant.credential;
  if (now >= held.until) return "the credential " + name + " was for a shorter time";
  if (held.grant.uses != 0 && held.used >= held.grant.uses)
    return "the call has used the credential " + name + " as often as it may";
  const std::string& value = secrets_.value_of(name);
  if (value.empty()) return "the credential " + name + " cannot be had: " + secrets_.why_not(name);
  if (!fits_a_header(value))
    return "the credential " + name + " has characters that cannot be sent";
  return {};
}

Grants::Applied Grants::swap(Held& held, const Destination& to, RequestHead& request,
                             std::string& target, Clock::time_point now) {
  if (held.placeholder.empty()) return {};
  const std::string& name = held.grant.credential;
  const auto found = find_placeholder(held.grant.places, held.placeholder, request, target);
  if (!found.in_path && found.count == 0) return {};
  std::string why;
  if (!is_for(held, to))
    why = "the credential " + name + " is not for this host";
  else if (found.in_path)
    why = "the credential " + name + " is sent in a header or in the query, not in a path";
  else if (!found.misplaced.empty())
    why = "the credential " + name + " is not sent in " + found.misplaced +
          "; `places` of the policy says where it may stand";
  else if (!fits(held, request, target))
    why = "the credential " + name + " is not for " + request.method + " of this path";
  else if (found.count > kMostPlaceholders)
    why = "the credential " + name + " is in the request too often";
  else
    why = lapsed(held, now);
  if (!why.empty()) return {.credential = name, .fault = std::move(why)};
  const std::string& value = secrets_.value_of(name);
  // It is not in the path.
  replace_all(target, held.placeholder, in_a_query(value));
  for (auto& [field, text] : request.fields) {
    replace_all(text, held.placeholder, value);
    auto words = basic_words(text);
    if (words && replace_all(*words, held.placeholder, value) > 0)
      text = "Basic " + to_base64(*words);
  }
  remember(held);
  ++held.used;
  return {.credential = name};
}

Grants::Applied Grants::inject(Held& held, RequestHead& request, std::string& target,
                               Clock::time_point now) {
  const EgressGrant& grant = held.grant;
  if (auto why = lapsed(held, now); !why.empty())
    return {.credential = grant.credential, .fault = std::move(why)};
  const std::string& value = secrets_.value_of(grant.credential);
  switch (grant.place) {
    case GrantPlace::bearer:
      set_field(request.fields, "Authorization", "Bearer " + value);
      break;
    case GrantPlace::basic:
      set_field(request.fields, "Authorization",
                "Basic " + to_base64(grant.field.empty() ? value : grant.field + ":" + value));
      break;
    case GrantPlace::header:
      set_field(request.fields, grant.field, value);
      break;
    case GrantPlace::query:
      set_parameter(target, grant.field, value);
      break;
    case GrantPlace::placeholder:
    case GrantPlace::password:
      return {};
  }
  remember(held);
  ++held.used;
  return {.credential = grant.credential};
}

Grants::Applied Grants::apply(const Destination& to, RequestHead& request, std::string& target,
                              Clock::time_point now) {
  Applied all;
  const auto add = [&](Applied one) {
    if (!one.fault.empty()) {
      all = std::move(one);
      return false;
    }
    if (!one.credential.empty() && all.credential != one.credential)
      all.credential.append(all.credential.empty() ? "" : ", ").append(one.credential);
    return true;
  };
  // What a request is must be known before anything secret is in it.
  const RequestHead asked{.method = request.method, .target = {}, .fields = request.fields};
  const std::string asked_target = target;
  for (Held& held : held_)
    if (!add(swap(held, to, request, target, now))) return all;
  std::vector<std::string_view> set;  // the first one that is for a place has it
  for (Held& held : held_) {
    const bool injects =
        held.grant.place != GrantPlace::placeholder && held.grant.place != GrantPlace::password;
    if (!injects || !is_for(held, to) || !fits(held, asked, asked_target)) continue;
    const std::string_view place =
        held.grant.place == GrantPlace::bearer || held.grant.place == GrantPlace::basic
            ? std::string_view("Authorization")
            : std::string_view(held.grant.field);
    if (std::ranges::any_of(
            set, [&](std::string_view other) { return equal_ignoring_case(other, place); }))
      continue;
    set.push_back(place);
    if (!add(inject(held, request, target, now))) return all;
  }
  all.must_be_plain =
      std::ranges::any_of(held_, [&](const Held& held) { return is_for(held, to); });
  if (all.must_be_plain) ask_for_plain_answer(request);
  return all;
}

std::string Grants::placeholder_in(std::string_view bytes, std::string& tail) const {
  std::size_t longest = 0;
  for (const Held& held : held_)
    longest = std::max(longest, held.placeholder.size());
  if (longest == 0) return {};
  std::string text = std::move(tail);
  text.append(bytes);
  for (const Held& held : held_)
    if (!held.placeholder.empty() && text.contains(held.placeholder)) return held.grant.credential;
  tail = text.substr(text.size() - std::min(text.size(), longest - 1));
  return {};
}

bool Grants::has_password(const Destination& to) const {
  return std::ranges::any_of(held_, [&](const Held& held) { return is_for(held, to); });
}

std::vector<Grants::Password> Grants::passwords_for(const Destination& to, Clock::time_point now) {
  std::vector<Password> found;
  for (const Held& held : held_) {
    if (!is_for(held, to)) continue;
    Password password{.credential = held.grant.credential,
                      .user = held.grant.field,
                      .value = secrets_.value_of(held.grant.credential),
                      .variable = held.grant.variable,
                      .placeholder = held.placeholder,
                      .needs_placeholder = held.grant.place == GrantPlace::placeholder,
                      .fault = lapsed(held, now)};
    remember(held);
    found.push_back(std::move(password));
  }
  return found;
}

void Grants::count_use(const std::string& credential) {
  for (Held& held : held_)
    if (held.grant.credential == credential) ++held.used;
}

void Grants::remember(const Held& held) {
  const auto add = [&](const std::string& value) {
    if (value.empty() || std::ranges::find(known_, value) != known_.end()) return;
    known_.push_back(value);
    veil_.reset();
  };
  const std::string& value = secrets_.value_of(held.grant.credential);
  add(value);
  // A host reads "user:password" apart.
  const std::size_t colon = value.find(':');
  if (held.grant.place == GrantPlace::basic && held.grant.field.empty() &&
      colon != std::string::npos)
    add(value.substr(colon + 1));
}

std::shared_ptr<const Veil> Grants::veil() {
  for (const Held& held : held_)
    remember(held);
  if (!veil_ && !known_.empty()) veil_ = std::make_shared<const Veil>(known_);
  return veil_;
}

}  // namespace sallyport
