// Names for sessions, and the one way in which results go.
#include <gmock/gmock.h>

#include "base/files.h"
#include "cli_fixture.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Keep : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    for (const char* day : {"1", "2", "3"}) {
      ASSERT_TRUE(write_file(path("r.csv"), std::string("name,value,unit\nx,") + day + ",ms\n").ok());
      const auto output = warpmark({"history", "import", path("r.csv"), "--commit", std::string("c") + day, "--started",
                                    std::string("2026-03-0") + day + "T12:00:00Z"});
      ASSERT_EQ(output.exit_code, 0) << output.err;
    }
  }
};

TEST_F(Keep, a_tag_names_a_session_everywhere) {
  EXPECT_THAT(warpmark({"history", "tag", "last", "v1.0"}).out, HasSubstr("is now also 'v1.0'"));
  EXPECT_THAT(warpmark({"history"}).out, HasSubstr("[v1.0]"));
  EXPECT_EQ(warpmark({"report", "v1.0"}).exit_code, 0);
  const auto wrong = warpmark({"history", "tag", "last", "no blanks"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("cannot be a tag"));
  EXPECT_EQ(warpmark({"history", "tag", "--remove", "v1.0"}).exit_code, 0);
  EXPECT_EQ(warpmark({"report", "v1.0"}).exit_code, 2);
  EXPECT_EQ(warpmark({"history", "tag", "last"}).exit_code, 2);
}

TEST_F(Keep, pruning_shows_first_and_deletes_on_yes) {
  ASSERT_EQ(warpmark({"history", "tag", "last", "newest"}).exit_code, 0);
  const auto shown = warpmark({"history", "prune", "--keep", "0"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("2 sessions with 2 results; 1 stays, 1 of them for their tags"));
  EXPECT_THAT(shown.out, HasSubstr("Nothing was deleted"));
  EXPECT_THAT(warpmark({"history"}).out, HasSubstr("@c1"));
  const auto done = warpmark({"history", "prune", "--before", "2026-03-02", "--yes"});
  EXPECT_THAT(done.out, HasSubstr("1 session with 1 result; 2 stay"));
  EXPECT_THAT(done.out, HasSubstr("Deleted."));
  const auto left = warpmark({"history"});
  EXPECT_THAT(left.out, Not(HasSubstr("@c1")));
  EXPECT_THAT(left.out, HasSubstr("@c2"));
  EXPECT_THAT(warpmark({"history", "prune", "--keep", "5", "--yes"}).out, HasSubstr("nothing to delete"));
}

TEST_F(Keep, pruning_must_be_told_what) {
  EXPECT_EQ(warpmark({"history", "prune"}).exit_code, 2);
  EXPECT_EQ(warpmark({"history", "prune", "--keep", "1", "--before", "2026-03-01"}).exit_code, 2);
  EXPECT_EQ(warpmark({"history", "prune", "--keep", "-1"}).exit_code, 2);
  const auto passed_over = warpmark({"history", "show", "last", "--limit", "3"});
  EXPECT_EQ(passed_over.exit_code, 2);
  EXPECT_THAT(passed_over.err, HasSubstr("--limit is for list and series, not for show"));
  EXPECT_EQ(warpmark({"history", "--yes"}).exit_code, 2);
  EXPECT_THAT(warpmark({"history", "list", "--commit", "fff"}).out, HasSubstr("no session of commit fff is stored"));
  EXPECT_THAT(warpmark({"history", "prune", "--before", "spring"}).err, HasSubstr("'spring' is no date"));
}

TEST_F(Keep, a_database_server_that_is_not_there_is_an_environment_error_without_the_password) {
  const auto output = warpmark({"history", "--db", "postgresql://me:hunter2@/x?host=" + path("")});
  EXPECT_EQ(output.exit_code, 5);
  EXPECT_THAT(output.err + output.out, Not(HasSubstr("hunter2")));
  EXPECT_THAT(output.err, HasSubstr("postgresql://me:***@/x"));
}

}  // namespace
}  // namespace warpmark::apps
