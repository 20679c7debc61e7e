
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/lines/line_file.h"

namespace warpmark {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) lines.emplace_back(take_line(text));
  return lines;
}

TEST(TakeLine, ends_with_the_text_whether_or_not_a_line_feed_does) {
  EXPECT_EQ(lines_of("a\n\nb\n"), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of("a\nb"), (Lines{"a", "b"}));
  EXPECT_EQ(lines_of("\n"), (Lines{""}));
  EXPECT_EQ(lines_of(""), Lines{});
}

TEST(EachFilledLine, counts_blank_lines_and_passes_over_them) {
  Lines seen;
  const auto status = each_filled_line("a\n \t\nb", "x.txt", [&](std::string_view line, const std::string& place) {
    seen.push_back(place + ": " + std::string(line));
    return Status{};
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(seen, (Lines{"x.txt line 1: a", "x.txt line 3: b"}));
}

TEST(EachFilledLine, ends_at_the_first_error) {
  int lines = 0;
  const auto status = each_filled_line("a\nb\nc\n", "x.txt", [&](std::string_view, const std::string& place) -> Status {
    if (++lines == 2) return data_error(place);
    return {};
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().what, "x.txt line 2");
  EXPECT_EQ(lines, 2);
}

class LineFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = ScratchFolder::make("lines");
    ASSERT_TRUE(folder.ok()) << folder.error().what;
    folder_ = std::move(*folder);
  }
  [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "lines.jsonl"; }
  [[nodiscard]] LineFile open() const {
    auto file = LineFile::open(path());
    EXPECT_TRUE(file.ok()) << file.error().what;
    return std::move(*file);
  }

 private:
  ScratchFolder folder_;
};

TEST_F(LineFileTest, keeps_what_was_appended_and_drops_a_line_that_was_cut_off) {
  {
    auto file = open();
    EXPECT_TRUE(file.append("one").ok());
    EXPECT_TRUE(file.append("two").ok());
    EXPECT_EQ(file.size(), 8U);
  }
  std::ofstream(path(), std::ios::app) << "thr";
  auto file = open();
  const auto text = file.read();
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "one\ntwo\n");
  EXPECT_TRUE(file.append("three").ok());
  EXPECT_EQ(*read_file(path()), "one\ntwo\nthree\n");
}

TEST_F(LineFileTest, keeps_nothing_of_a_line_that_the_disk_did_not_take_whole) {
  auto file = open();
  EXPECT_TRUE(file.append("one").ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto on_limit = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{8, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto status = file.append("longer than that");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, on_limit);
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(file.append("two").ok());
  EXPECT_EQ(*file.read(), "one\ntwo\n");
}

TEST_F(LineFileTest, forgets_what_follows) {
  auto file = open();
  EXPECT_TRUE(file.append("one").ok());
  const auto end = file.size();
  EXPECT_TRUE(file.append("two").ok());
  EXPECT_TRUE(file.shorten(end).ok());
  EXPECT_TRUE(file.append("three").ok());
  EXPECT_EQ(*read_file(path()), "one\nthree\n");
  EXPECT_EQ(file.size(), 10U);
}

TEST_F(LineFileTest, is_held_by_one_at_a_time) {
  {
    auto file = open();
    EXPECT_TRUE(file.hold());
    auto other = open();
    EXPECT_FALSE(other.hold());
    auto moved = std::move(file);
    EXPECT_FALSE(other.hold()) << "moved with the object";
  }
  EXPECT_TRUE(open().hold());
}

TEST_F(LineFileTest, names_the_file_that_cannot_be_opened) {
  const auto missing = path().parent_path() / "no folder" / "x";
  const auto file = LineFile::open(missing);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().what, "cannot open " + missing.string() + ": No such file or directory");
}

TEST(LineFile, names_the_file_whose_disk_is_full) {
  auto file = LineFile::open("/dev/full");
  ASSERT_TRUE(file.ok()) << file.error().what;
  const auto status = file->append("x");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().what, "cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace warpmark
