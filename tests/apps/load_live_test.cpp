// The dashboard of a load, drawn from counters.
#include "warpmark/load/load_live.h"

#include <gmock/gmock.h>

#include <memory>

#include "base/text.h"

namespace warpmark::apps {
namespace {

using ::testing::HasSubstr;

TEST(LoadDashboard, shows_progress_rates_percentiles_and_errors_within_its_width) {
  const auto live = std::make_unique<serving::LiveCounters>();
  live->completed = 200;
  live->failed = 3;
  live->in_flight = 8;
  live->output_tokens = 20'000;
  live->faults[static_cast<std::size_t>(serving::Fault::reset)] = 3;
  for (int i = 1; i <= 200; ++i) live->ttft[serving::Histogram::bucket_of(std::int64_t{i} * 1'000'000)] += 1;
  const LoadView view{.load = {.title = "D(100,100), 8 users", .step = 2, .steps = 6, .duration_s = 40},
                      .elapsed_s = 10,
                      .output_rate = {100, 200, 400}};
  for (const int width : {40, 79, 200}) {
    for (const bool unicode : {false, true}) {
      for (const auto& line : dashboard_lines(view, *live, width, unicode)) {
        EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
      }
    }
  }
  std::string text;
  for (const auto& line : dashboard_lines(view, *live, 79, true)) text += line + "\n";
  EXPECT_THAT(text, HasSubstr("load 2 of 6"));
  EXPECT_THAT(text, HasSubstr("10 s of 40 s"));
  EXPECT_THAT(text, HasSubstr("200 done, 3 failed, 8 under way  20/s"));
  EXPECT_THAT(text, HasSubstr("out 2000/s"));
  EXPECT_THAT(text, HasSubstr("reset 3"));
  EXPECT_THAT(text, ::testing::ContainsRegex("TTFT +(99|100|101)\\.[0-9]+ ms"));
  EXPECT_THAT(progress_text(view, *live), HasSubstr("10 s of 40 s  200 done, 3 failed"));
}

TEST(LoadDashboard, waits_for_the_last_answers_after_its_time) {
  const auto live = std::make_unique<serving::LiveCounters>();
  live->in_flight = 3;
  const LoadView view{.load = {.title = "D(100,100), 8 users", .duration_s = 4}, .elapsed_s = 5.2};
  EXPECT_THAT(progress_text(view, *live), ::testing::StartsWith("4 s done, waiting for answers  0 done, 3 under way"));
  EXPECT_THAT(dashboard_lines(view, *live, 79, true)[1], HasSubstr("] 4 s done, waiting for answers"));
}

TEST(LoadDashboard, is_drawn_over_line_by_line) {
  EXPECT_EQ(redraw({"a", "b"}, 0), "a\x1b[K\nb\x1b[K\n");
  EXPECT_EQ(redraw({"c", "d"}, 2), "\x1b[2A\rc\x1b[K\nd\x1b[K\n");
  EXPECT_EQ(redraw({"e"}, 3), "\x1b[3A\re\x1b[K\n\x1b[K\n\x1b[K\n\x1b[2A") << "what is left over is emptied";
  EXPECT_EQ(redraw({}, 0), "");
}

}  // namespace
}  // namespace warpmark::apps
