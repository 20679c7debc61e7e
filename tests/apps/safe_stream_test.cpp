#include "warpmark/terminal/standard_output.h"

#include <gtest/gtest.h>

#include <sstream>

namespace warpmark::apps {
namespace {

std::string shown(bool is_terminal, const std::vector<std::string>& pieces) {
  std::ostringstream to;
  {
    SafeBuffer buffer(*to.rdbuf(), is_terminal);
    std::ostream out(&buffer);
    for (const auto& piece : pieces) out << piece << std::flush;
  }
  return to.str();
}

TEST(SafeBuffer, leaves_a_file_no_control_characters) {
  EXPECT_EQ(shown(false, {"note: \x1b]0;title\x07\x1b[31mred\x1b[K\r\n"}), "note: ?]0;title??[31mred?[K?\n");
  EXPECT_EQ(shown(false, {"\xff and \xc2\x9b", "31m"}), "\xef\xbf\xbd and ?31m");
}

TEST(SafeBuffer, leaves_a_terminal_the_sequences_of_progress_alone) {
  EXPECT_EQ(shown(true, {"\r\x1b[2Krun 1\x1b[3A\x1b[J\x1b[1;32m"}), "\r\x1b[2Krun 1\x1b[3A\x1b[J\x1b[1;32m");
  EXPECT_EQ(shown(true, {"\x1b]0;title\x07 \x1b[?1049h \x1b[6n \x1b", "c"}), "?]0;title? ?[?1049h ?[6n ?c");
  EXPECT_EQ(shown(true, {"\x1b", "[", "2", "K"}), "\x1b[2K") << "written in pieces";
  EXPECT_EQ(shown(true, {"\x1b["}), "?[") << "cut at the end";
}

TEST(SafeBuffer, keeps_characters_that_are_written_in_pieces) {
  EXPECT_EQ(shown(false, {"\xe6", "\x97", "\xa5 \xf0\x9f", "\x98\x80"}), "\xe6\x97\xa5 \xf0\x9f\x98\x80");
}

}  // namespace
}  // namespace warpmark::apps
