// A PostgreSQL server of the test's own, in a directory that is gone afterwards.
#pragma once

#include <sys/stat.h>

#include "support/live_process.h"
#include "support/live_service.h"

namespace sallyport::test {

class PostgresServer {
 public:
  // `settings`: further options of the server, such as "-c ssl=on".
  explicit PostgresServer(std::vector<std::string> settings = {}) : port_(free_port()) {
    EXPECT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
    EXPECT_EQ(run({"chown", "postgres", directory_.path()}).exit_code, 0)
        << "there is no user postgres: ./test installs the server";
    const Ran made = run(as_postgres({program("initdb"), "-D", data(), "-U", "postgres", "-A",
                                      "scram-sha-256", "--auth-local=peer", "--no-sync"}));
    EXPECT_EQ(made.exit_code, 0) << made.out << made.err;
    write_file(data() + "/pg_hba.conf",
               "local all postgres peer\nlocal all all scram-sha-256\n"
               "host all all 127.0.0.1/32 scram-sha-256\n");
    settings_ = std::move(settings);
  }
  ~PostgresServer() {
    // A server that is killed leaves its children to find out by themselves.
    if (process_) {
      process_->signal(SIGINT);
      process_->wait();
    }
  }
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  void begin() {
    std::vector<std::string> argv = {program("postgres"),
                                     "-D",
                                     data(),
                                     "-k",
                                     directory_.path(),
                                     "-p",
                                     std::to_string(port_),
                                     "-c",
                                     "listen_addresses=127.0.0.1",
                                     "-c",
                                     "fsync=off",
                                     "-c",
                                     "shared_buffers=16MB",
                                     "-c",
                                     "max_connections=20"};
    argv.insert(argv.end(), settings_.begin(), settings_.end());
    process_.emplace(as_postgres(argv));
    EXPECT_TRUE(eventually([&] { return psql("SELECT 1", "postgres").exit_code == 0; }));
  }

  // As the superuser.
  Ran psql(const std::string& statements, const std::string& database = "shop") const {
    return run(
        as_postgres({"psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h",
                     directory_.path(), "-p", std::to_string(port_), "-U", "postgres", database}),
        {.input = statements});
  }
  void does(const std::string& statements, const std::string& database = "shop") const {
    const Ran ran = psql(statements, database);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
  }

  [[nodiscard]] std::string socket_address() const {
    return "postgres:///shop?host=" + directory_.path() + "&port=" + std::to_string(port_);
  }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string data() const { return directory_ / "data"; }

  static std::vector<std::string> as_postgres(const std::vector<std::string>& argv) {
    std::vector<std::string> words = {"setpriv",        "--reuid=postgres", "--regid=postgres",
                                      "--clear-groups", "--pdeathsig=INT",  "--"};
    words.insert(words.end(), argv.begin(), argv.end());
    return words;
  }

 private:
  static std::string program(const std::string& name) {
    for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql"))
      if (std::filesystem::exists(version.path() / "bin" / name))
        return version.path() / "bin" / name;
    ADD_FAILURE() << "there is no " << name << ": ./test installs it";
    return name;
  }

  TempDir directory_;
  int port_;
  std::vector<std::string> settings_;
  std::optional<LiveProcess> process_;
};

}  // namespace sallyport::test
