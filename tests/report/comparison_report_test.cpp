// What a comparison says in words: the speedup with its interval, memory saved, money per month; and on GitHub.
#include "report/build/comparison.h"

#include <gtest/gtest.h>

#include "report/forge/badge.h"
#include "report/forge/github.h"
#include "report/well_formed.h"

namespace warpmark::report {
namespace {

MetricVerdict metric_of(const std::string& id, const std::string& unit, Verdict verdict, double ratio) {
  MetricVerdict metric{.id = id, .unit = unit, .a = {2, 2}, .b = {2 * ratio, 2 * ratio}};
  metric.median_a = 2;
  metric.median_b = 2 * ratio;
  metric.ratio = ratio;
  metric.interval = Interval{ratio * 0.9, ratio * 1.1, 0.95};
  metric.p = metric.adjusted_p = 0.0004;
  metric.verdict = verdict;
  return metric;
}

TEST(VerdictSentence, gives_the_speedup_first_with_its_interval) {
  EXPECT_EQ(verdict_sentence(metric_of("time", "s", Verdict::better, 0.5), 0.01),
            "B is 2.00x faster (95 % CI 1.82x-2.22x): time 50.0 % lower");
  EXPECT_EQ(verdict_sentence(metric_of("time", "s", Verdict::worse, 1.3), 0.01),
            "B is 1.30x slower (95 % CI 1.17x-1.43x): time 30.0 % higher");
  auto rate = metric_of("img_per_s", "1/s", Verdict::better, 1.2);
  rate.better = Better::higher;
  EXPECT_EQ(verdict_sentence(rate, 0.01), "B is better: img_per_s 20.0 % higher");
}

TEST(VerdictSentence, says_how_much_memory_is_saved) {
  auto memory = metric_of("peak_memory", "B", Verdict::better, 0.75);
  memory.median_a = 4.0 * 1024 * 1024 * 1024;
  memory.median_b = 3.0 * 1024 * 1024 * 1024;
  const auto text = verdict_sentence(memory, 0.01);
  EXPECT_TRUE(text.starts_with("B is better: peak_memory 25.0 % lower, 1")) << text;
  EXPECT_TRUE(text.ends_with("GiB saved")) << text;
}

/// A bill of 180 000 a month, and a program that becomes twice as fast.
TEST(MonthlySaving, follows_from_the_speedup_with_its_interval) {
  Comparison comparison{.name_a = "main", .name_b = "HEAD"};
  comparison.metrics = {metric_of("time", "s", Verdict::better, 0.5)};
  EXPECT_FALSE(monthly_saving(comparison).has_value());
  comparison.monthly_cost = 180'000;
  const auto saving = monthly_saving(comparison);
  ASSERT_TRUE(saving.has_value());
  EXPECT_DOUBLE_EQ(saving->after, 90'000);
  EXPECT_DOUBLE_EQ(saving->saved, 90'000);
  EXPECT_NEAR(saving->saved_low, 81'000, 1e-6);
  EXPECT_NEAR(saving->saved_high, 99'000, 1e-6);
  comparison.metrics = {metric_of("rate", "1/s", Verdict::better, 2)};
  comparison.metrics[0].better = Better::higher;
  EXPECT_DOUBLE_EQ(monthly_saving(comparison)->saved, 90'000);
}

TEST(Comparison, that_a_gate_rejects_says_so_everywhere_unless_it_is_unreliable) {
  Comparison comparison{.name_a = "main", .name_b = "HEAD"};
  comparison.metrics = {metric_of("time", "s", Verdict::better, 0.5)};
  comparison.accuracy = {{.name = "top1", .margin = 0.01, .difference = -0.05, .outcome = AccuracyOutcome::rejected}};
  const auto headline_of = [&] { return std::get<Paragraph>(build_report(comparison).sections[0].blocks[0]); };
  EXPECT_EQ(headline_of().tone, Tone::bad) << headline_of().text;
  EXPECT_NE(render_github_comment(comparison).find("Rejected: B is less accurate"), std::string::npos);
  comparison.metrics[0].verdict = Verdict::unreliable;
  EXPECT_EQ(headline_of().tone, Tone::warning) << headline_of().text;
  EXPECT_EQ(render_github_comment(comparison).find("Rejected"), std::string::npos) << "its exit code is 5";
}

TEST(GithubComment, of_a_comparison_shows_what_changed_and_escapes_names) {
  Comparison comparison{.name_a = "main @1", .name_b = "<b>"};
  comparison.metrics = {metric_of("time", "s", Verdict::worse, 1.3), metric_of("size", "B", Verdict::same, 1)};
  const auto text = render_github_comment(comparison);
  EXPECT_TRUE(text.starts_with("### Performance regression\n\nA: main @<!-- -->1, B: &lt;b&gt;\n")) << text;
  EXPECT_NE(text.find("| time | 2.000 s | 2.600 s | &#8593; +30.0 % |"), std::string::npos) << text;
  EXPECT_NE(text.find("<summary>1 unchanged</summary>"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("<!-- warpmark-compare: time -->\n")) << text;
  EXPECT_EQ(github_annotations(comparison),
            "::error title=time::B is 1.30x slower (95 %25 CI 1.17x-1.43x): time 30.0 %25 higher\n");
}

TEST(Badge, is_well_formed_and_names_the_largest_change) {
  Check check{.branch = "main"};
  MetricCheck metric{.label = "gemm", .metric = "time", .unit = "s"};
  metric.ratio = 1.125;
  metric.verdict = Verdict::worse;
  check.metrics = {metric};
  const auto badge = render_badge(check);
  EXPECT_EQ(markup_error(badge), "") << badge;
  EXPECT_NE(badge.find(">+12.5 % time</text>"), std::string::npos) << badge;
  check.metrics[0].verdict = Verdict::same;
  EXPECT_NE(render_badge(check).find(">unchanged</text>"), std::string::npos);
}

}  // namespace
}  // namespace warpmark::report
