// Bisections on simulated machines: whole searches, early stopping included, counted over seeds.
#include "validate/guard/bisect.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "support/sanitized.h"
#include "validate/fake_experiment.h"
#include "validate/guard/bisect_run.h"
#include "validate/noise_models.h"

namespace warpmark::validate {
namespace {

/// What was measured, in memory.
class MemoryLog final : public BisectLog {
 public:
  std::map<std::string, std::vector<AbSample>> steps;
  std::map<std::string, std::string> skips;

  Result<std::vector<AbSample>> begin(const std::string& step) override {
    current_ = step;
    return steps[step];
  }
  Status append(const AbSample& sample) override {
    steps[current_].push_back(sample);
    return {};
  }
  Result<std::optional<std::string>> skipped(const std::string& sha) override {
    const auto found = skips.find(sha);
    return found == skips.end() ? std::nullopt : std::optional(found->second);
  }
  Status skip(const std::string& sha, const std::string& reason) override {
    skips[sha] = reason;
    return {};
  }

 private:
  std::string current_;
};

class FlakyExperiment final : public measure::Experiment {
 public:
  FlakyExperiment(std::function<double(std::int64_t)> value, std::function<bool(std::size_t run)> fails)
      : sound_(std::move(value)), fails_(std::move(fails)) {}
  Result<Run> run(const measure::Config& config) override {
    if (fails_(attempts_++)) return data_error("exit code 1");
    return sound_.run(config);
  }

 private:
  FakeExperiment sound_;
  std::function<bool(std::size_t run)> fails_;
  std::size_t attempts_ = 0;
};

/// A range of commits whose culprit is known, on one machine.
class FakeRevisions final : public Revisions {
 public:
  FakeRevisions(std::size_t culprit, double ratio, Noise noise, double cv, std::uint64_t seed)
      : culprit_(culprit), ratio_(ratio), noise_(noise_of(noise, seed, 200'000, cv)) {}

  std::set<std::size_t> broken;
  std::set<std::size_t> built;
  std::size_t runs = 0;
  std::function<bool(std::size_t index, std::size_t run)> fails;  ///< of the runs of one commit

  Result<measure::Experiment*> prepare(std::size_t index) override {
    built.insert(index);
    if (broken.contains(index)) return data_error("it does not build");
    auto& experiment = experiments_[index];
    if (!experiment) {
      experiment = std::make_unique<FlakyExperiment>(
          [this, index](std::int64_t) { return (index >= culprit_ ? ratio_ : 1) * noise_[runs++ % noise_.size()]; },
          [this, index](std::size_t run) { return fails && fails(index, run); });
    }
    return experiment.get();
  }

 private:
  std::size_t culprit_;
  double ratio_;
  std::vector<double> noise_;
  std::map<std::size_t, std::unique_ptr<FlakyExperiment>> experiments_;
};

BisectRequest request_for(std::size_t candidates, std::uint64_t seed = 1) {
  BisectRequest request{
      .commits = {}, .builds = default_builds(candidates), .warmup_runs = 0, .seed = seed, .prior = {}};
  for (std::size_t i = 0; i <= candidates; ++i) request.commits.push_back({.sha = fmt::format("{:040}", i)});
  request.clock_s = [] { return 0.0; };
  return request;
}

std::size_t index_of(const Commit& commit) { return std::stoul(commit.sha); }

/// 5 % more, somewhere between commits 26 and 28.
std::vector<CommitResult> history_of_a_step() {
  std::vector<CommitResult> points;
  for (const std::size_t index : {0U, 10U, 20U, 25U, 28U, 40U, 60U}) {
    points.push_back({index, (index < 27 ? 1.0 : 1.05) + 0.001 * static_cast<double>(index % 3)});
  }
  return points;
}

struct Count {
  int right = 0;
  int wrong = 0;
  std::int64_t most_builds = 0;
  double runs = 0;
};

Count count_over_seeds(Noise noise, double cv, double ratio, int seeds) {
  constexpr std::size_t kCommits = 60;
  Count count;
  for (int i = 0; i < seeds; ++i) {
    const auto seed = stats::derive_seed(11, static_cast<std::uint64_t>(i));
    const auto culprit = 1 + static_cast<std::size_t>(stats::random_unit(seed, 3) * kCommits);
    FakeRevisions revisions(culprit, ratio, noise, cv, seed);
    MemoryLog log;
    const auto result = run_bisect(request_for(kCommits, seed), revisions, log);
    EXPECT_TRUE(result.ok());
    if (!result.ok()) continue;
    const bool one = result->outcome == BisectOutcome::found;
    const bool right = one && index_of(result->candidates.front()) == culprit;
    count.right += right ? 1 : 0;
    count.wrong += one && !right ? 1 : 0;
    count.most_builds = std::max(count.most_builds, result->builds);
    count.runs += static_cast<double>(result->runs) / seeds;
    EXPECT_LE(revisions.built.size(), static_cast<std::size_t>(result->builds));
  }
  return count;
}

TEST(Bisect, finds_three_percent_among_sixty_commits_in_twelve_builds_under_every_noise) {
  const int kSeeds = testing_support::trials(40);
  for (const Noise noise : kNoises) {
    const Count count = count_over_seeds(noise, 0.02, 1.03, kSeeds);
    EXPECT_GE(count.right, 0.95 * kSeeds)
        << name_of(noise) << ": " << count.wrong << " wrong, " << count.runs << " runs";
    EXPECT_LE(count.most_builds, 12) << name_of(noise);
  }
}

TEST(Bisect, finds_a_gain_as_well_as_a_loss) { EXPECT_GE(count_over_seeds(Noise::iid, 0.01, 0.95, 20).right, 19); }

TEST(Bisect, does_not_lose_the_culprit_to_one_wrong_answer) {
  int right = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    // What commit 30 would have looked like if the culprit came later: a plain bisection ends at 31.
    MemoryLog other, log;
    FakeRevisions later(40, 1.03, Noise::iid, 0.01, seed);
    auto request = request_for(60, seed);
    request.builds = 30;
    ASSERT_TRUE(run_bisect(request, later, other).ok());
    const std::string step = "probe-" + request.commits[30].sha;
    log.steps[step] = other.steps[step];
    FakeRevisions revisions(20, 1.03, Noise::iid, 0.01, seed);
    const auto result = run_bisect(request, revisions, log);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->probes.front().index, 30);
    EXPECT_EQ(result->probes.front().answer, ProbeAnswer::good);
    right += result->outcome == BisectOutcome::found && index_of(result->candidates.front()) == 20 ? 1 : 0;
  }
  EXPECT_GE(right, 19);
}

TEST(Bisect, skips_what_cannot_be_built_and_tells_the_range_that_is_left) {
  FakeRevisions revisions(31, 1.03, Noise::iid, 0.005, 1);
  revisions.broken = {28, 29, 30, 31, 32};
  MemoryLog log;
  auto request = request_for(60);
  request.builds = 40;
  const auto result = run_bisect(request, revisions, log);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->outcome, BisectOutcome::range);
  ASSERT_EQ(result->candidates.size(), 6U);
  EXPECT_EQ(index_of(result->candidates.front()), 28U);
  EXPECT_EQ(index_of(result->candidates.back()), 33U);
  ASSERT_TRUE(result->change.has_value());
  EXPECT_NEAR(*result->change->ratio, 1.03, 0.01);
  EXPECT_EQ(std::count_if(result->probes.begin(), result->probes.end(),
                          [](const auto& probe) { return probe.answer == ProbeAnswer::skipped; }),
            5);
}

TEST(Bisect, forgives_a_rare_failure_but_skips_what_stays_flaky) {
  FakeRevisions revisions(20, 1.03, Noise::iid, 0.01, 1);
  revisions.fails = [](std::size_t index, std::size_t run) {
    return (index == 15 && run == 4) || (index == 30 && run % 3 == 0);
  };
  MemoryLog log;
  const auto result = run_bisect(request_for(60), revisions, log);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->probes[0].answer, ProbeAnswer::skipped);
  EXPECT_NE(result->probes[0].reason.find("flaky: 3 of"), std::string::npos) << result->probes[0].reason;
  EXPECT_EQ(result->outcome, BisectOutcome::found);
  EXPECT_EQ(index_of(result->candidates.front()), 20U);
  EXPECT_TRUE(std::none_of(result->probes.begin() + 1, result->probes.end(),
                           [](const auto& probe) { return probe.answer == ProbeAnswer::skipped; }));
}

TEST(Bisect, jumps_away_from_a_broken_stretch) {
  FakeRevisions revisions(50, 1.03, Noise::iid, 0.005, 1);
  for (std::size_t i = 20; i <= 35; ++i) revisions.broken.insert(i);
  MemoryLog log;
  const auto result = run_bisect(request_for(60), revisions, log);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->outcome, BisectOutcome::found);
  EXPECT_LE(result->builds, 12);
}

TEST(Bisect, says_so_where_there_is_nothing_to_find) {
  FakeRevisions equal(1, 1.0, Noise::iid, 0.01, 3);
  MemoryLog log;
  auto result = run_bisect(request_for(60), equal, log);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->outcome, BisectOutcome::no_difference);
  EXPECT_EQ(result->builds, 2);
  EXPECT_TRUE(result->candidates.empty());

  FakeRevisions noisy(1, 1.01, Noise::iid, 0.2, 3);
  MemoryLog other;
  auto request = request_for(60);
  request.rounds = 20;
  result = run_bisect(request, noisy, other);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->outcome, BisectOutcome::inconclusive);
}

TEST(Bisect, goes_on_where_it_was_interrupted) {
  FakeRevisions whole(17, 1.03, Noise::iid, 0.01, 5);
  MemoryLog log;
  const auto expected = run_bisect(request_for(60), whole, log);
  ASSERT_TRUE(expected.ok());
  // Cut in the middle of a probe: the earlier steps are known, of this one half.
  MemoryLog cut = log;
  const std::string step = "probe-" + expected->probes[2].commit.sha;
  for (auto later = std::size_t{3}; later < expected->probes.size(); ++later) {
    cut.steps.erase("probe-" + expected->probes[later].commit.sha);
  }
  std::erase_if(cut.steps, [](const auto& item) { return item.first.starts_with("confirm"); });
  cut.steps[step].resize(cut.steps[step].size() / 2);
  FakeRevisions rest(17, 1.03, Noise::iid, 0.01, 6);
  const auto resumed = run_bisect(request_for(60), rest, cut);
  ASSERT_TRUE(resumed.ok());
  EXPECT_EQ(resumed->candidates.front().sha, expected->candidates.front().sha);
  EXPECT_LT(rest.runs, static_cast<std::size_t>(resumed->runs));
  EXPECT_FALSE(rest.built.contains(static_cast<std::size_t>(expected->probes[0].index)));
  // All of it known: nothing is run again.
  FakeRevisions none(17, 1.03, Noise::iid, 0.01, 7);
  const auto again = run_bisect(request_for(60), none, log);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(none.runs, 0U);
  EXPECT_EQ(again->runs, expected->runs);
  EXPECT_EQ(again->probability, expected->probability);
}

TEST(CulpritSearch, asks_the_middle_first_and_never_excludes) {
  CulpritSearch search(60, 0.01);
  EXPECT_EQ(search.next(), 30U);
  search.answer(30, 1);
  EXPECT_GT(search.probability(45), 0);
  EXPECT_LT(search.probability(45), search.probability(15));
  EXPECT_EQ(search.best().probability, search.probability(search.best().first));
}

TEST(CulpritSearch, takes_neighbours_that_nothing_tells_apart_together) {
  CulpritSearch search(8, 0.01);
  search.skip(4);
  search.skip(5);
  search.answer(3, 0);
  search.answer(6, 1);
  const auto best = search.best();
  EXPECT_EQ(best.first, 4U);
  EXPECT_EQ(best.last, 6U);
  EXPECT_GT(best.probability, 0.9);
}

TEST(CulpritSearch, credible_set_grows_to_the_probability_asked_for) {
  CulpritSearch search(10, 0.01);
  const auto set = search.credible(0.95);
  EXPECT_EQ(set.first, 1U);
  EXPECT_EQ(set.last, 10U);
  EXPECT_NEAR(set.probability, 1, 1e-12);
}

TEST(PriorFromHistory, points_at_the_step_but_keeps_all_possible) {
  const auto points = history_of_a_step();
  const auto prior = prior_from_history(60, points);
  ASSERT_EQ(prior.size(), 60U);
  EXPECT_NEAR(std::accumulate(prior.begin(), prior.end(), 0.0), 1, 1e-9);
  EXPECT_GT(prior[25] + prior[26] + prior[27], 0.85);  // candidates 26, 27, 28
  EXPECT_GT(prior[0], 0.001);
  EXPECT_TRUE(prior_from_history(60, std::span(points).first(3)).empty());
}

TEST(Bisect, needs_fewer_builds_where_history_narrows_the_range) {
  const auto points = history_of_a_step();
  const auto builds_with = [&](std::size_t culprit, bool history) {
    FakeRevisions revisions(culprit, 1.05, Noise::iid, 0.01, 9);
    MemoryLog log;
    auto request = request_for(60);
    if (history) request.prior = prior_from_history(60, points);
    const auto result = run_bisect(request, revisions, log);
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(index_of(result->candidates.front()), culprit);
    return result->builds;
  };
  EXPECT_LT(builds_with(27, true), builds_with(27, false));
  EXPECT_LE(builds_with(5, true), 14);  // history points elsewhere: found all the same
}

TEST(JudgeProbe, refuses_values_without_a_ratio) {
  std::vector<AbSample> samples;
  for (std::int64_t i = 0; i < 4; ++i) {
    AbSample sample{.slot = probe_slot(1, i), .run = {}};
    sample.run.metrics.push_back({.id = "time", .samples = {0}});
    samples.push_back(std::move(sample));
  }
  EXPECT_FALSE(judge_probe(samples, {}).ok());
}

TEST(ProbeSlot, has_each_reference_once_and_the_candidate_twice_a_round) {
  for (std::int64_t round = 0; round < 50; ++round) {
    std::map<int, int> variants;
    for (std::int64_t i = 0; i < 4; ++i) {
      const Slot slot = probe_slot(7, round * 4 + i);
      EXPECT_EQ(slot.round, round);
      EXPECT_EQ(slot.ends_round, i == 3);
      ++variants[slot.variant];
    }
    EXPECT_EQ(variants[kGoodVariant], 1);
    EXPECT_EQ(variants[kBadVariant], 1);
    EXPECT_EQ(variants[kCandidateVariant], 2);
  }
}

}  // namespace
}  // namespace warpmark::validate
