// PostgreSQL with a credential that the cell does not have: real clients, and a real server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/egress_lab.h"
#include "support/live_service.h"
#include "support/postgres_server.h"

namespace sallyport::test {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Nothing that could be anywhere by chance.
const std::string kSecret = std::string("s3cr3t-of-the-") + "database-8d1f0c";

// Certificates for a server by that name, and the machine's authorities with the one that made
// them.
struct Certificates {
  Certificates(const TempDir& in, const std::string& name) {
    bundle = in / "bundle.pem";
    const Ran made =
        run({"sh", "-c",
             "set -e; cd \"$1\"; ec='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2';"
             "openssl req -x509 $ec -keyout ca.key -out ca.pem -subj '/CN=Test authority' "
             "-addext basicConstraints=critical,CA:TRUE;"
             "openssl req $ec -keyout server.key -out server.csr -subj '/CN=server';"
             "printf \"subjectAltName=DNS:$2\\n\" > server.ext;"
             "openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 "
             "-extfile server.ext -out server.pem;"
             "cat /etc/ssl/certs/ca-certificates.crt ca.pem > bundle.pem; chmod 644 *.pem;"
             "chown postgres server.key; chmod 600 server.key; chmod 755 .",
             "sh", in.path(), name});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    settings = {"-c", "ssl=on",
                "-c", "ssl_cert_file=" + (in / "server.pem"),
                "-c", "ssl_key_file=" + (in / "server.key")};
  }
  std::string bundle;
  std::vector<std::string> settings;
};

class PostgresCredential : public CellTest {
 protected:
  PostgresCredential() : directory_(GetParam()) {}

  void begin(std::vector<std::string> settings = {}) {
    server_.emplace(std::move(settings));
    server_->begin();
    server_->does(
        "CREATE ROLE app LOGIN PASSWORD '" + kSecret + "'; CREATE DATABASE shop OWNER app",
        "postgres");
    write_file(directory_ / "secret", kSecret + "\n", GetParam(), 0600);
    write_file(directory_ / "policy.yaml", policy(), GetParam());
  }

  [[nodiscard]] std::string policy() const {
    const std::string to = "port: " + std::to_string(server_->port()) +
                           ", scheme: postgres, internal: true, address: 127.0.0.1 }]";
    const std::string from = "{ from: \"file:" + (directory_ / "secret") + "\", ";
    const std::string rest =
        "needs: [work], network: { requests: 100 }, limits: { timeout: 100s, memory: 512MiB } }\n";
    return "version: 1\n"
           "roles: { worker: [work] }\n"
           "callers: { agent: { role: worker } }\n"
           "defaults: { rate: 10000/min, output: { redact: [] } }\n"
           "credentials:\n"
           "  db: " +
           from + "env: PGPASSWORD, to: [{ host: db.corp, " + to + " }\n" + "  other: " + from +
           "env: OTHERPASSWORD, to: [{ host: other.corp, " + to + " }\n" + "  silent: " + from +
           "inject: password, to: [{ host: db.corp, " + to + " }\n" +
           "tools:\n"
           "  shell: { use: run_shell, credentials: [db, other], " +
           rest + "  silent: { use: run_shell, credentials: [silent], " + rest +
           "  python: { use: run_python, credentials: [db], " + rest;
  }

  // The words of a call, in which the machine trusts the authorities of `bundle`.
  std::vector<std::string> words(const std::string& tool, const std::string& code,
                                 const std::string& bundle) {
    std::vector<std::string> argv = {"unshare",
                                     "--mount",
                                     "--propagation",
                                     "private",
                                     "sh",
                                     "-c",
                                     "[ -z \"$0\" ] || mount --bind \"$0\" "
                                     "/etc/ssl/certs/ca-certificates.crt; exec \"$@\"",
                                     bundle};
    if (GetParam() == As::user)
      argv.insert(argv.end(), {"setpriv", "--reuid", std::to_string(kUserUid), "--regid",
                               std::to_string(kUserGid), "--clear-groups", "--"});
    argv.insert(argv.end(), {sallyport_path(), "call", tool, "--policy", directory_ / "policy.yaml",
                             "--as", "agent", "--state", directory_ / "state", "--json", "--args",
                             json::serialize(json::object{{"code", code}})});
    return argv;
  }
  json::object call(const std::string& tool, const std::string& code,
                    const std::string& bundle = "") {
    return run(words(tool, code, bundle)).json();
  }
  // What a shell in a cell says, with the settings of libpq in its environment.
  std::string shell(const std::string& code, const std::string& bundle = "",
                    const std::string& tool = "shell") {
    result_ = call(tool, settings() + code, bundle);
    EXPECT_THAT(json::serialize(result_), Not(HasSubstr(kSecret)));
    return text_of(result_, "output");
  }
  [[nodiscard]] std::string settings() const {
    return "exec 2>&1\nexport PGHOST=db.corp PGUSER=app PGDATABASE=shop PGPORT=" +
           std::to_string(server_->port()) + "\n";
  }

  TempDir directory_;
  std::optional<PostgresServer> server_;
  json::object result_;
};

TEST_P(PostgresCredential, PsqlWorksWithAPlaceholderInEveryModeOfTls) {
  begin();
  EXPECT_EQ(shell("for mode in disable allow prefer require verify-ca verify-full; do\n"
                  "PGSSLMODE=$mode psql -AtXc \"SELECT '$mode', current_user\"; done"),
            "disable|app\nallow|app\nprefer|app\nrequire|app\nverify-ca|app\nverify-full|app\n");
  EXPECT_THAT(network_of(result_),
              testing::Each(HasSubstr("connection allowed db.corp:" +
                                      std::to_string(server_->port()) + " at 127.0.0.1")));
  // The cell's authority vouches for the host, and TLS is really there.
  EXPECT_THAT(shell("PGSSLMODE=verify-full psql -Xc '\\conninfo'"), HasSubstr("TLSv1.3"));
  EXPECT_THAT(shell("PGSSLMODE=verify-full PGSSLROOTCERT=/etc/ssl/certs/GTS_Root_R1.pem "
                    "psql -AtXc 'SELECT 1'"),
              Not(HasSubstr("1\n")));
  // More than one piece, both ways.
  EXPECT_EQ(
      shell("psql -AtXc \"CREATE TABLE t(x text)\" -c \"INSERT INTO t SELECT repeat('x', 100) "
            "FROM generate_series(1, 5000)\"; psql -AtXc '\\copy t to /tmp/t'; "
            "psql -AtXc '\\copy t from /tmp/t' -c 'SELECT count(*), sum(length(x)) FROM t'"),
      "CREATE TABLE\nINSERT 0 5000\nCOPY 5000\nCOPY 5000\n10000|1000000\n");
}

TEST_P(PostgresCredential, APasswordThatIsNotThePlaceholderIsRefused) {
  begin();
  EXPECT_THAT(shell("PGPASSWORD=guess psql -Xc 'SELECT 1'"),
              AllOf(HasSubstr("Sallyport refused this connection: the password is not the "
                              "placeholder"),
                    HasSubstr("PGPASSWORD")));
  EXPECT_THAT(network_of(result_), Contains(HasSubstr("refused db.corp")));
  EXPECT_THAT(shell("env -u PGPASSWORD psql -wXc 'SELECT 1'"), HasSubstr("no password supplied"));
  // It is good for its own host, and for no other.
  EXPECT_THAT(shell("PGHOST=other.corp psql -Xc 'SELECT 1'"),
              HasSubstr("the credential db is not for this host"));
  EXPECT_EQ(shell("PGHOST=other.corp PGPASSWORD=$OTHERPASSWORD psql -AtXc 'SELECT 1'"), "1\n");
  // The server knows who may do what: a user that it does not know is its to refuse.
  EXPECT_THAT(shell("PGUSER=nobody psql -Xc 'SELECT 1'"),
              HasSubstr("password authentication failed for user \"nobody\""));
  EXPECT_THAT(shell("PGDATABASE=nowhere psql -Xc 'SELECT 1'"), HasSubstr("does not exist"));
  // Without a placeholder, nobody is asked.
  EXPECT_EQ(shell("echo ${PGPASSWORD-none}; psql -wAtXc 'SELECT current_user'", "", "silent"),
            "none\napp\n");
}

TEST_P(PostgresCredential, StatementsAreCancelled) {
  begin();
  EXPECT_THAT(shell("timeout -s INT 2 psql -Xc 'SELECT pg_sleep(90)'"),
              HasSubstr("canceling statement due to user request"));
  const auto result =
      call("python",
           "import psycopg2, threading\n"
           "c = psycopg2.connect(host='db.corp', port=" +
               std::to_string(server_->port()) +
               ", user='app', dbname='shop', sslmode='verify-full')\n"
               "k = c.cursor()\nk.execute('SELECT current_user')\nprint(k.fetchone()[0], "
               "c.info.ssl_in_use)\n"
               "t = threading.Timer(1, c.cancel); t.start()\n"
               "try:\n  k.execute('SELECT pg_sleep(90)')\n"
               "except psycopg2.errors.QueryCanceled as e: print('cancelled')\n"
               "t.join(); c.rollback(); k.execute('SELECT 7'); print(k.fetchone()[0])\n");
  EXPECT_EQ(text_of(result, "output"), "app True\ncancelled\n7\n") << json::serialize(result);
}

TEST_P(PostgresCredential, AServerWithTlsHasToProveItsName) {
  const TempDir made;
  const Certificates certificates(made, "db.corp");
  begin(certificates.settings);
  EXPECT_EQ(shell("psql -AtXc 'SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()'; "
                  "PGSSLMODE=disable psql -AtXc 'SELECT 1'",
                  certificates.bundle),
            "t|TLSv1.3\n1\n");
  EXPECT_THAT(
      shell("PGHOST=other.corp PGPASSWORD=$OTHERPASSWORD psql -Xc 'SELECT 1'", certificates.bundle),
      HasSubstr("its certificate cannot be trusted: hostname mismatch"));
  EXPECT_THAT(shell("psql -Xc 'SELECT 1'"), HasSubstr("its certificate cannot be trusted"));
  EXPECT_THAT(network_of(result_), Contains(HasSubstr("connection failed db.corp")));
}

// In the lab, every address of the internet is its own.
TEST_P(PostgresCredential, AServerOfTheInternetMustHaveTls) {
  const EgressLab lab;
  write_file(directory_ / "secret", kSecret + "\n", GetParam(), 0600);
  const auto says = [&](const std::string& more) {
    write_file(
        directory_ / "policy.yaml",
        "version: 1\nroles: { worker: [work] }\ncallers: { agent: { role: worker } }\n"
        "credentials:\n  db: { from: \"file:" +
            (directory_ / "secret") +
            "\", env: PGPASSWORD, to: [{ host: db.example.com, port: 5433, scheme: postgres, "
            "address: 93.184.216.34" +
            more +
            " }] }\ntools:\n"
            "  shell: { use: run_shell, needs: [work], credentials: [db] }\n",
        GetParam());
    const Ran ran = lab.outside(
        {"sh", "-c",
         "python3 -c 'import socket\nwith socket.create_server((\"\", 5433)) as s:\n  c = "
         "s.accept()[0]\n  c.recv(8)\n  c.send(b\"N\")\n  c.recv(1000)' & until grep -q ':1539 "
         "00000000:0000 0A' /proc/net/tcp; do sleep 0.05; done; \"$@\"; kill $!",
         "sh", sallyport_path(), "call", "shell", "--policy", directory_ / "policy.yaml", "--as",
         "agent", "--state", directory_ / "state", "--json", "--args",
         json::serialize(json::object{
             {"code", "psql 'host=db.example.com port=5433 user=app' -Xc 'SELECT 1' 2>&1"}})},
        "", GetParam());
    return text_of(ran.json(), "output");
  };
  EXPECT_THAT(says(""), HasSubstr("the server has no TLS, in which it could prove its name"));
  EXPECT_THAT(says(", internal: true"), HasSubstr("does not log in as a PostgreSQL server does"));
}

// A server that lets everybody in has not shown that it knows the password.
TEST_P(PostgresCredential, AServerThatDoesNotAskForAProofIsRefused) {
  begin();
  for (const auto& [way, why] :
       {std::pair("trust", "may be any server"), std::pair("password", "gives it away"),
        std::pair("md5", "gives it away")}) {
    if (std::string(way) == "md5")
      server_->does("SET password_encryption = md5; ALTER ROLE app PASSWORD '" + kSecret + "'");
    write_file(server_->data() + "/pg_hba.conf",
               "local all postgres peer\nhost all all 127.0.0.1/32 " + std::string(way) + "\n");
    server_->does("SELECT pg_reload_conf()");
    EXPECT_TRUE(eventually([&, expected = why] {
      return shell("psql -Xc 'SELECT 1'").find(expected) != std::string::npos;
    })) << way;
  }
}

// Every byte of the processes of the cell.
bool is_in_memory(pid_t pid, const std::string& what) {
  const std::string process = "/proc/" + std::to_string(pid);
  const Fd memory(::open((process + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  std::istringstream maps(read_file(process + "/maps"));
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx r", &from, &to) != 2) continue;
    std::string bytes(std::min<std::uint64_t>(to - from, 256 << 20), '\0');
    const ssize_t size =
        ::pread(memory.get(), bytes.data(), bytes.size(), static_cast<off_t>(from));
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (bytes.find(what) != std::string::npos) return true;
  }
  return false;
}

TEST_P(PostgresCredential, TheSecretIsNowhereInTheCell) {
  begin();
  const std::string word = unique_word();
  const std::string code =
      "import psycopg2, os, sys, time\n"
      "c = psycopg2.connect(host='db.corp', port=" +
      std::to_string(server_->port()) +
      ", user='app', dbname='shop')\nk = c.cursor()\n"
      "k.execute('SELECT rolname, rolpassword FROM pg_roles'); k.fetchall()\n"
      "open('/tmp/" +
      word +
      "', 'w').write(os.environ['PGPASSWORD'])\n"
      "os.execv('/usr/bin/python3', ['python3', '-c', '''\n"
      "import psycopg2, time\n"
      "c = psycopg2.connect(host='db.corp', port=" +
      std::to_string(server_->port()) + ", user='app', dbname='shop')\ntime.sleep(60)''', '" +
      word + "'])\n";
  const LiveProcess running(words("python", code, ""));
  std::vector<pid_t> inside;
  // Of the processes with that word, those of the cell have a number of their own there; the one
  // that is looked at has logged in.
  EXPECT_TRUE(eventually([&] {
    inside.clear();
    for (const pid_t pid : processes_with(word))
      if (status_of(pid, "NSpid").find('\t') != std::string::npos &&
          read_file("/proc/" + std::to_string(pid) + "/cmdline").starts_with("python3"))
        inside.push_back(pid);
    const Ran sessions =
        server_->psql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'app'");
    return !inside.empty() && sessions.out == "1\n";
  }));
  ASSERT_EQ(inside.size(), 1U);
  const pid_t pid = inside.front();
  const std::string placeholder = read_file("/proc/" + std::to_string(pid) + "/root/tmp/" + word);
  EXPECT_GE(placeholder.size(), 36U);
  EXPECT_TRUE(is_in_memory(pid, placeholder));  // the twin: what is there is found
  EXPECT_FALSE(is_in_memory(pid, kSecret));
  EXPECT_THAT(read_file("/proc/" + std::to_string(pid) + "/environ"),
              AllOf(HasSubstr("PGPASSWORD=" + placeholder), Not(HasSubstr(kSecret))));
  const Ran found = run({"grep", "-rlsF", kSecret, "/proc/" + std::to_string(pid) + "/root/tmp",
                         "/proc/" + std::to_string(pid) + "/root/workspace",
                         "/proc/" + std::to_string(pid) + "/root/etc"});
  EXPECT_EQ(found.out, "");
}

TEST_P(PostgresCredential, AServiceLendsItToo) {
  begin();
  LiveService service(policy(), GetParam());
  const std::string code = settings() + "psql -AtXc 'SELECT current_user'";
  const Reply reply =
      service.call("shell", json::serialize(json::object{{"code", code}}), service.key("agent"));
  EXPECT_EQ(reply.text("output"), "app\n") << reply.body << service.log();
  EXPECT_THAT(reply.body + service.log(), Not(HasSubstr(kSecret)));
}

SALLYPORT_FOR_ROOT_AND_USER(PostgresCredential);

}  // namespace
}  // namespace sallyport::test
