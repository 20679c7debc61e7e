#include "warpmark/terminal/progress.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <sstream>
#include <thread>

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

TEST(StepBar, knows_no_time_that_is_left_at_the_end_and_is_silent_where_nobody_watches) {
  for (const bool terminal : {true, false}) {
    std::ostringstream out, err;
    std::atomic<bool> interrupted = false;
    const Context context{.out = out, .err = err, .err_is_terminal = terminal, .interrupted = interrupted};
    StepBar bar(context);
    bar.update(15, 15, "run 15 of 15");
    EXPECT_EQ(err.str().find("budget"), std::string::npos);
    EXPECT_EQ(err.str().empty(), !terminal);
  }
}

TEST(StepBar, leaves_no_more_time_than_the_budget_does) {
  for (const double budget_s : {0.0, 3.0}) {
    std::ostringstream out, err;
    std::atomic<bool> interrupted = false;
    const Context context{.out = out, .err = err, .err_is_terminal = true, .interrupted = interrupted};
    StepBar bar(context, budget_s);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    bar.update(1, 1000, "run 2 of 1000");
    EXPECT_EQ(err.str().find("0:03 left") != std::string::npos, budget_s > 0) << err.str();
  }
}

}  // namespace
}  // namespace warpmark::apps
