#include "base/text.h"

#include <gtest/gtest.h>

namespace warpmark {
namespace {

using Words = std::vector<std::string>;

TEST(CommandLine, is_read_as_the_words_it_was_made_of) {
  for (const Words& words : {Words{"run", "--", "a b", "it's"}, Words{"", "x"}, Words{"a\\b", "\"q\"", "$HOME", "*"}}) {
    const auto again = words_of_line(command_line(words));
    ASSERT_TRUE(again.ok()) << again.error().what;
    EXPECT_EQ(*again, words) << command_line(words);
  }
}

TEST(CommandLine, has_no_passwords_as_it_is_shown_and_stored) {
  EXPECT_EQ(command_line({"curl", "https://me:secret@host/x"}), "curl 'https://me:***@host/x'");
  EXPECT_EQ(command_line({"echo", "--db=postgresql://me@h/d?password=secret"}),
            "echo '--db=postgresql://me@h/d?password=***'");
}

TEST(CommandLine, takes_the_quotes_of_shells) {
  EXPECT_EQ(*words_of_line(R"(a "b c" 'd "e"' f\ g "h\"i" '')"), (Words{"a", "b c", "d \"e\"", "f g", "h\"i", ""}));
  EXPECT_TRUE(words_of_line("  \t ")->empty());
  EXPECT_FALSE(words_of_line("a 'b").ok());
}

}  // namespace
}  // namespace warpmark
