#include "fetch/html_text.h"

#include <gtest/gtest.h>

#include <ctime>
#include <utility>

#include "base/text.h"

namespace sallyport {
namespace {

std::string text_of(std::string_view html) {
  return html_to_text(html, 1'000'000).text;
}

TEST(HtmlText, KeepsTheWordsAndTheirLines) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"", ""},
      {"plain", "plain"},
      {"  a \n\t b  ", "a b"},
      {"<p>one</p><p>two</p>", "one\n\ntwo"},
      {"a<br>b<br/>c", "a\nb\nc"},
      {"<h1>Title</h1>text", "Title\n\ntext"},
      {"<ul><li>one<li>two</ul>end", "- one\n- two\n\nend"},
      {"<div><div><div>deep</div></div></div>x", "deep\nx"},
      {"see <a href='https://x.y/'>the <b>link</b></a>.", "see the link."},
      {"<tr><td>a</td><td>b</td></tr><tr><td>c</td></tr>", "a b\nc"},
      {"<pre>a\n  b\r\n</pre>c   d", "a\n  b\n\nc d"},
      {"<title>T</title><body>b", "T\n\nb"},
  };
  for (const auto& [html, text] : rows)
    EXPECT_EQ(text_of(html), text) << html;
}

TEST(HtmlText, LeavesOutWhatIsNoText) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"a<script>alert('<p>')</script>b", "ab"},
      {"a<SCRIPT type=x>b</ScRiPt >c", "ac"},
      {"a<script>b</scripty>c</script>d", "ad"},
      {"a<script>never ends", "a"},
      {"a<style>p{}</style>b", "ab"},
      {"a<!-- b --> c<!--> d<!---->e", "a c de"},
      {"a<!-- never ends", "a"},
      {"<!DOCTYPE html><?xml x?>a", "a"},
      {"a<b title=\"x>y\">c", "ac"},
      {"a<b title='never ends>c", "a"},
      {"a<b it's>c", "ac"},
      {"a</ x>b", "ab"},
      {"a<iframe><p>x</iframe>b", "ab"},
  };
  for (const auto& [html, text] : rows)
    EXPECT_EQ(text_of(html), text) << html;
}

TEST(HtmlText, ReadsCharacterReferences) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"&lt;b&gt; &amp;amp;", "<b> &amp;"},
      {"&eacute;&Uuml;&euro;&mdash;", "éÜ€—"},
      {"a&nbsp;&nbsp;b&#160;c&#xa0;d", "a b c d"},
      {"&#65;&#x42;&#X43;&#68", "ABCD"},
      {"&#128512;&#x1F600;", "😀😀"},
      {"&#150;&#x80;", "–€"},
      {"&#0;&#xD800;&#x110000;&#99999999999999999999;", "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"a&#27;[31mb&#127;c", "a [31mb c"},
      {"&unknown; & &; &# &#x; &#; AT&T &ampx", "&unknown; & &; &# &#x; &#; AT&T &ampx"},
      {"so&shy;ft", "soft"},
      {"&", "&"},
  };
  for (const auto& [html, text] : rows)
    EXPECT_EQ(text_of(html), text) << html;
}

TEST(HtmlText, TakesWhatIsNoMarkupForText) {
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"1 < 2 > 1", "1 < 2 > 1"}, {"<", "<"}, {"a <3 b", "a <3 b"}, {"</", "</"}, {"<>", "<>"}};
  for (const auto& [html, text] : rows)
    EXPECT_EQ(text_of(html), text) << html;
}

TEST(HtmlText, IsCutBetweenCharacters) {
  for (std::size_t most = 0; most < 12; ++most) {
    const HtmlText text = html_to_text("<p>é€😀</p>é", most);
    EXPECT_LE(text.text.size(), most);
    EXPECT_TRUE(is_utf8(text.text)) << most;
    EXPECT_TRUE(text.cut);
  }
  EXPECT_FALSE(html_to_text("<p>abc</p>", 3).cut);
  EXPECT_EQ(html_to_text("abcd", 3).text, "abc");
}

// Each of these has made a converter quadratic somewhere.
TEST(HtmlText, TakesLinearTime) {
  const std::clock_t begin = std::clock();  // of this process: a busy machine is not its fault
  for (const std::string_view piece :
       {"<", "<!--", "<!-", "</", "<a ", "<a b='", "<script>", "</script", "&", "&#", "&#1", "<p>",
        "<pre>\n", "<li>", " ", "<script></", "<td> ", "<a =\"\""}) {
    std::string html;
    while (html.size() < 2'000'000)
      html += piece;
    EXPECT_LE(html_to_text(html, html.size()).text.size(), html.size());
  }
  EXPECT_LT(std::clock() - begin, 20 * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace sallyport
