#include "base/untrusted/input.h"

#include <gtest/gtest.h>

namespace warpmark {
namespace {

TEST(ValidUtf8, replaces_what_is_none_byte_by_byte) {
  EXPECT_EQ(valid_utf8("a \xc2\xb5 \xe6\x97\xa5 \xf0\x9f\x98\x80"), "a \xc2\xb5 \xe6\x97\xa5 \xf0\x9f\x98\x80");
  EXPECT_EQ(valid_utf8("\xff|\xc2"), "\xef\xbf\xbd|\xef\xbf\xbd");
  EXPECT_EQ(valid_utf8("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd") << "overlong";
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd") << "a surrogate";
}

TEST(ShownText, has_nothing_that_obeys_or_turns_around) {
  EXPECT_EQ(shown_text("a\x1b[31m\x7f\r", "?"), "a?[31m??");
  EXPECT_EQ(shown_text("\u009b2J|\u0085|\u00a0", "?"), "?2J|?|\u00a0") << "controls in two bytes";
  EXPECT_EQ(shown_text("a\u202eb\u2066c\u200f\u061c\u2028", "?"), "a?b?c???");
  EXPECT_EQ(shown_text("one\ttwo\n日 ±1 👍🏽\u200d"), "one\ttwo\n日 ±1 👍🏽\u200d")
      << "joiners are parts of emoji";
  EXPECT_EQ(shown_text("\x1b\xff", "?"), "?\uFFFD") << "what is no UTF-8 is known as such";
}

TEST(HideSecret, changes_no_word_that_has_nothing_to_do_with_it) {
  EXPECT_EQ(hide_secret("password authentication failed for 'a', a=a", "a"),
            "password authentication failed for '***', ***=***");
  EXPECT_EQ(hide_secret("sent pw1", "pw"), "sent pw1");
  EXPECT_EQ(hide_secret("Bearer x0123456789abcdefx", "0123456789abcdef"), "Bearer x***x")
      << "a long one is nowhere else";
  EXPECT_EQ(hide_secret("nothing", ""), "nothing");
}

}  // namespace
}  // namespace warpmark
