#include "cell/observe_names.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <random>

#include "cell/observe.h"

namespace sallyport {
namespace {

using std::string_literals::operator""s;

const std::string kExample = "\7example\3com\0"s;

std::string query(const std::string& name, std::uint16_t type = 1,
                  const std::string& flags = "\1\0"s, const std::string& tail = {}) {
  return "\x12\x34" + flags + "\0\1\0\0\0\0\0"s + (tail.empty() ? "\0"s : "\1"s) + name +
         std::string{static_cast<char>(type >> 8), static_cast<char>(type)} + "\0\1"s + tail;
}

TEST(NameQuestion, IsReadInLowerCase) {
  const auto question = parse_name_question(query("\3API\7Example\3com\0"s, 28));
  ASSERT_TRUE(question);
  EXPECT_EQ(question->name, "api.example.com");
  EXPECT_EQ(question->type, 28);
}

TEST(NameQuestion, MayBringOneAdditionalRecord) {
  const std::string options = "\0\0\x29\x10\0\0\0\0\0\0\0"s;
  EXPECT_TRUE(parse_name_question(query(kExample, 1, "\1\0"s, options)));
}

TEST(NameQuestion, IsRefusedWhenItIsAnythingElse) {
  const std::string good = query(kExample);
  ASSERT_TRUE(parse_name_question(good));
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(parse_name_question(good.substr(0, size))) << size;
  EXPECT_FALSE(parse_name_question(good + "x"));                       // more than it says
  EXPECT_FALSE(parse_name_question(query(kExample, 1, "\x81\x80"s)));  // an answer
  EXPECT_FALSE(parse_name_question(query(kExample, 1, "\x28\0"s)));    // an update
  EXPECT_FALSE(parse_name_question(query("\xc0\x0c"s)));               // a pointer to itself
  EXPECT_FALSE(parse_name_question(query("\0"s)));                     // the root
  EXPECT_FALSE(parse_name_question(query("\4a\nb#\0"s)));              // a line end
  EXPECT_FALSE(parse_name_question(query("\3a\0b\0"s)));               // a NUL within
  EXPECT_FALSE(parse_name_question(query("\5\xc3\xa4\xc3\xb6x\0"s)));  // not ASCII
  EXPECT_FALSE(parse_name_question(query("\3a.b\0"s)));                // a dot within a label
  EXPECT_FALSE(parse_name_question(query("\x40"s + std::string(64, 'a') + "\0"s)));
  std::string long_name;
  for (int i = 0; i < 5; ++i)
    long_name.append("\x3f").append(63, 'a');
  EXPECT_FALSE(parse_name_question(query(long_name + "\0"s)));
  EXPECT_FALSE(parse_name_question(std::string(513, '\0')));
}

TEST(NameQuestion, SurvivesAnyBytes) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = query(kExample);
    for (int k = 0; k < 3; ++k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % 64);
    if (const auto question = parse_name_question(bytes)) {
      EXPECT_LE(question->name.size(), 253U);
      EXPECT_LE(answer_to(bytes, *question, {.address = 1}).size(), bytes.size() + 16);
    }
  }
}

TEST(NameAnswer, RepeatsTheQuestionAndGivesTheAddress) {
  const std::string asked = query(kExample);
  const auto question = parse_name_question(asked);
  const std::string answer = answer_to(asked, *question, {.address = 0xc6120001});
  EXPECT_EQ(answer, "\x12\x34\x81\x80\0\1\0\1\0\0\0\0"s + asked.substr(12) +
                        "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\1"s);
}

TEST(NameAnswer, HasNoAddressForAnotherKindOfQuestion) {
  const std::string asked = query(kExample, 28);
  const std::string answer = answer_to(asked, *parse_name_question(asked), {.address = 0xc6120001});
  EXPECT_EQ(answer, "\x12\x34\x81\x80\0\1\0\0\0\0\0\0"s + asked.substr(12));
}

TEST(ObservedNames, AreAnsweredNotedAndBounded) {
  Fd server(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(place);
  ASSERT_EQ(::bind(server.get(), reinterpret_cast<sockaddr*>(&place), size), 0);
  ASSERT_EQ(::getsockname(server.get(), reinterpret_cast<sockaddr*>(&place), &size), 0);
  const Fd client(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&place), size), 0);

  Observation notes;
  const auto ask = [&](const std::string& datagram) {
    EXPECT_EQ(::send(client.get(), datagram.data(), datagram.size(), 0),
              static_cast<ssize_t>(datagram.size()));
    answer_names(server.get(), notes);
    char answer[600];
    const ssize_t got = ::recv(client.get(), answer, sizeof(answer), MSG_DONTWAIT);
    return got < 0 ? std::string() : std::string(answer, static_cast<std::size_t>(got));
  };
  EXPECT_TRUE(ask(query(kExample)).ends_with("\xc6\x12\0\1"s));
  EXPECT_TRUE(ask(query("\5other\0"s)).ends_with("\xc6\x12\0\2"s));
  EXPECT_TRUE(ask(query(kExample)).ends_with("\xc6\x12\0\1"s));
  EXPECT_EQ(ask("rubbish"), "");
  EXPECT_EQ(notes.unreadable, 1U);
  EXPECT_EQ(notes.names.size(), 2U);
  // What is connected to afterwards has its name back.
  notes.note_destination({"198.18.0.2", 8443});
  EXPECT_EQ(notes.names["other"], std::set<std::uint16_t>{8443});
  EXPECT_TRUE(notes.destinations.empty());

  for (int i = 0; i < 2'000; ++i) {
    const std::string label = "host" + std::to_string(1000 + i);
    ask(query("\x08" + label + "\0"s));
  }
  EXPECT_EQ(notes.names.size(), Observation::kMostNames);
  EXPECT_EQ(notes.left_out, 2'002 - Observation::kMostNames);
}

}  // namespace
}  // namespace sallyport
