// A reader as the egress process has one, and sources for it to read.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "credential/news.h"
#include "reader/reader.h"

namespace sallyport {

inline void put_file(const std::string& path, const std::string& text, mode_t mode = 0600) {
  // As those do it who rotate secrets: whole, by a rename.
  const std::string aside = path + ".new";
  std::ofstream(aside) << text;
  EXPECT_EQ(::chmod(aside.c_str(), mode), 0);
  std::filesystem::rename(aside, path);
}

inline std::string text_in(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Whether it comes true; waits for it as long as a busy machine may take.
inline bool comes_true(const std::function<bool()>& condition) {
  for (int tries = 0; tries < 4000; ++tries) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

class Readers : public testing::Test {
 protected:
  Readers() {
    std::string name = testing::TempDir() + "reader-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    settings_.revoked = directory_ + "/revoked-credentials";
  }
  ~Readers() override {
    end();
    std::filesystem::remove_all(directory_);
  }

  void source(const std::string& name, const std::string& from,
              Duration refresh = std::chrono::hours(1)) {
    settings_.sources.push_back({.name = name, .from = from, .refresh = refresh});
  }
  void start() {
    auto started = start_reader(settings_);
    ASSERT_TRUE(started);
    reader_ = std::move(*started);
  }
  // The process goes with its socket.
  void end() {
    reader_.reset();
    while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
  }
  [[nodiscard]] bool has_news() const {
    pollfd news{.fd = reader_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&news, 1, 0) == 1;
  }
  // The next packet; one without a name: there is none.
  SecretNews next() {
    pollfd news{.fd = reader_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&news, 1, 20'000) != 1) return {};
    auto received = receive_news(reader_.get());
    return received ? std::move(*received) : SecretNews{};
  }
  // Its value, or why there is none.
  std::string next_value() {
    const SecretNews news = next();
    return news.value.empty() ? "(" + news.why + ")" : news.value;
  }
  [[nodiscard]] std::string operator/(const std::string& name) const {
    return directory_ + "/" + name;
  }
  void revoke(const std::string& name) const {
    std::filesystem::create_directory(settings_.revoked);
    std::ofstream(settings_.revoked + "/" + name) << "";
  }
  void restore(const std::string& name) const {
    std::filesystem::remove(settings_.revoked + "/" + name);
  }

  std::string directory_;
  ReaderSettings settings_;
  Fd reader_;
};

}  // namespace sallyport
