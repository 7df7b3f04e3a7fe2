#include "input/ip_address.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace sallyport {
namespace {

TEST(IpAddress, RefusesEveryOddForm) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       std::initializer_list<std::string_view>{"",
                                               "0",
                                               "127.1",
                                               "127.0.1",
                                               "2130706433",
                                               "0x7f000001",
                                               "0x7f.0.0.1",
                                               "0177.0.0.1",
                                               "017700000001",
                                               "127.0.0.01",
                                               "127.0.0.1.",
                                               ".127.0.0.1",
                                               "127.0.0.256",
                                               "127.0.0.-1",
                                               "127.0.0.+1",
                                               "127.0.0. 1",
                                               " 127.0.0.1",
                                               "127.0.0.1 ",
                                               "127.0.0.1\0"sv,
                                               "1.2.3.4.5",
                                               "127.0.0.1\n",
                                               "１２７.0.0.1",
                                               "[::1]",
                                               "::1%lo",
                                               "fe80::1%25eth0",
                                               ":::",
                                               "1::2::3",
                                               "::1/64",
                                               "12345::",
                                               "1:2:3:4:5:6:7:8:9",
                                               "::ffff:127.1",
                                               "::ffff:127.0.0.01",
                                               "::1\0"sv,
                                               "g::1",
                                               "0000:0000:0000:0000:0000:0000:0000:0000:0001"})
    EXPECT_FALSE(IpAddress::parse(text)) << text;
}

TEST(IpAddress, ReadsTheOneFormAndWritesItBack) {
  for (const std::string_view text : {"0.0.0.0", "8.8.8.8", "255.255.255.255", "::", "::1",
                                      "2001:db8::1", "2606:4700::1111", "::ffff:1.2.3.4"}) {
    const auto address = IpAddress::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->to_text(), text);
  }
  EXPECT_EQ(IpAddress::parse("2001:0DB8:0:0::0001")->to_text(), "2001:db8::1");
}

TEST(IpAddress, KnowsEveryWayBackIntoTheMachineAndItsNetwork) {
  for (const std::string_view text :
       {// IPv4
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255",
        "100.100.100.200", "127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.169.254",
        "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1",
        "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1",
        "239.255.255.255", "240.0.0.1", "255.255.255.255",
        // IPv6
        "::", "::1", "::2", "::127.0.0.1", "::8.8.8.8", "100::1", "fc00::1", "fd00:ec2::254",
        "fe80::1", "febf::1", "fec0::1", "ff02::1", "2001:db8::1", "3fff::1", "3fff:fff::1",
        "2001:2::1", "2001:10::1", "2001:20::1", "5f00::1", "4000::1",
        // IPv4 within IPv6
        "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:169.254.169.254", "::ffff:10.0.0.1",
        "64:ff9b::a9fe:a9fe", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2002:808:808::1",
        "2001::1", "2001:0:53aa:64c::1", "2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a00:1"}) {
    const auto address = IpAddress::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_TRUE(is_internal(*address)) << text;
  }
}

TEST(IpAddress, TakesTheOpenInternetForWhatItIs) {
  for (const std::string_view text : {"1.1.1.1",         "8.8.8.8",
                                      "9.255.255.255",   "11.0.0.0",
                                      "100.63.255.255",  "100.128.0.0",
                                      "126.255.255.255", "128.0.0.1",
                                      "169.253.255.255", "169.255.0.0",
                                      "172.15.255.255",  "172.32.0.0",
                                      "192.0.1.1",       "192.167.255.255",
                                      "192.169.0.0",     "198.17.255.255",
                                      "198.20.0.0",      "223.255.255.255",
                                      "2606:4700::1111", "2a00:1450:4001::200e",
                                      "2001:200::1",     "2001:4860:4860::8888",
                                      "::ffff:8.8.8.8",  "64:ff9b::808:808"}) {
    const auto address = IpAddress::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_FALSE(is_internal(*address)) << text << ": " << internal_range(*address).value_or("");
  }
}

}  // namespace
}  // namespace sallyport
