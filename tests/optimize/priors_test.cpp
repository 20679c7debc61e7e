#include "optimize/stages/search_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "stats/summary.h"

namespace warpmark::optimize {
namespace {

/// Gain by program, for each cause of the recorded results.
std::map<std::string, std::map<std::string, double>> recorded() {
  const auto text = read_file(std::string(WARPMARK_SOURCE_DIR) + "/docs/results/analysis-2026-11-21.csv");
  EXPECT_TRUE(text.ok());
  std::map<std::string, std::map<std::string, double>> gains;
  if (!text.ok()) return gains;
  for (const auto& line : split(*text, '\n')) {
    const auto cells = split(line, ',');
    if (cells.size() < 9 || cells[8] == "gain_measured" || cells[8].empty()) continue;
    gains[cells[5]][cells[0]] = std::strtod(cells[8].c_str(), nullptr);
  }
  return gains;
}

TEST(Priors, are_the_quartiles_of_the_recorded_gains) {
  const auto gains = recorded();
  ASSERT_FALSE(priors().empty());
  for (const auto& prior : priors()) {
    ASSERT_TRUE(gains.contains(prior.bottleneck)) << prior.bottleneck;
    std::vector<double> values;
    for (const auto& [program, gain] : gains.at(prior.bottleneck)) values.push_back(gain);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(prior.programs, static_cast<std::int64_t>(values.size())) << prior.bottleneck;
    EXPECT_NEAR(prior.median, stats::quantile_of_sorted(values, 0.5), 0.006) << prior.bottleneck;
    EXPECT_NEAR(prior.low, stats::quantile_of_sorted(values, 0.25), 0.006) << prior.bottleneck;
    EXPECT_NEAR(prior.high, stats::quantile_of_sorted(values, 0.75), 0.006) << prior.bottleneck;
  }
}

TEST(Priors, go_with_the_bottleneck_that_a_knob_answers_first) {
  EXPECT_EQ(prior_of("loader.workers")->bottleneck, "data_loading");
  EXPECT_EQ(prior_of("tf32")->bottleneck, "precision");
  EXPECT_EQ(prior_of("compile")->bottleneck, "launch_overhead");
  EXPECT_EQ(prior_of("loader.pin_memory")->bottleneck, "host_transfer");
  EXPECT_FALSE(prior_of("process.preload")) << "no program of the corpus has an allocator as its flaw";
  EXPECT_FALSE(prior_of("process.affinity"));
  EXPECT_FALSE(prior_of("python.gc_freeze"));
  EXPECT_FALSE(prior_of("checkpoint.blocks")) << "it makes room, and takes time";
  EXPECT_FALSE(prior_of("a knob of the user"));
}

}  // namespace
}  // namespace warpmark::optimize
