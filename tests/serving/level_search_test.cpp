// The search for the highest load that meets its objectives.
#include "serving/results/level_search.h"

#include <gtest/gtest.h>

namespace warpmark::serving {
namespace {

LevelFound search(double limit, LevelSearch options = {}) {
  const auto found = search_level(
      options, [&](double level) { return Result(level <= limit ? LevelVerdict::met : LevelVerdict::missed); });
  EXPECT_TRUE(found.ok());
  return *found;
}

TEST(LevelSearch, finds_the_highest_whole_level) {
  for (const double limit : {1.0, 2.0, 7.0, 13.0, 19.0}) {
    const LevelFound found = search(limit, {.resolution = 0});
    EXPECT_EQ(found.met, limit);
    EXPECT_EQ(found.missed, limit + 1);
    EXPECT_TRUE(found.confirmed);
    EXPECT_LE(found.polls.size(), 14U);
  }
}

TEST(LevelSearch, finds_a_rate_to_its_resolution) {
  const LevelFound found = search(33.3, {.whole = false, .resolution = 0.05});
  EXPECT_LE(found.met, 33.3);
  EXPECT_GT(found.missed, 33.3);
  EXPECT_LE(found.missed / found.met, 1.051);
}

TEST(LevelSearch, takes_an_unreliable_level_for_no_miss) {
  // The client is disturbed once at 4, and always from 32 on.
  int at_four = 0;
  const auto found = search_level({.resolution = 0}, [&](double level) {
    if (level == 4 && at_four++ == 0) return Result(LevelVerdict::unreliable);
    if (level >= 32) return Result(LevelVerdict::unreliable);
    return Result(level <= 100 ? LevelVerdict::met : LevelVerdict::missed);
  });
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->met, 31);
  EXPECT_EQ(found->unreliable, 32);
  const std::string sentence = found->sentence("users");
  EXPECT_NE(sentence.find("met at 31 users; from 32 users on, the client was unreliable"), std::string::npos)
      << sentence;
  EXPECT_EQ(sentence.find("not shown"), std::string::npos) << sentence;
}

TEST(LevelSearch, says_when_none_or_all_are_met) {
  EXPECT_EQ(search(0.5).met, 0);
  EXPECT_NE(search(0.5).sentence("users").find("not met at 1 users"), std::string::npos);
  EXPECT_EQ(search(1e9, {.most = 64}).met, 64);
  EXPECT_EQ(search(1e9, {.most = 64}).missed, 0);
}

TEST(LevelSearch, steps_down_where_the_answer_does_not_hold_the_second_time) {
  int looks_at_four = 0;
  const auto found = search_level({.resolution = 0}, [&](double level) {
    if (level == 4) return Result(++looks_at_four == 1 ? LevelVerdict::met : LevelVerdict::undecided);
    return Result(level < 4 ? LevelVerdict::met : LevelVerdict::missed);
  });
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->met, 2) << "3 was never measured";
  EXPECT_TRUE(found->confirmed);
}

TEST(LevelSearch, ends_when_stopped) {
  const auto found =
      search_level({}, [](double level) { return Result(level < 4 ? LevelVerdict::met : LevelVerdict::stopped); });
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->met, 2);
  EXPECT_FALSE(found->confirmed);
}

}  // namespace
}  // namespace warpmark::serving
