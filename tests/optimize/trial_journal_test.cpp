#include "optimize/apply/trial_journal.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace warpmark::optimize {
namespace {

class TrialJournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark journal XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = (folder_ / "j.jsonl").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  TrialJournal open(const std::string& request = "r", bool fresh = false) {
    auto journal = TrialJournal::open(path_, request, fresh);
    EXPECT_TRUE(journal.ok()) << journal.error().what;
    return std::move(*journal);
  }
  void write(int answers) {
    auto journal = open();
    for (int i = 0; i < answers; ++i) EXPECT_TRUE(journal.append("q" + std::to_string(i), Json{{"i", i}}).ok());
  }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(TrialJournalTest, answers_what_an_earlier_start_asked) {
  write(3);
  auto journal = open();
  EXPECT_EQ(journal.known(), 3u);
  for (int i = 0; i < 3; ++i) {
    const auto answer = *journal.recall("q" + std::to_string(i));
    ASSERT_TRUE(answer);
    EXPECT_EQ((*answer)["i"], i);
  }
  EXPECT_FALSE(*journal.recall("q3"));
}

TEST_F(TrialJournalTest, forgets_what_follows_another_question) {
  write(3);
  {
    auto journal = open();
    EXPECT_TRUE(*journal.recall("q0"));
    EXPECT_FALSE(*journal.recall("other"));
    EXPECT_TRUE(journal.append("other", Json{{"i", 7}}).ok());
  }
  auto journal = open();
  EXPECT_EQ(journal.known(), 2u);
  EXPECT_TRUE(*journal.recall("q0"));
  EXPECT_EQ((**journal.recall("other"))["i"], 7);
}

TEST_F(TrialJournalTest, drops_a_last_line_that_a_crash_cut_short) {
  write(2);
  std::ofstream(path_, std::ios::app) << R"({"question":"q2","ans)";
  EXPECT_EQ(open().known(), 2u);
  EXPECT_EQ(open().known(), 2u);
}

TEST_F(TrialJournalTest, begins_anew_for_another_request_when_asked_and_when_complete) {
  write(2);
  EXPECT_EQ(open("other").known(), 0u);
  write(2);
  EXPECT_EQ(open("r", true).known(), 0u);
  write(2);
  { EXPECT_TRUE(open().complete().ok()); }
  EXPECT_EQ(open().known(), 0u);
}

TEST_F(TrialJournalTest, begins_anew_where_its_schema_or_request_is_no_text) {
  for (const char* head :
       {R"({"schema":5,"request":"r"})", R"({"schema":"warpmark.optimize-journal/1","request":[]})"}) {
    std::ofstream(path_) << head << "\n"
                         << R"({"question":"q0","answer":{}})"
                         << "\n";
    EXPECT_EQ(open().known(), 0u) << head;
  }
}

TEST_F(TrialJournalTest, is_held_by_one_process_at_a_time) {
  const auto held = open();
  const auto second = TrialJournal::open(path_, "r", false);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind, ErrorKind::environment);
}

}  // namespace
}  // namespace warpmark::optimize
