#include "cell/java_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"

namespace sallyport {
namespace {

std::string pem(const std::string& der) {
  return "-----BEGIN CERTIFICATE-----\n" + to_base64(der) + "\n-----END CERTIFICATE-----\n";
}

// As the format has it: a kind, a name, a time, a type, and the certificate.
std::string entry(const std::string& name, const std::string& der) {
  return std::string("\0\0\0\2", 4) + std::string("\0\2", 2) + name + std::string(8, '\0') +
         std::string("\0\5X.509", 7) + std::string("\0\0\0", 3) + static_cast<char>(der.size()) +
         der;
}

TEST(JavaStore, HasEveryCertificateAndOneMore) {
  const std::string store =
      begin_java_store("# a comment\n" + pem("first") + pem("second")) + java_entry(pem("own"));
  EXPECT_EQ(store, std::string("\xFE\xED\xFE\xED\0\0\0\2\0\0\0\3", 12) + entry("c1", "first") +
                       entry("c2", "second") + entry("c0", "own") + std::string(20, '\0'));
}

TEST(JavaStore, LeavesOutWhatCannotBeRead) {
  const std::string bad = "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n";
  EXPECT_EQ(begin_java_store(bad + pem("good") + "-----BEGIN CERTIFICATE-----\nYQ"),
            begin_java_store(pem("good")));
  EXPECT_EQ(begin_java_store(""), std::string("\xFE\xED\xFE\xED\0\0\0\2\0\0\0\1", 12));
}

}  // namespace
}  // namespace sallyport
