// A check as a comment, annotations and JUnit: limits, escapes, and that nothing is passed over.
#include "report/build/check.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "report/forge/github.h"
#include "report/forge/junit.h"
#include "report/formats/markdown.h"
#include "report/well_formed.h"

namespace warpmark::report {
namespace {

MetricCheck metric_of(const std::string& label, Verdict verdict, double ratio) {
  MetricCheck metric{.label = label, .metric = "time", .unit = "s"};
  metric.baseline = {{.session = "a", .n = 5, .value = 1}, {.session = "b", .n = 5, .value = 1}};
  metric.current = {{.session = "c", .n = 5, .value = ratio}};
  metric.level = 1;
  metric.value = ratio;
  metric.ratio = ratio;
  metric.interval = Interval{ratio * 0.99, ratio * 1.01, 0.95};
  metric.p = metric.adjusted_p = 0.0004;
  metric.verdict = verdict;
  if (verdict == Verdict::inconclusive) metric.reason = "3 sessions of history, 9 needed";
  return metric;
}

Check check_of(std::vector<MetricCheck> metrics) {
  Check check{.command = "warpmark check", .branch = "main", .metrics = std::move(metrics)};
  check.commit = "0123456789abcdef";
  check.started = "2026-11-21T08:00:00Z";
  return check;
}

TEST(GithubComment, shows_what_changed_and_folds_the_rest) {
  const auto text = render_github_comment(
      check_of({metric_of("slow", Verdict::worse, 1.2), metric_of("fast", Verdict::better, 0.8),
                metric_of("as it was", Verdict::same, 1.001), metric_of("new", Verdict::inconclusive, 1)}));
  EXPECT_TRUE(
      text.starts_with("### Performance regression\n\n1 worse, 1 inconclusive, 1 better, 1 unchanged of "
                       "0123456789 against main.\n"))
      << text;
  EXPECT_NE(text.find("| slow | time | 1.000 s | 1.200 s | &#8593; +20.0 % |"), std::string::npos) << text;
  EXPECT_NE(text.find("| &#8595; -20.0 % |"), std::string::npos) << text;
  EXPECT_NE(text.find("<summary>1 unchanged</summary>"), std::string::npos);
  EXPECT_LT(text.find("| fast |"), text.find("<details>"));
  EXPECT_GT(text.find("| as it was |"), text.find("<summary>1 unchanged"));
  EXPECT_NE(text.find("new time: inconclusive: 3 sessions of history, 9 needed"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\n<!-- warpmark-check: main -->\n"));
}

TEST(GithubComment, stays_within_githubs_limit_and_says_what_it_leaves_out) {
  std::vector<MetricCheck> metrics;
  for (int i = 0; i < 3000; ++i) {
    const std::string name = std::string(i % 7 == 0 ? 400 : 40, 'x') + std::to_string(i);
    metrics.push_back(metric_of(name, i % 3 == 0 ? Verdict::worse : Verdict::same, i % 3 == 0 ? 1.5 : 1));
    metrics.back().restart = Restart{.at = {.session = "r"}, .change = 0.1, .worse = true, .ago = 3};
  }
  const auto text = render_github_comment(check_of(metrics));
  EXPECT_LE(text.size(), kGithubCommentLimit);
  EXPECT_GT(text.size(), kGithubCommentLimit * 3 / 4);
  EXPECT_NE(text.find(" rows are left out here"), std::string::npos);
  EXPECT_TRUE(text.ends_with("<!-- warpmark-check: main -->\n"));
  std::size_t opened = 0, closed = 0;
  for (std::size_t at = 0; (at = text.find("<details>", at)) != std::string::npos; ++at) ++opened;
  for (std::size_t at = 0; (at = text.find("</details>", at)) != std::string::npos; ++at) ++closed;
  EXPECT_EQ(opened, closed);
  for (const std::size_t limit : {0U, 600U, 1000U, 5000U, 20000U}) {
    EXPECT_LE(render_github_comment(check_of(metrics), limit).size(), std::max<std::size_t>(limit, 700)) << limit;
  }
}

TEST(GithubComment, escapes_names_from_outside) {
  const auto mention = render_github_comment(check_of({metric_of("@octocat", Verdict::worse, 2)}));
  EXPECT_EQ(mention.find("@o"), std::string::npos) << mention;
  EXPECT_NE(mention.find("@<!-- -->octocat"), std::string::npos) << mention;
  auto check = check_of({metric_of("a|b <img src=x> `c` [d](e)\n::error::f", Verdict::worse, 2)});
  check.branch = "x --> <b>";
  const auto text = render_github_comment(check);
  EXPECT_EQ(text.find("<img"), std::string::npos) << text;
  EXPECT_NE(text.find("a\\|b &lt;img"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("<!-- warpmark-check: x ___ _b_ -->\n")) << text;
  EXPECT_EQ(github_annotations(check),
            "::error title=a|b <img src=x> `c` [d](e)%0A%3A%3Aerror%3A%3Af time::worse, 100 %25 higher\n");
}

TEST(GithubAnnotations, are_at_most_ten_of_a_kind) {
  std::vector<MetricCheck> metrics(30, metric_of("m", Verdict::worse, 2));
  metrics.resize(50, metric_of("n", Verdict::inconclusive, 1));
  const auto text = github_annotations(check_of(metrics));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 20);
  EXPECT_EQ(github_annotations(check_of({metric_of("m", Verdict::same, 1)})), "");
}

TEST(CheckJunit, is_well_formed_and_fails_for_every_kind) {
  auto check = check_of({metric_of("slow \"&<>\x01", Verdict::worse, 1.2), metric_of("ok", Verdict::same, 1),
                         metric_of("new", Verdict::inconclusive, 1), metric_of("hot", Verdict::unreliable, 1)});
  const auto text = render_junit(check);
  EXPECT_EQ(markup_error(text.substr(text.find('\n') + 1)), "") << text;
  EXPECT_NE(text.find("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""), std::string::npos) << text;
  EXPECT_NE(text.find("<failure type=\"worse\" message=\"worse, 20.0 % higher\">"), std::string::npos) << text;
  EXPECT_NE(text.find("timestamp=\"2026-11-21T08:00:00\""), std::string::npos) << text;
}

TEST(CheckReport, puts_the_worst_first) {
  const auto report = build_report(check_of(
      {metric_of("a", Verdict::same, 1), metric_of("b", Verdict::worse, 1.1), metric_of("c", Verdict::worse, 1.5)}));
  const auto& table = std::get<Table>(report.sections.front().blocks.at(1));
  EXPECT_EQ(table.rows.at(0).at(0).text, "c");
  EXPECT_EQ(table.rows.at(1).at(0).text, "b");
  EXPECT_EQ(table.rows.at(2).at(0).text, "a");
  EXPECT_NE(render_markdown(report).find("**worse**"), std::string::npos);
}

TEST(CheckReport, says_once_what_is_true_of_many_metrics) {
  std::vector<MetricCheck> metrics(50, metric_of("m", Verdict::inconclusive, 1));
  metrics.push_back(metric_of("slow", Verdict::worse, 1.2));
  const auto report = build_report(check_of(metrics));
  std::vector<std::string> about;
  for (const auto& block : report.sections.front().blocks) {
    const auto* paragraph = std::get_if<Paragraph>(&block);
    if (paragraph != nullptr && paragraph->text.find(" time") != std::string::npos) about.push_back(paragraph->text);
  }
  ASSERT_EQ(about.size(), 3U);
  EXPECT_TRUE(about[0].starts_with("slow time +20.0 % ")) << about[0];
  EXPECT_EQ(about[1], "slow time: worse, 20.0 % higher.");
  EXPECT_EQ(about[2], "m time, m time, m time and 47 more: inconclusive: 3 sessions of history, 9 needed.");
}

TEST(CheckReport, calls_a_verdict_the_same_in_the_table_and_in_the_summary) {
  const auto text = render_markdown(build_report(check_of({metric_of("new", Verdict::inconclusive, 1)})));
  EXPECT_NE(text.find("1 inconclusive."), std::string::npos) << text;
  EXPECT_NE(text.find("| inconclusive |"), std::string::npos) << text;
  EXPECT_EQ(text.find("undecided"), std::string::npos) << text;
}

}  // namespace
}  // namespace warpmark::report
