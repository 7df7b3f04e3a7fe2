// A state directory for the tests of the log.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "audit/journal.h"
#include "audit/stream_files.h"
#include "base/fd.h"

namespace sallyport {

class JournalFixture : public testing::Test {
 protected:
  JournalFixture() {
    std::string name = std::filesystem::temp_directory_path() / "sallyport-audit-XXXXXX";
    path_ = ::mkdtemp(name.data());
    directory_ = Fd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  ~JournalFixture() override { std::filesystem::remove_all(path_); }

  [[nodiscard]] int state() const { return directory_.get(); }
  [[nodiscard]] std::unique_ptr<Journal> open(AuditOptions options = {}) const {
    auto journal = audit_journal(state(), std::move(options));
    EXPECT_TRUE(journal) << (journal ? "" : journal.error().message);
    return journal ? std::move(*journal) : nullptr;
  }
  [[nodiscard]] std::filesystem::path stream(const std::string& name = "t") const {
    return path_ / "audit" / name;
  }
  [[nodiscard]] std::filesystem::path segment(unsigned number = 1,
                                              const std::string& name = "t") const {
    return stream(name) / segment_name(number);
  }
  static std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const std::filesystem::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  static void poke(const std::filesystem::path& path, std::size_t at, char byte) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }
  static void append(const std::filesystem::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary | std::ios::app) << bytes;
  }
  // All records of a stream but those of the log itself.
  [[nodiscard]] std::vector<json::object> records(const std::string& name = "t",
                                                  bool own = false) const {
    std::vector<json::object> all;
    for (unsigned number = 1; std::filesystem::exists(segment(number, name)); ++number) {
      std::ifstream file(segment(number, name));
      for (std::string line; std::getline(file, line);) {
        auto record = json::parse(line).as_object();
        const auto& kind = record["record"];
        if (own || (kind != "segment" && kind != "rotated" && kind != "stream"))
          all.push_back(std::move(record));
      }
    }
    return all;
  }

  std::filesystem::path path_;
  Fd directory_;
};

// A record as the boundary writes it.
inline json::object test_record(std::string_view kind, const std::string& call_id,
                                std::string_view tenant = "t") {
  json::object record{{"record", kind},
                      {"call_id", call_id},
                      {"tenant", tenant},
                      {"caller", "ann"},
                      {"tool", "hello"}};
  if (kind == "outcome") record["status"] = "success";
  return record;
}

}  // namespace sallyport
