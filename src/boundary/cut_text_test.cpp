#include "boundary/cut_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "cell/output.h"

namespace sallyport {
namespace {

std::string captured(std::string_view text, std::uint64_t limit) {
  CapturedStream stream({limit});
  stream.append(text);
  return stream.text();
}

TEST(CutText, FindsTheCutOfACapturedStream) {
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += "line " + std::to_string(i) + " \u00FC\u20AC\n";
  for (std::uint64_t limit = 0; limit < 400; ++limit) {
    const CutText cut = CutText::split(captured(text, limit), limit, true);
    ASSERT_TRUE(cut.is_cut()) << limit;
    EXPECT_TRUE(text.starts_with(cut.head)) << limit;
    EXPECT_TRUE(text.ends_with(cut.tail)) << limit;
    EXPECT_EQ(cut.head.size() + cut.tail.size() + cut.left_out, text.size()) << limit;
    EXPECT_EQ(cut.text(), captured(text, limit));
  }
}

TEST(CutText, IsNotFooledByATextThatLooksCut) {
  const std::string text = "abcde\n[... 7 bytes left out ...]\nxyz";
  EXPECT_FALSE(CutText::split(text, 1000, true).is_cut());
  EXPECT_FALSE(CutText::split(text, 10, false).is_cut());
  EXPECT_EQ(CutText::split(text, 10, true).head, "abcde");
}

TEST(CutText, DropsWhatStandsAtTheCut) {
  CutText cut{.head = "0123456789", .tail = "abcdefghij", .left_out = 5};
  cut.drop_edges(4);
  EXPECT_EQ(cut.head, "012345");
  EXPECT_EQ(cut.tail, "efghij");
  EXPECT_EQ(cut.left_out, 13U);
  cut.drop_edges(100);
  EXPECT_EQ(cut.text(), "\n[... 25 bytes left out ...]\n");
  CutText whole{.head = "0123456789"};
  whole.drop_edges(4);
  EXPECT_EQ(whole.text(), "0123456789");
}

TEST(CutText, KeepsCharactersAndMarkersWhole) {
  const std::string text =
      "before [REDACTED_SECRET:aws-access-key] middle \u20AC\u20AC\u20AC [HOME_DIR]/x [no marker "
      "end";
  for (std::uint64_t limit = 0; limit <= text.size(); ++limit) {
    CutText cut{.head = text};
    cut.narrow(limit);
    EXPECT_LE(cut.size(), limit);
    EXPECT_EQ(cut.size() + cut.left_out, text.size());
    EXPECT_TRUE(text.starts_with(cut.head));
    EXPECT_TRUE(text.ends_with(cut.tail));
    EXPECT_TRUE(is_utf8(cut.head)) << limit;
    EXPECT_TRUE(is_utf8(cut.tail)) << limit;
    for (const std::string_view part : {std::string_view(cut.head), std::string_view(cut.tail)})
      for (const std::string_view marker : {"[REDACTED_SECRET:aws-access-key]", "[HOME_DIR]"})
        for (std::size_t size = 2; size < marker.size(); ++size) {
          if (part == std::string_view(cut.head))
            EXPECT_FALSE(part.ends_with(marker.substr(0, size))) << limit << " " << part;
          else
            EXPECT_FALSE(part.starts_with(marker.substr(size))) << limit << " " << part;
        }
  }
}

TEST(CutText, NarrowsWhatWasCutBefore) {
  CutText cut{.head = std::string(100, 'a'), .tail = std::string(100, 'b'), .left_out = 50};
  cut.narrow(20);
  EXPECT_EQ(cut.head, std::string(10, 'a'));
  EXPECT_EQ(cut.tail, std::string(10, 'b'));
  EXPECT_EQ(cut.left_out, 230U);
}

}  // namespace
}  // namespace sallyport
