#include "warpmark/terminal/progress.h"

#include <gtest/gtest.h>

namespace warpmark::apps {
namespace {

TEST(ProgressLine, tells_the_time_left_and_no_time_where_the_budget_is_used_up) {
  session::Progress progress{.slices_done = 5, .slices = 10, .elapsed_s = 8, .left_s = 61.2, .current = "gemm"};
  EXPECT_EQ(progress_line(progress, 400), "[##########..........]  50 %  1:02 left  gemm");
  progress.left_s = 0;
  EXPECT_EQ(progress_line(progress, 400), "[##########..........]  50 %  budget used up  gemm");
  progress.stage = "starting python3";
  progress.left_known = false;
  EXPECT_EQ(progress_line(progress, 400), "[##########..........]  50 %  0:08 so far  starting python3: gemm");
}

}  // namespace
}  // namespace warpmark::apps
