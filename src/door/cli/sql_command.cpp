#include "door/cli/sql_command.h"

#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "access/act_as_owner.h"
#include "access/state_directory.h"
#include "base/file.h"
#include "base/text.h"
#include "door/cli/mixed_words.h"
#include "door/cli/problem.h"
#include "door/cli/process.h"
#include "policy/envelope.h"
#include "policy/rules.h"
#include "postgres/connect.h"
#include "postgres/prepare.h"
#include "postgres/role.h"
#include "serve/front_user.h"
#include "tool/database_grants.h"
#include "tool/sql_call.h"

namespace sallyport {
namespace {

constexpr int kDone = 0, kNotHeld = 1;
constexpr std::chrono::seconds kPatience{30};

struct SqlRequest {
  std::string state, policy, via, admin = "postgres";
  bool help = false;
};

template <std::string SqlRequest::* member>
Result<void> take(SqlRequest& request, std::string_view value) {
  request.*member = value;
  return {};
}

constexpr Option<SqlRequest> kOptions[] = {
    {"policy", "FILE", "Options", "The policy with the sql tools.", take<&SqlRequest::policy>},
    {"state", "DIR", "Options",
     "The state directory of the service, which keeps the secret that passwords are made from. "
     "Without it, the private one of the user who asks.",
     take<&SqlRequest::state>},
    {"admin", "ROLE", "Options",
     "Who makes the roles: one that may create roles and grant what the policy allows. For "
     "prepare.",
     take<&SqlRequest::admin>, [](const SqlRequest& request) { return request.admin; }},
    {"via", "ADDRESS", "Options",
     "Where the administrator finds the server, if not where the policy does: "
     "postgres:///NAME for the socket of this machine. For prepare.",
     take<&SqlRequest::via>},
    {"help", "", "Options", "Print this text.",
     [](SqlRequest& request, std::string_view) -> Result<void> {
       request.help = true;
       return {};
     }},
};

std::string help_text() {
  return R"(Usage: sallyport sql prepare --policy FILE [--state DIR] [--admin ROLE] [--via ADDRESS] [TOOL...]
       sallyport sql check --policy FILE [--state DIR] [TOOL...]

What the sql tools of a policy may read of a PostgreSQL database is decided there, by the rights of
a role. `prepare` makes a role for each tool, and one more for each role of the policy that narrows
its tables: it grants what the policy allows and takes everything else away, and refuses if the role
could do more even so. Run it again whenever `tables` change. `check` only looks.

The administrator's password is read from the environment variable PGPASSWORD. Over the socket of
this machine, root logs in as the system's user of the administrator's name (`peer`).

)" + options_help<SqlRequest>(kOptions, SqlRequest{}) +
         R"(
Exit codes
  0     Every role is there, and held to the policy.
  1     One is not; what it could do is said.
  2     The request was wrong.
  125   The server or the state directory cannot be used.
)";
}

int report_role(const Error& error) {
  const int code = report(error);
  return error.reason == Reason::cannot_enforce ? kNotHeld : code;
}

// A role to make, and where.
struct ServerRole {
  std::string tool;
  PostgresAddress address;
  RoleWish wish;  // without its password
};

// One for each role that some caller of the tool has at the server.
Result<std::vector<ServerRole>> list_roles(const Rules& rules,
                                           std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const auto tool = rules.tools.find(name);
    if (tool == rules.tools.end() || !asks_server(tool->second))
      return fail(Reason::argument, quoted(name) + " is no sql tool with a PostgreSQL database",
                  "without names, all of the policy are taken");
  }
  std::map<std::string, ServerRole> roles;
  for (const auto& [name, tool] : rules.tools) {
    if (!asks_server(tool) || (!names.empty() && std::ranges::find(names, name) == names.end()))
      continue;
    const auto address = PostgresAddress::parse(tool.database);
    if (!address) return std::unexpected(address.error());
    for (const auto& [who, caller] : rules.callers) {
      const Envelope envelope = make_envelope(rules, tool, caller);
      ServerRole role{.tool = name, .address = *address, .wish = {}};
      role.wish.role = server_role(*address, tool, envelope);
      allow_tables(envelope, role.wish.allowed);
      const auto [known, is_new] = roles.emplace(
          address->host + "\n" + std::to_string(address->port) + "\n" + role.wish.role, role);
      if (!is_new && known->second.tool != name)
        return fail(Reason::argument,
                    "the tools " + quoted(known->second.tool) + " and " + quoted(name) +
                        " have the same role " + quoted(role.wish.role),
                    "leave the role out of one of the addresses, or name two");
    }
  }
  if (roles.empty())
    return fail(Reason::argument, "no caller of the policy has an sql tool with PostgreSQL",
                "a tool has `database: postgres://HOST/NAME`");
  std::vector<ServerRole> list;
  list.reserve(roles.size());
  for (auto& [key, role] : roles)
    list.push_back(std::move(role));
  return list;
}

// The server asks the kernel who connects to its socket.
Result<Fd> connect_as(const PostgresAddress& address, const std::string& user) {
  std::optional<FrontUser> known;
  if (address.is_socket() && ::geteuid() == 0 && !user.empty())
    known = find_user(read_file("/etc/passwd").value_or(""), user);
  if (known && ::seteuid(known->uid) != 0)
    return fail(Reason::unavailable, SysError{"seteuid", "administrator", errno});
  auto socket = connect_postgres(address, kPatience);
  if (known && ::seteuid(0) != 0)
    return fail(Reason::unavailable, SysError{"seteuid", "root", errno});
  if (!socket) return socket;
  const timeval patience{.tv_sec = kPatience.count(), .tv_usec = 0};
  (void)::setsockopt(socket->get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  return socket;
}

Result<PgConnection> log_in(const PostgresAddress& address, Fd socket, PgLogin login) {
  login.database = address.database;
  login.tls = address.tls;
  login.host = address.host;
  if (address.tls) login.certificates = read_file(address.certificates.c_str()).value_or("");
  return PgConnection::open(std::move(socket), login);
}

void tell(const ServerRole& place, const PreparedRole& role) {
  std::vector<SqlTable> tables;
  tables.reserve(role.rights.tables.size());
  for (const PgTable& table : role.rights.tables)
    tables.push_back({.name = table.schema + "." + table.name, .columns = table.columns});
  std::printf("%s: %s may read %s\n", escape_for_terminal(place.tool).c_str(),
              escape_for_terminal(place.wish.role).c_str(), describe(tables).c_str());
  for (const std::string& name : role.missing)
    say("warning: the policy lists " + quoted(name) + ", and the database does not have it");
}

Result<void> prepare(const SqlRequest& request, const ServerRole& place) {
  auto address = request.via.empty() ? Result<PostgresAddress>(place.address)
                                     : PostgresAddress::parse(request.via);
  if (!address) return std::unexpected(std::move(address.error()));
  if (address->database != place.address.database)
    return fail(Reason::argument,
                "the tool " + quoted(place.tool) + " asks the database " +
                    quoted(place.address.database) + ", and --via names " +
                    quoted(address->database),
                "name its tools beside --via");
  auto socket = connect_as(*address, request.admin);
  if (!socket) return std::unexpected(std::move(socket.error()));
  const char* password = std::getenv("PGPASSWORD");
  auto administrator =
      log_in(*address, std::move(*socket),
             {.user = request.admin, .password = password == nullptr ? "" : password});
  if (!administrator) {
    administrator.error().hint =
        "--admin says who makes the roles; pg_hba.conf of the server says how it knows whom";
    return std::unexpected(std::move(administrator.error()));
  }
  auto prepared = prepare_role(*administrator, place.wish);
  if (!prepared) return std::unexpected(std::move(prepared.error()));
  return {};
}

Result<PreparedRole> check(const ServerRole& place) {
  auto socket = connect_as(place.address, "");
  if (!socket) return std::unexpected(std::move(socket.error()));
  auto role = log_in(place.address, std::move(*socket),
                     {.user = place.wish.role, .password = place.wish.password, .must_ask = true});
  if (!role) return std::unexpected(std::move(role.error()));
  return check_role(*role, place.wish);
}

// Root reads it as the service does.
Result<std::string> read_secret(const std::string& state) {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  const auto directory = open_state_as_owner(state);
  auto secret = directory ? state_secret(directory->get(), kPostgresSecret)
                          : std::unexpected(directory.error());
  if (::seteuid(user) != 0 || ::setegid(group) != 0)
    return fail(Reason::unavailable, SysError{"seteuid", "back", errno});
  return secret;
}

}  // namespace

int sql_command(std::span<const char* const> words) {
  SqlRequest request;
  const auto plain = parse_mixed<SqlRequest>(kOptions, words, request);
  if (!plain) return report(plain.error());
  if (request.help) {
    std::fputs(help_text().c_str(), stdout);
    return kDone;
  }
  const std::string_view verb = plain->empty() ? "" : plain->front();
  if ((verb != "prepare" && verb != "check") || request.policy.empty())
    return report({Reason::argument, "sql takes prepare or check, and --policy FILE",
                   "`sallyport sql --help` says more"});
  const auto policy = load_policy_file(request.policy);
  if (!policy) return kWrongUsage;
  auto roles = list_roles(policy->rules(), std::span(*plain).subspan(1));
  if (!roles) return report(roles.error());
  std::signal(SIGPIPE, SIG_IGN);  // a server that hangs up is an error, not our end
  const auto secret = read_secret(request.state);
  if (!secret) return report(secret.error());
  int worst = kDone;
  for (ServerRole& place : *roles) {
    place.wish.password = postgres_password(*secret, place.address, place.wish.role);
    const auto made = verb == "prepare" ? prepare(request, place) : Result<void>();
    const auto checked = made ? check(place) : std::unexpected(made.error());
    if (checked)
      tell(place, *checked);
    else
      worst = std::max(worst, report_role(checked.error()));
  }
  return worst;
}

}  // namespace sallyport
