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
