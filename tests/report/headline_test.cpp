// The first lines of a session's page, and the results that have no peak: loads, scores, results of other tools.
#include <gtest/gtest.h>

#include "base/text.h"
#include "report/formats/text.h"
#include "report/results/build.h"
#include "stats/summary.h"

namespace warpmark::report {
namespace {

/// What is measured without a peak: a load, scores, results of other tools.
Session without_peaks(const char* workload, const char* metric, const char* unit, std::vector<double> samples) {
  Session session;
  session.complete = true;
  warpmark::Run& run = session.runs.emplace_back();
  run.workload = workload;
  run.device = "server";
  run.outcome = Outcome::passed;
  run.converged = true;
  run.metrics = {stats::sampled_metric(metric, unit, Better::lower, std::move(samples))};
  run.rounds = 1;
  return session;
}

std::string first_lines(const Session& session, std::size_t count) {
  const auto lines = split(render_text(build_report(session), {.width = 200}), '\n');
  return join({lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(std::min(count, lines.size()))}, "\n");
}

TEST(Headline, is_the_number_with_its_interval) {
  const auto session = without_peaks("serving", "ttft", "s", std::vector<double>(20, 0.05));
  EXPECT_NE(first_lines(session, 6).find("serving: ttft 50.00 ms, 95 % interval [50.00 ms, 50.00 ms], n = 20."),
            std::string::npos)
      << first_lines(session, 6);
  const auto few = without_peaks("sort", "time", "s", {0.1});
  EXPECT_NE(first_lines(few, 6).find("sort: time 100.0 ms, n = 1 (too few for an interval)."), std::string::npos)
      << first_lines(few, 6);
}

TEST(Headline, of_scores_has_the_interval_of_the_score) {
  auto session = without_peaks("eval", "exact_match", "1", {1.0 / 3});
  session.runs.front().notes = {{"n", "3"}, {"interval", "[0.0084, 0.906] (95 %, exact)"}};
  EXPECT_NE(first_lines(session, 6).find("eval: exact_match 0.333, [0.0084, 0.906] (95 %, exact), n = 3."),
            std::string::npos)
      << first_lines(session, 6);
}

TEST(Headline, of_a_command_names_the_command_that_shows_why) {
  auto session = without_peaks("command", "time", "s", std::vector<double>(20, 0.05));
  session.runs.front().device = "host";
  session.command = "warpmark run -- python3 train.py";
  EXPECT_NE(first_lines(session, 10).find("warpmark profile -- python3 train.py"), std::string::npos)
      << first_lines(session, 10);
}

TEST(Headline, of_several_results_counts_the_others) {
  auto session = without_peaks("sort", "time", "s", std::vector<double>(20, 0.05));
  session.runs.push_back(session.runs.front());
  session.runs.back().workload = "join";
  const auto text = first_lines(session, 6);
  EXPECT_NE(text.find("sort: time 50.00 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("1 more result below"), std::string::npos) << text;
}

TEST(BuildReport, shows_the_metrics_of_what_has_no_peak) {
  const auto text =
      render_text(build_report(without_peaks("serving", "ttft", "s", std::vector<double>(400, 0.05))), {.width = 120});
  for (const char* part : {"metric", "median", "95 % interval", "p95", "p99", "ttft", "400"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  for (const char* part : {"of peak", "unknown", "hot"}) {
    EXPECT_EQ(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

}  // namespace
}  // namespace warpmark::report
