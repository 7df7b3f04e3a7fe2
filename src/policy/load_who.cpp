// Roles, tenants, callers and the lock-out.
#include <algorithm>

#include "base/text.h"
#include "policy/load.h"

namespace sallyport {
namespace {

constexpr Field<Role> kRole[] = {
    {"permissions", kPermissionsValue,
     "What its callers may do, as VERB:OBJECT; `admin` implies every permission.",
     into<&Role::permissions, read_list<read_permission>>, Presence::required},
    {"rate", kRatesValue, "How often each of its callers may call.",
     into<&Role::rates, read_rates>},
    {"limits", kLimitsValue, "What a call of its callers may spend at most.",
     into<&Role::limits, read_limits>},
    {"tables", R"({"$ref": "#/$defs/tables"})",
     "The tables that its callers may query; without it, those of the tool.",
     into<&Role::tables, read_tables>},
};

constexpr auto read_concurrency = count_between<1, 1'000'000, unsigned>;

constexpr Field<Tenant> kTenant[] = {
    {"rate", kRatesValue, "How often all its callers together may call.",
     into<&Tenant::rates, read_rates>},
    {"concurrency", kCountValue, "How many calls of all its callers may be in flight.",
     into<&Tenant::concurrency, read_concurrency>},
    {"budget", R"({"$ref": "#/$defs/budget"})", "What all its callers may spend in one day (UTC).",
     into<&Tenant::budget, read_budget>},
    {"limits", kLimitsValue, "What one of its calls may spend at most.",
     into<&Tenant::limits, read_limits>},
};

constexpr Field<Caller> kCaller[] = {
    {"tenant", kNameValue, "The tenant that it belongs to; `default` when it is left out.",
     into<&Caller::tenant, read_name>},
    {"role", kNameValue, "The role that gives it its permissions; without one it has none.",
     into<&Caller::role, read_name>},
    {"rate", kRatesValue, "How often it may call.", into<&Caller::rates, read_rates>},
    {"concurrency", kCountValue, "How many of its calls may be in flight.",
     into<&Caller::concurrency, read_concurrency>},
    {"limits", kLimitsValue, "What one of its calls may spend at most.",
     into<&Caller::limits, read_limits>},
};

// "10 denials"
void read_after(const Spot& at, Lockout& lockout) {
  const auto text = read_bare(at, "a number of denials such as '10 denials'");
  if (!text) return;
  const std::size_t digits = std::min(text->find_first_not_of("0123456789"), text->size());
  const std::string_view number = text->substr(0, digits), unit = text->substr(digits);
  std::uint32_t count = 0;
  for (const char c : number)
    count = count > 100'000 ? count : count * 10 + static_cast<std::uint32_t>(c - '0');
  if (number.empty() || number[0] == '0' || count > 100'000 ||
      (unit != " denials" && unit != " denial"))
    return at.refuse(quoted(*text) + " is not a number of denials",
                     "write a number from 1 to 100000 and the word, such as '10 denials'");
  at.means(json::value(count));
  lockout.after = count;
}

void read_by(const Spot& at, Lockout& lockout) {
  constexpr std::string_view kWho[] = {"caller", "address"};
  lockout.by_caller = lockout.by_address = false;
  for_each_item(at, [&](const Spot& item) {
    const auto who = read_choice(item, kWho);
    if (!who) return;
    bool& flag = *who == "caller" ? lockout.by_caller : lockout.by_address;
    if (flag) item.refuse(quoted(*who) + " is listed twice", "list each once");
    flag = true;
  });
  if (at.node().kind == Node::Kind::list && at.node().items.empty())
    at.refuse("the list is empty, and so nobody would ever be locked out",
              "write [caller, address], or leave `lockout` out");
}

constexpr Field<Lockout> kLockout[] = {
    {"after", R"({"type": "string", "pattern": "^[1-9][0-9]* denials?$"})",
     "How many denials lock out, as in `10 denials`.", read_after, Presence::required},
    {"within", kDurationValue, "The time in which they count.",
     into<&Lockout::within, read_duration>, Presence::required},
    {"for", kDurationValue, "How long it is locked out.", into<&Lockout::lasts, read_duration>,
     Presence::required},
    {"by", R"({"type": "array", "items": {"enum": ["caller", "address"]}, "minItems": 1})",
     "Who is counted and locked out; `[caller, address]` when it is left out.", read_by},
};

// A map of names to things of one kind.
template <class Thing>
void read_named(const Spot& at, NameKind kind, std::map<std::string, Thing, std::less<>>& into_map,
                void (*read)(const Spot&, Thing&)) {
  for_each_entry(at, [&](const Node& key, const Spot& value) {
    if (!check_key(value, key, kind)) return;
    Thing thing;
    thing.name = key.text;
    thing.place = key.place;
    read(value, thing);
    into_map.emplace(key.text, std::move(thing));
  });
}

}  // namespace

void read_roles(const Spot& at, Rules& rules) {
  read_named<Role>(at, NameKind::plain, rules.roles, [](const Spot& value, Role& role) {
    if (value.node().kind == Node::Kind::scalar)
      return value.refuse("a list of permissions is wanted here, and this is a single value",
                          "write [" + escape_for_terminal(value.node().text.substr(0, 40)) + "]");
    if (value.node().kind == Node::Kind::map) {
      read_section<Role>(value, kRole, role);
      return;
    }
    if (auto permissions = read_list<read_permission>(value)) {
      json::array names;
      for (const std::string& name : *permissions)
        names.emplace_back(name);
      value.means(json::object{{"permissions", std::move(names)}});  // as in the long form
      role.permissions = std::move(*permissions);
    }
  });
}

void read_tenants(const Spot& at, Rules& rules) {
  read_named<Tenant>(at, NameKind::plain, rules.tenants, [](const Spot& value, Tenant& tenant) {
    read_section<Tenant>(value, kTenant, tenant);
  });
}

void read_callers(const Spot& at, Rules& rules) {
  read_named<Caller>(at, NameKind::caller, rules.callers, [](const Spot& value, Caller& caller) {
    read_section<Caller>(value, kCaller, caller);
    if (caller.tenant.empty()) caller.tenant = "default";
  });
}

void read_lockout(const Spot& at, Rules& rules) {
  Lockout lockout;
  if (read_section<Lockout>(at, kLockout, lockout)) rules.lockout = lockout;
}

SectionText role_section() {
  return {"role", "Permissions, and what narrows the calls of those who have the role.",
          texts_of<Role>(kRole), kPermissionsValue};
}
SectionText tenant_section() {
  return {"tenant", "Callers that share rates and a budget.", texts_of<Tenant>(kTenant)};
}
SectionText caller_section() {
  return {"caller", "Somebody who may call. Its key is never in the file.",
          texts_of<Caller>(kCaller)};
}
SectionText lockout_section() {
  return {"lockout", "Who is refused too often is refused everything for a time.",
          texts_of<Lockout>(kLockout)};
}

}  // namespace sallyport
