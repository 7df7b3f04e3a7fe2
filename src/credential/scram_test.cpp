#include "credential/scram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sallyport {
namespace {

// The example of RFC 7677, but for the name, which PostgreSQL leaves empty: so the proofs differ,
// and are those that a second implementation (Python's hashlib) makes.
constexpr const char* kNonce = "rOprNGfwEbeRWgbNEkqO";
constexpr const char* kServerFirst =
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

TEST(Scram, ProvesThePasswordAsAnotherImplementationDoes) {
  ScramClient client("pencil", kNonce);
  EXPECT_EQ(client.first_message(), "n,,n=,r=rOprNGfwEbeRWgbNEkqO");
  const auto proof = client.final_message(kServerFirst);
  ASSERT_TRUE(proof);
  EXPECT_EQ(*proof,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
            "p=qvT2SWdEH5Q06albL+hjSYuUhCG7VndFyzIb7CK4n9k=");
  EXPECT_TRUE(client.check_server("v=3HO6Qt1M4MKJrmlKaoOqLAI0/0TV0HZe7J9H3MBtSOg="));
}

TEST(Scram, TiesTheProofToTheTlsThatItGoesThrough) {
  std::string channel;
  for (int byte = 0xE0; byte <= 0xFF; ++byte)
    channel.push_back(static_cast<char>(byte));
  ScramClient client("pencil", kNonce,
                     {.header = "p=tls-server-end-point,,", .channel = std::move(channel)});
  EXPECT_EQ(client.first_message(), "p=tls-server-end-point,,n=,r=rOprNGfwEbeRWgbNEkqO");
  const auto proof = client.final_message(kServerFirst);
  ASSERT_TRUE(proof);
  EXPECT_EQ(*proof,
            "c=cD10bHMtc2VydmVyLWVuZC1wb2ludCws4OHi4+Tl5ufo6err7O3u7/Dx8vP09fb3+Pn6+/z9/v8=,"
            "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
            "p=yL9w/dxvTVRaim6+nZw8sa+Ax20n8an8wR/3ohcu5jY=");
  EXPECT_TRUE(client.check_server("v=MGaB/7N8JJgvcDJST3HMMYgQIOsE5KIIh/Nbp7uY+0Q="));
}

TEST(Scram, ServesNoServerLongerThanItsCallerMay) {
  EXPECT_FALSE(ScramClient("pencil", kNonce, {}, 4095).final_message(kServerFirst));
  EXPECT_TRUE(ScramClient("pencil", kNonce, {}, 4096).final_message(kServerFirst));
}

TEST(Scram, TakesNoServerThatDoesNotKnowThePassword) {
  ScramClient client("pencil", kNonce);
  EXPECT_FALSE(client.check_server("v="));  // before it has proved anything
  ASSERT_TRUE(client.final_message(kServerFirst));
  for (const char* text : {"", "v=", "v=AAAA", "e=other-error", "v=!!!",
                           "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="})
    EXPECT_FALSE(client.check_server(text)) << text;
}

TEST(Scram, RefusesAServerThatIsWrongOrWantsToKeepUsBusy) {
  for (const char* text :
       {"", "r=", "r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",  // adds nothing
        "r=another%x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "r=rOprNGfwEbeRWgbNEkqOx,s=!,i=4096",
        "r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=0",
        "r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=2000000000",
        "m=x,r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"})
    EXPECT_FALSE(ScramClient("pencil", kNonce).final_message(text)) << text;
}

TEST(Scram, MakesWhatAServerKeeps) {
  EXPECT_EQ(
      scram_verifier("pencil", "0123456789abcdef"),
      "SCRAM-SHA-256$4096:MDEyMzQ1Njc4OWFiY2RlZg==$nQpbZ77WudtqufPwikHXGRt6g2QJ4zns8bZLw273DRM=:"
      "jn2amWP1q1h+jgjy0YTO14S6/F02SV7taipOeB7ef20=");
}

}  // namespace
}  // namespace sallyport
