// What is printed of an analysis: on a bad day, on a healthy one, and with hostile names.
#include "report/build/analysis_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <variant>

#include <algorithm>

#include "base/text.h"
#include "report/build/analysis_table.h"
#include "report/formats/html.h"
#include "report/formats/markdown.h"
#include "report/formats/text.h"
#include "report/well_formed.h"
#include "support/golden.h"

namespace warpmark::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::expect_golden;

std::string headline_of(const ProfileDifference& difference) {
  return std::get<Paragraph>(build_diff_report(difference, 20).sections.front().blocks.front()).text;
}

AnalysisTable parts_table() {
  return {"diff_breakdown",
          "Breakdown",
          "",
          {{"name", "Name", ""},
           {"change", "Change", ""},
           {"a", "Before", "s"},
           {"b", "After", "s"},
           {"d", "Difference", "s"}},
          {{"idle_profiler", "slower", 0.0, 0.03, 0.03}, {"idle_data_loading", "slower", 0.001, 0.011, 0.010}}};
}

TEST(DiffReport, begins_with_how_much_faster_and_what_changed_most) {
  StepDifference step{.before_s = 0.010, .after_s = 0.020, .steps_before = 1, .steps_after = 1, .ratio = 2};
  EXPECT_EQ(headline_of({step, {parts_table()}}),
            "The step is 2.00x slower (no interval: one step each): 10.00 ms per step before, 20.00 ms after. "
            "Largest change: GPU idle: data loading, 10.00 ms more per step.");
  step.interval = Interval{1.9, 2.1, 0.95};
  EXPECT_THAT(headline_of({step, {}}), HasSubstr("The step is 2.00x slower (95 % CI 1.90x-2.10x)"));
  step.interval = Interval{0.9, 2.1, 0.95};
  auto same = step;
  same.ratio = 1.003;
  same.interval = {1.002, 1.004, 0.95};
  EXPECT_THAT(headline_of({same, {}}), HasSubstr("The step takes the same time (95 % CI 1.00x-1.00x)"));
  EXPECT_THAT(headline_of({step, {}}), HasSubstr("No difference shown: 2.00x slower (95 % CI 0.90x-2.10x)"));
  step = {.before_s = 2, .after_s = 1, .steps_before = 9, .steps_after = 2, .ratio = 0.5};
  EXPECT_THAT(headline_of({step, {}}), HasSubstr("2.00x faster (no interval: 9 and 2 steps, at least 3 of each"));
  step.interval = Interval{0.4, 0.625, 0.95};
  EXPECT_THAT(headline_of({step, {}}), HasSubstr("2.00x faster (95 % CI 1.60x-2.50x)"));
  EXPECT_THAT(headline_of({}), HasSubstr("No step to compare"));
}

TEST(DiffReport, names_parts_in_words) {
  const auto text = render_text(build_diff_report({{}, {parts_table()}}, 20), {.width = 100});
  EXPECT_THAT(text, HasSubstr("GPU idle: profiler overhead"));
  EXPECT_THAT(text, Not(HasSubstr("idle_")));
}

Finding slow_loading() {
  Finding finding;
  finding.rule = "data_loading";
  finding.kind = "data_loading";
  finding.severity = 0.93;
  finding.title = "The GPU waits 60.1 ms a step (60.1 %) for input data";
  finding.lost_ns = 60'100'000;
  finding.evidence = {{"GPU idle while the host loads data, per step: 60.1 ms", "idle_data_loading", 0.0601, "s"},
                      {"Step: 100.0 ms", "step", 0.1, "s"}};
  finding.events = {{0, 7, "enumerate(DataLoader)#__next__", 12'000'000, 61'000'000}};
  finding.recommendations = {
      {AdviceKind::code, "Load batches in worker processes.", "DataLoader(dataset,\n           num_workers=12)"},
      {AdviceKind::measure, "See what limits the loading.", ""}};
  finding.gain = {1.8, 2.6, "replay of the recorded steps without the cause"};
  return finding;
}

Analysis two_ranks() {
  Analysis analysis;
  analysis.sources = {"a/rank0.json.gz", "a/rank1.json.gz"};
  analysis.rank_count = 2;
  analysis.gpus = {"NVIDIA H100", "NVIDIA H100"};
  analysis.steps_found_by = "ProfilerStep annotations";
  analysis.median_step_ns = 100'000'000;
  analysis.breakdown = {{"gemm", "compute", 30'000'000, 0.3},
                        {"elementwise", "compute", 9'950'000, 0.0995},
                        {"softmax", "compute", 50'000, 0.0005},
                        {"exposed_communication", "communication", 10'000'000, 0.1},
                        {"idle_data_loading", "idle", 50'000'000, 0.5}};
  for (int rank = 0; rank < 2; ++rank) {
    analysis.ranks.push_back(
        {rank, "NVIDIA H100", {{0, 100'000'000}, {100'000'000, 200'000'000}}, 100'000'000, analysis.breakdown});
  }
  Finding small;
  small.rule = "optimizer";
  small.kind = "launch_overhead";
  small.severity = 0.05;
  small.title = "The optimizer launches 812 kernels a step";
  small.lost_ns = 2'500'000;
  small.gain = {1.0, 1.03, "launches fused"};
  analysis.findings = {slow_loading(), small};
  analysis.verdict = "the GPU waits for input data: fixing it makes the step 1.8 to 2.6 times faster";
  analysis.combined = {1.9, 2.7, "replay without all causes"};
  analysis.tables = {
      {"kernels",
       "Kernels",
       "Time on the GPU, summed.",
       {{"name", "kernel", ""}, {"count", "count", ""}, {"time", "time", "s"}, {"share", "share", "ratio"}},
       {{"sm90_gemm", std::int64_t{1200}, 0.03, 0.3}, {"add", std::int64_t{44}, 1e-5, 0.001}}}};
  analysis.missing = {{"Python stacks", "Python stacks: the line of code that waits", "profile(with_stack=True)"}};
  analysis.quality = {{"truncated", "the file ends within an event: what stands before it was read", 1, "offset 812"}};
  return analysis;
}

TEST(AnalysisReport, reads_as_the_golden_file_says) {
  const auto report = build_analysis_report(two_ranks(), {.top = 1});
  const auto text = render_text(report, {.width = 80, .unicode = true, .details = true});
  expect_golden("report/golden/analysis.txt", text);
  expect_golden("report/golden/analysis.md", render_markdown(report));
  for (const auto& line : split(text, '\n')) EXPECT_LE(display_width(line), 80U) << line;
}

TEST(AnalysisReport, says_of_a_healthy_profile_that_it_is) {
  auto analysis = two_ranks();
  analysis.findings.clear();
  analysis.combined = {};
  analysis.verdict = "nothing worth fixing above 3 %";
  const auto text = render_text(build_analysis_report(analysis), {.width = 80});
  EXPECT_THAT(text, HasSubstr("Nothing worth fixing above 3 %"));
  EXPECT_THAT(text, Not(HasSubstr("All fixes together")));
}

std::string shown(const Analysis& analysis) {
  return render_text(build_analysis_report(analysis), {.width = 80, .unicode = true});
}

TEST(AnalysisReport, tells_of_all_fixes_where_there_is_more_than_one) {
  auto analysis = two_ranks();
  EXPECT_THAT(shown(analysis), HasSubstr("All fixes together: 1.90x-2.7x."));
  analysis.findings.front().gain.per_sample = true;
  analysis.findings.push_back(analysis.findings.back());
  EXPECT_THAT(shown(analysis), HasSubstr("All fixes together, at the same batch size: 1.90x-2.7x."));
  analysis.findings.pop_back();
  EXPECT_THAT(shown(analysis), Not(HasSubstr("All fixes")));  // of the step there is one
  analysis = two_ranks();
  analysis.combined = analysis.findings.front().gain;
  EXPECT_THAT(shown(analysis), Not(HasSubstr("All fixes")));  // no more than the first
}

TEST(AnalysisReport, sums_up_small_parts_unless_they_are_all_of_a_group) {
  auto analysis = two_ranks();
  analysis.breakdown.push_back({"exposed_copy_to_host", "copy", 10'000, 0.0001});
  analysis.breakdown.push_back({"memset", "copy", 10'000, 0.0001});
  const std::string text = shown(analysis);
  const auto copies = text.find("copies, exposed");
  ASSERT_NE(copies, std::string::npos);
  EXPECT_EQ(text.find("- other", copies), std::string::npos);
}

TEST(AnalysisReport, tells_the_step_that_findings_are_shares_of) {
  auto analysis = two_ranks();
  EXPECT_THAT(shown(analysis), Not(HasSubstr("cost of recording")));
  analysis.breakdown.push_back({"idle_profiler", "idle", 20'000'000, 0.2});
  analysis.undisturbed_step_ns = 80e6;
  analysis.recording_ns = 20e6;
  EXPECT_THAT(shown(analysis), HasSubstr("shares are of 80.00 ms"));
  EXPECT_THAT(shown(analysis), HasSubstr("profiler overhead: about 20.00 ms of host time per step"));
  EXPECT_THAT(shown(analysis), Not(HasSubstr("- profiler")));
}

TEST(AnalysisReport, breaks_down_the_mean_step_where_it_is_told) {
  auto analysis = two_ranks();
  for (auto& rank : analysis.ranks) rank.steps.push_back({200'000'000, 1'100'000'000});
  for (auto& part : analysis.breakdown) part.total_ns = part.total_ns * 11 / 3;
  const std::string text = shown(analysis);
  EXPECT_THAT(text, HasSubstr("366.7 ms mean of 3 steps (median 100.0 ms)"));
  EXPECT_THAT(text, HasSubstr("Where the time of a step goes: 366.7 ms, the mean of 2 ranks"));
  EXPECT_THAT(text, HasSubstr("GPU idle                     183.3 ms       50.0 %"));
}

TEST(AnalysisReport, gives_no_median_of_one_step) {
  auto analysis = two_ranks();
  for (auto& rank : analysis.ranks) rank.steps.resize(1);
  EXPECT_THAT(shown(analysis), HasSubstr("100.0 ms for the only step, found by ProfilerStep annotations"));
  analysis.steps_found_by = "whole recording";
  EXPECT_THAT(shown(analysis), HasSubstr("100.0 ms in all, as the recording shows no steps"));
}

TEST(AnalysisReport, tells_sizes_apart_that_differ_in_a_digit) {
  const AnalysisTable table{"collectives",
                            "Collectives",
                            "",
                            {{"collective", "Collective", ""}, {"bytes", "Message", "B"}},
                            {{"all_reduce", 67108864.0}, {"all_reduce", 67125248.0}, {"broadcast", 1234567.0}}};
  const std::string text =
      render_text({.title = "", .sections = {table_section(table, 9)}}, {.width = 80, .details = true});
  for (const char* size : {" 64 MiB", "64.02 MiB", "1.177 MiB"}) EXPECT_THAT(text, HasSubstr(size));
  AnalysisTable names = table;
  names.rows[1][0] = "all_gather";
  EXPECT_THAT(render_text({.title = "", .sections = {table_section(names, 9)}}, {.width = 80, .details = true}),
              HasSubstr("64.0 MiB"));
}

TEST(AnalysisReport, says_what_makes_it_doubtful_before_anything_else) {
  auto analysis = two_ranks();
  EXPECT_THAT(shown(analysis), Not(HasSubstr("Caution")));
  analysis.cautions = {"a.json is cut off: 12 events were read."};
  const std::string text = shown(analysis);
  EXPECT_LT(text.find("Caution: a.json is cut off"), text.find("All fixes together"));
}

TEST(AnalysisReport, names_the_rank_of_an_event_where_there_are_several) {
  auto analysis = two_ranks();
  EXPECT_THAT(shown(analysis), HasSubstr("of rank 0"));
  analysis.rank_count = 1;
  EXPECT_THAT(shown(analysis), HasSubstr("12.00 ms after the start\n"));
}

TEST(AnalysisReport, leaves_out_what_takes_no_time) {
  auto analysis = two_ranks();
  analysis.findings[0].evidence.push_back({"GPU idle in the optimizer: 0 s", "optimizer_idle", 0.0, "s"});
  analysis.findings[0].evidence.push_back({"Of them for many parameters: 0 %", "multi_tensor", 0.0, ""});
  EXPECT_THAT(shown(analysis), Not(HasSubstr("GPU idle in the optimizer")));
  EXPECT_THAT(shown(analysis), HasSubstr("Of them for many parameters: 0 %"));
}

TEST(AnalysisReport, tells_the_gain_of_advice_where_it_is_another) {
  auto analysis = two_ranks();
  analysis.findings[0].recommendations[0].gain = analysis.findings[0].gain;
  EXPECT_THAT(shown(analysis), Not(HasSubstr("Estimated speedup: ")));
  analysis.findings[0].recommendations[0].gain = Gain{1.2, 1.5, ""};
  EXPECT_THAT(shown(analysis), HasSubstr("Estimated speedup: 1.20x-1.50x."));
}

TEST(AnalysisReport, shows_counters_without_a_timeline) {
  Analysis analysis;
  analysis.sources = {"dmon.txt"};
  analysis.verdict = "no timeline was given";
  const auto text = render_text(build_analysis_report(analysis), {.width = 80});
  EXPECT_THAT(text, HasSubstr("No timeline was given"));
  EXPECT_THAT(text, Not(HasSubstr("median of")));
}

TEST(AnalysisReport, keeps_hostile_names_from_becoming_markup) {
  auto analysis = two_ranks();
  analysis.findings[0].title = "</h2><script>alert(1)</script>";
  analysis.findings[0].recommendations[0].snippet = "</pre><img src=x onerror=alert(1)>";
  analysis.tables[0].rows[0][0] = std::string("a|b`<b>\x01");
  const auto html = render_html(build_analysis_report(analysis));
  EXPECT_THAT(html, Not(HasSubstr("<script>")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_EQ(markup_error(html), "");
}

TEST(ShortName, cuts_long_names_between_characters) {
  EXPECT_EQ(short_name("void add<float>(float*)"), "add<float>(float*)");
  const std::string umlauts = "kernel_" + std::string(56, 'x') + "\xC3\xA4\xC3\xB6\xC3\xBC";
  const auto cut = short_name(umlauts);
  EXPECT_LE(cut.size(), 60U);
  EXPECT_TRUE(cut.ends_with("..."));
  std::string many;
  for (int i = 0; i < 40; ++i) many += "\xC3\xA4";
  EXPECT_EQ(short_name(many).size() % 2, 1U);  // whole two-byte characters and three dots
}

TEST(ShortName, of_two_rows_differs_where_the_names_do) {
  const std::string front = "void at::native::vectorized_elementwise_kernel<4, at::native::";
  AnalysisTable table{"kernels", "Kernels", "", {{"name", "Name", ""}}, {}};
  const std::string unary = "AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::";
  for (const std::string& op : {unary + "MulFunctor<float> > >(int)", std::string("FillFunctor<float> >(int)"),
                                unary + "AddFunctor<float> > >(int)"}) {
    table.rows.push_back({front + op});
  }
  table.rows.push_back({std::string("gemm")});
  const Section section = table_section(table, 10);
  std::set<std::string> shown;
  for (const auto& row : std::get<Table>(section.blocks[0]).rows) {
    shown.insert(row[0].text);
    EXPECT_LE(row[0].text.size(), 60U);
  }
  EXPECT_EQ(shown.size(), 4U);
  EXPECT_TRUE(shown.contains("gemm"));
  EXPECT_TRUE(shown.contains("vectorized_elementwise_kernel<4, FillFunctor<float> >(int)"));
  EXPECT_TRUE(shown.contains("at::native::vectorized_e...native::AddFunctor<float> > >(...")) << *shown.begin();
}

TEST(FormatValue, uses_the_unit_of_the_column) {
  EXPECT_EQ(format_value(0.0012, "s"), "1.200 ms");
  EXPECT_EQ(format_value(std::int64_t{1500}, "B"), "1.46 KiB");
  EXPECT_EQ(format_value(0.25, "ratio"), "25.0 %");
  EXPECT_EQ(format_value(std::string("x"), "s"), "x");
}

TEST(AnalysisReport, draws_profiled_kernels_under_their_peaks) {
  Analysis analysis;
  const std::string none;
  analysis.tables.push_back({kKernelRooflineTable,
                             "Roofline of the profiled kernels",
                             "",
                             {{"name", "Name", ""},
                              {"what", "What", ""},
                              {"intensity", "FLOP/B", ""},
                              {"rate", "FLOP/s", "FLOP/s"},
                              {"share", "Of its peak", "ratio"},
                              {"bandwidth", "B/s", "B/s"}},
                             {{std::string("axpy"), std::string("kernel"), 0.25, 5e11, 0.7, 2e12},
                              {std::string("FP32"), std::string(kComputePeak), none, 6e13, none, none},
                              {std::string("device memory"), std::string(kMemoryPeak), none, none, none, 3e12}}});
  const auto html = render_html(build_analysis_report(analysis));
  EXPECT_THAT(html, HasSubstr("<svg"));
  EXPECT_THAT(html, HasSubstr("FP32 60.0 TFLOP/s"));
  EXPECT_THAT(html, HasSubstr("device memory 3.00 TB/s"));
  EXPECT_THAT(html, HasSubstr("axpy: 0.250, 500 GFLOP/s"));
  EXPECT_THAT(render_text(build_analysis_report(analysis), {.width = 100}), HasSubstr("70.0 %"));
}

}  // namespace
}  // namespace warpmark::report
