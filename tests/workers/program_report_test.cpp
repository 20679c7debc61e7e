#include "workers/program_report.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_refused.h"

namespace warpmark::workers {
namespace {

TEST(ProgramReport, reads_what_a_program_said) {
  const auto report = parse_report(
      "{\"k\":\"hello\",\"v\":1,\"pid\":7,\"rank\":1,\"python\":\"3.11.2\"}\n"
      "{\"k\":\"torch\",\"version\":\"2.6.0\",\"cuda\":true,\"devices\":[{\"name\":\"H100\",\"memory\":85,\"major\":9}]"
      "}\n"
      "{\"k\":\"loader\",\"where\":\"t.py:3\",\"workers\":2,\"pin_memory\":true}\n"
      "{\"k\":\"module\",\"name\":\"Net\",\"shapes\":[[8,3,16,16]],\"conv\":2}\n"
      "{\"k\":\"steps\",\"first\":0,\"rows\":[[0.5,0.1,0.1,0.1,0.1,8,1],[1.0,0.1,0.1,0.1,0.1,8,1]]}\n"
      "{\"k\":\"loss\",\"values\":[1.5,null]}\n"
      "{\"k\":\"knob\",\"id\":\"compile\",\"in_force\":false,\"said\":\"nothing was compiled\"}\n"
      "{\"k\":\"window\",\"steps\":1,\"seconds\":0.5,\"samples\":8,\"before\":0.5}\n"
      "{\"k\":\"something newer\"}\n"
      "{\"k\":\"end\",\"why\":\"window\",\"marker\":\"optimizer\"}\n",
      "7-0.jsonl");
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_EQ(report->rank, 1);
  EXPECT_EQ(report->gpus.front().major, 9);
  EXPECT_TRUE(report->loaders.front().pin_memory);
  EXPECT_TRUE(report->modules.front().images);
  EXPECT_EQ(report->steps.size(), 2u);
  EXPECT_TRUE(std::isnan(report->losses.back()));
  EXPECT_FALSE(report->knobs.front().in_force);
  EXPECT_EQ(report->window->samples, 8);
  EXPECT_EQ(report->ended, "window");
}

TEST(ProgramReport, forgets_the_steps_before_they_began_again) {
  const auto report = parse_report(
      "{\"k\":\"torch\",\"version\":\"2.6.0\",\"world\":1}\n"
      "{\"k\":\"steps\",\"rows\":[[1,0,0.1,0.1,0,8,1]]}\n"
      "{\"k\":\"world\",\"world\":4}\n"
      "{\"k\":\"restart\"}\n",
      "7-0.jsonl");
  ASSERT_TRUE(report.ok()) << report.error().what;
  EXPECT_TRUE(report->steps.empty());
  EXPECT_EQ(report->world, 4);
}

TEST(ProgramReport, leaves_out_a_last_line_that_a_crash_cut_short) {
  const auto report = parse_report("{\"k\":\"torch\",\"version\":\"2.6\"}\n{\"k\":\"loss\",\"val", "f");
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->torch, "2.6");
}

TEST(ProgramReport, refuses_what_it_cannot_read_and_names_the_line) {
  using testing_support::expect_refused;
  expect_refused(parse_report("{\"k\":\"torch\"}\n", "f"), "f line 1");
  expect_refused(parse_report("{\"k\":\"hello\",\"v\":2}\n", "f"), "version 2");
  expect_refused(parse_report("\nnonsense\n", "f"), "f line 2");
  expect_refused(parse_report("[]\n", "f"), "no JSON object");
  expect_refused(parse_report("{\"k\":\"steps\",\"rows\":[[1,2]]}\n", "f"), "no step");
  expect_refused(parse_report("{\"k\":\"window\",\"steps\":0,\"seconds\":0}\n", "f"), "no time");
}

TEST(ProgramReport, processes_that_made_steps_come_by_rank) {
  std::vector<ProgramReport> reports(3);
  reports[0].rank = 1;
  reports[0].steps.resize(3);
  reports[1].torch = "2.6";
  reports[2].steps.resize(3);
  const auto main = main_processes(reports);
  ASSERT_EQ(main.size(), 2u);
  EXPECT_EQ(main[0], &reports[2]);
  EXPECT_EQ(main[1], &reports[0]);
}

}  // namespace
}  // namespace warpmark::workers
