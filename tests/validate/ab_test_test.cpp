#include "validate/compare/compare_run.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/files.h"
#include "measure/disturbance.h"
#include "model/auxiliary.h"
#include "stats/random.h"
#include "stats/summary.h"
#include "validate/commands/command_experiment.h"
#include "validate/compare/environment_guard.h"
#include "validate/fake_experiment.h"

namespace warpmark::validate {
namespace {

AbEvents at_rest() {
  return {.sample_done = {}, .progress = {}, .clock_s = [] { return 0.0; }};
}

double wobble(std::int64_t run) { return 1 + 0.002 * stats::random_unit(5, static_cast<std::uint64_t>(run)); }

TEST(Schedule, runs_both_variants_equally_often_in_each_round) {
  for (const auto interleave : {Interleave::pair, Interleave::block, Interleave::none}) {
    const Schedule schedule{.interleave = interleave, .rounds = 50, .seed = 3};
    std::map<std::int64_t, int> balance;
    int a_first = 0;
    for (std::int64_t i = 0; i < schedule.slots(); ++i) {
      const Slot slot = schedule.slot(i);
      balance[slot.round] += slot.variant == 0 ? 1 : -1;
      if (interleave == Interleave::pair && i % 2 == 0) a_first += slot.variant == 0;
    }
    EXPECT_EQ(balance.size(), 50U);
    for (const auto& [round, difference] : balance) EXPECT_EQ(difference, 0) << round;
    if (interleave == Interleave::pair) {
      EXPECT_NEAR(a_first, 25, 12);
    }
  }
}

TEST(AbTest, stops_when_decided) {
  FakeExperiment a(wobble), b([](std::int64_t run) { return 1.2 * wobble(run + 1000); });
  const auto outcome = run_ab({&a, {}, "old"}, {&b, {}, "new"}, {.schedule = {.rounds = 100}}, {}, at_rest());
  ASSERT_TRUE(outcome.ok()) << outcome.error().what;
  EXPECT_EQ(overall(outcome->comparison), Verdict::worse);
  EXPECT_EQ(outcome->comparison.rounds, 7);
  EXPECT_EQ(outcome->comparison.stopped_because, "decided after 7 rounds");
  EXPECT_EQ(a.runs, 8) << "one warm-up, discarded";
  EXPECT_TRUE(outcome->complete);
}

TEST(AbTest, stops_at_the_budget_and_says_what_is_missing) {
  double time = 0;
  FakeExperiment a([&](std::int64_t run) { return time += 1, run % 2 == 0 ? 1.0 : 1.3; });
  FakeExperiment b([&](std::int64_t run) { return time += 1, run % 3 == 0 ? 1.0 : 1.2; });
  AbEvents events = at_rest();
  events.clock_s = [&] { return time; };
  const auto outcome = run_ab({&a, {}, "A"}, {&b, {}, "B"}, {.budget_s = 21, .warmup_runs = 0}, {}, events);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->comparison.rounds, 11);
  EXPECT_EQ(overall(outcome->comparison), Verdict::inconclusive);
  EXPECT_NE(outcome->comparison.metrics[0].reason.find("rounds"), std::string::npos);
  EXPECT_TRUE(outcome->comparison.metrics[0].more_rounds);
  EXPECT_NE(outcome->comparison.stopped_because.find("budget"), std::string::npos);
}

/// A command whose wall time is the machine's and whose CPU time is its own.
class Worker final : public measure::Experiment {
 public:
  Worker(double cpu_s, double wall_share) : cpu_s_(cpu_s), wall_share_(wall_share) {}
  Result<Run> run(const measure::Config&) override {
    Run run;
    run.outcome = Outcome::passed;
    const double jitter = 1 + 0.001 * static_cast<double>(runs_++ % 5);
    const double waiting = stats::random_unit(17, static_cast<std::uint64_t>(runs_) * 2 + (cpu_s_ > 1 ? 1 : 0));
    for (const bool wall : {true, false}) {
      Metric metric{.id = wall ? "time" : std::string(kProcessorTime), .unit = "s"};
      metric.samples = {wall ? cpu_s_ * jitter / wall_share_ * (1 + waiting) : cpu_s_ * jitter};
      metric.round_sizes = {1};
      metric.summary = stats::summarize(metric.samples);
      run.metrics.push_back(metric);
    }
    return run;
  }

 private:
  double cpu_s_;
  double wall_share_;
  int runs_ = 0;
};

TEST(AbTest, tells_cpu_time_beside_and_decides_nothing_by_it) {
  Worker a(1.0, 0.9), b(1.1, 0.9);
  const auto outcome =
      run_ab({&a, {}, "A"}, {&b, {}, "B"}, {.schedule = {.rounds = 12}, .warmup_runs = 0}, {}, at_rest());
  ASSERT_TRUE(outcome.ok());
  const auto& metrics = outcome->comparison.metrics;
  ASSERT_EQ(metrics.size(), 2U);
  EXPECT_FALSE(metrics[0].auxiliary);
  EXPECT_TRUE(metrics[1].auxiliary);
  EXPECT_EQ(metrics[1].verdict, Verdict::worse) << "what the waiting hides is plain in CPU time";
  EXPECT_EQ(metrics[0].verdict, Verdict::inconclusive);
  EXPECT_EQ(overall(outcome->comparison), Verdict::inconclusive) << "and decides nothing";
  EXPECT_EQ(outcome->comparison.rounds, 12);
  EXPECT_EQ(metrics[0].p, metrics[0].adjusted_p) << "it is not corrected for";
}

TEST(AbTest, tells_no_cpu_time_of_what_waits_most_of_the_time) {
  Worker a(1.0, 0.2), b(1.0, 0.2);
  const auto outcome =
      run_ab({&a, {}, "A"}, {&b, {}, "B"}, {.schedule = {.rounds = 7}, .warmup_runs = 0}, {}, at_rest());
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->comparison.metrics.size(), 1U);
}

TEST(AbTest, judges_gpu_figures_only_where_they_are_declared) {
  const auto with_memory = [](double bytes) {
    warpmark::Run run;
    run.outcome = Outcome::passed;
    for (const bool time : {true, false}) {
      Metric metric{.id = time ? "time" : std::string(kGpuPeakMemory), .unit = time ? "s" : "B"};
      metric.samples = {time ? 1.0 : bytes};
      metric.round_sizes = {1};
      metric.summary = stats::summarize(metric.samples);
      run.metrics.push_back(metric);
    }
    return run;
  };
  for (const bool declared : {false, true}) {
    AbOptions options{.schedule = {.rounds = 8}};
    if (declared) options.declared = {std::string(kGpuPeakMemory)};
    std::vector<AbSample> samples;
    for (std::int64_t i = 0; i < options.schedule.slots(); ++i) {
      const Slot slot = options.schedule.slot(i);
      samples.push_back({slot, with_memory(slot.variant == 0 ? 1e9 : 2e9)});
    }
    const auto comparison = judge_samples(samples, options, true);
    EXPECT_EQ(overall(comparison), declared ? Verdict::worse : Verdict::same);
  }
}

TEST(AbTest, ends_with_the_error_of_an_experiment_and_names_its_variant) {
  FakeExperiment a(wobble), b(wobble);
  b.error = data_error("ended with exit code 3", "it said: no");
  const auto outcome = run_ab({&a, {}, "old"}, {&b, {}, "new"}, {}, {}, at_rest());
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().what, "new: ended with exit code 3");
}

TEST(AbTest, refuses_variants_without_a_common_metric) {
  FakeExperiment a(wobble), b(wobble);
  b.metric = "loss";
  EXPECT_FALSE(run_ab({&a, {}, "A"}, {&b, {}, "B"}, {}, {}, at_rest()).ok());
}

TEST(AbTest, distrusts_variants_that_the_machine_treated_differently) {
  FakeExperiment a(wobble), b([](std::int64_t run) { return 1.2 * wobble(run); });
  const auto load = [](double share) {
    return [share](std::int64_t run) {
      Environment environment;
      environment.readings.push_back({"other_load", "1", std::nullopt, share + 0.001 * static_cast<double>(run)});
      return environment;
    };
  };
  a.environment = load(0.02);
  b.environment = load(0.40);
  const auto outcome = run_ab({&a, {}, "A"}, {&b, {}, "B"}, {}, {}, at_rest());
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(overall(outcome->comparison), Verdict::unreliable);
  EXPECT_NE(outcome->comparison.metrics[0].reason.find("other processes used"), std::string::npos);
}

std::vector<Environment> with_reading(const std::string& id, double value, double step) {
  std::vector<Environment> runs(10);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].readings.push_back({id, "", std::nullopt, value + step * static_cast<double>(i)});
  }
  return runs;
}

TEST(EnvironmentGuard, finds_differences_in_clocks_and_throttling) {
  const auto fast = with_reading("cuda:0.sm_clock", 1.98e9, 1e5), slow = with_reading("cuda:0.sm_clock", 1.7e9, 1e5);
  ASSERT_EQ(compare_environments(fast, slow).size(), 1U);
  EXPECT_NE(compare_environments(fast, slow)[0].cause.find("1980 MHz during A"), std::string::npos);
  EXPECT_TRUE(compare_environments(fast, fast).empty());
  std::vector<Environment> calm(10), hot(10);
  for (auto& run : hot) run.disturbances.push_back({"throttle", "cuda:0 was slowed down: hw_thermal_slowdown", false});
  EXPECT_EQ(compare_environments(calm, hot).size(), 1U);
  EXPECT_TRUE(compare_environments(hot, hot).empty()) << "both alike is noise, not a difference";
}

TEST(EnvironmentGuard, takes_the_power_cap_for_a_part_of_the_machine) {
  const auto fast = with_reading("cuda:0.sm_clock", 1.98e9, 1e5);
  auto dense = with_reading("cuda:0.sm_clock", 1.7e9, 1e5);
  for (auto& run : dense)
    run.disturbances.push_back({measure::kPowerCapId, "cuda:0 ran at its power cap", false, "cuda:0"});
  EXPECT_TRUE(compare_environments(fast, dense).empty()) << "denser work reaches the cap";
  EXPECT_TRUE(compare_environments(dense, fast).empty());
  for (auto& run : dense) run.disturbances.front().device = "cuda:1";
  EXPECT_EQ(compare_environments(fast, dense).size(), 1U) << "not of the GPU whose clock differs";
  for (std::size_t i = 0; i < dense.size(); ++i) {
    dense[i].disturbances.clear();
    if (i < 2) dense[i].disturbances.push_back({measure::kPowerCapId, "cuda:0 ran at its power cap", false, "cuda:0"});
  }
  EXPECT_EQ(compare_environments(fast, dense).size(), 1U) << "the cap explains two of ten runs only";
}

TEST(EnvironmentGuard, takes_small_or_chance_differences_for_noise) {
  EXPECT_TRUE(
      compare_environments(with_reading("other_load", 0.02, 0.001), with_reading("other_load", 0.05, 0.001)).empty());
  std::vector<Environment> a = with_reading("other_load", 0.1, 0), b = a;
  a[0].readings[0].after = 1;  // one burst
  EXPECT_TRUE(compare_environments(a, b).empty());
}

TEST(HostReadings, are_shares_of_the_machine_without_what_was_measured) {
  const device::Conditions before{
      .sensors = {{"busy_time", "s", 100.0}, {"steal_time", "s", 5.0}, {"process_time", "s", 1.0}}};
  const device::Conditions after{
      .sensors = {{"busy_time", "s", 104.0}, {"steal_time", "s", 5.4}, {"process_time", "s", 1.5}}};
  const auto readings = host_readings(before, after, 2, 2.5, 2);
  ASSERT_EQ(readings.size(), 3U);
  EXPECT_NEAR(*readings[0].after, 0.25, 1e-12);
  EXPECT_NEAR(*readings[1].after, 0.1, 1e-12);
  EXPECT_NEAR(*readings[2].after, 1.25, 1e-12) << "processors used";
  const auto brief = host_readings(before, after, 0.1, 0.1, 2);
  ASSERT_EQ(brief.size(), 1U) << "ticks of 10 ms cannot tell shares";
  EXPECT_EQ(brief[0].id, "cpus_used");
}

class JournalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "warpmark-journal-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return (folder_ / "a.jsonl").string(); }
  std::filesystem::path folder_;
};

TEST_F(JournalTest, starts_anew_where_the_first_line_is_no_head_of_a_journal) {
  for (const char* line : {"[1]\n", "3\n", "{\"schema\": 4}\n", "{\"schema\": [], \"request\": {}}\n"}) {
    ASSERT_TRUE(write_file(path(), line).ok());
    const auto journal = Journal::open(path(), "request", "first", false);
    ASSERT_TRUE(journal.ok()) << journal.error().what;
    EXPECT_EQ(journal->id(), "first") << line;
  }
}

TEST_F(JournalTest, lets_an_interrupted_comparison_go_on_as_if_it_had_not_been) {
  const AbOptions options{.schedule = {.rounds = 12, .seed = 4}, .warmup_runs = 0, .stop_early = false};
  FakeExperiment whole_a(wobble), whole_b(wobble);
  const auto whole = run_ab({&whole_a, {}, "A"}, {&whole_b, {}, "B"}, options, {}, at_rest());
  FakeExperiment a(wobble), b(wobble);
  {
    auto journal = Journal::open(path(), "request", "first", false);
    ASSERT_TRUE(journal.ok()) << journal.error().what;
    AbEvents events = at_rest();
    int left = 9;
    events.sample_done = [&](const AbSample& sample) -> Status {
      if (left-- == 0) return environment_error("killed");
      return journal->append(sample);
    };
    ASSERT_FALSE(run_ab({&a, {}, "A"}, {&b, {}, "B"}, options, {}, events).ok());
  }
  {  // the crash came in the middle of a line
    std::ofstream file(path(), std::ios::app);
    file << R"({"variant":0,"round":4,"ends)";
  }
  auto journal = Journal::open(path(), "request", "second", false);
  ASSERT_TRUE(journal.ok()) << journal.error().what;
  EXPECT_EQ(journal->id(), "first");
  auto known = journal->take_samples();
  ASSERT_EQ(known.size(), 9U);
  // The lost run is measured again: its variant's counter goes one back.
  (options.schedule.slot(9).variant == 0 ? a : b).runs -= 1;
  AbEvents events = at_rest();
  events.sample_done = [&](const AbSample& sample) { return journal->append(sample); };
  const auto resumed = run_ab({&a, {}, "A"}, {&b, {}, "B"}, options, std::move(known), events);
  ASSERT_TRUE(resumed.ok()) << resumed.error().what;
  EXPECT_EQ(resumed->comparison.metrics[0].a, whole->comparison.metrics[0].a);
  EXPECT_EQ(resumed->comparison.metrics[0].b, whole->comparison.metrics[0].b);
}

TEST_F(JournalTest, starts_anew_when_complete_or_of_another_request) {
  FakeExperiment experiment(wobble);
  const AbSample sample{{.variant = 0, .round = 0}, *experiment.run({})};
  {
    auto journal = Journal::open(path(), "one", "1", false);
    ASSERT_TRUE(journal->append(sample).ok());
  }
  EXPECT_EQ(Journal::open(path(), "one", "2", false)->take_samples().size(), 1U);
  EXPECT_EQ(Journal::open(path(), "other", "3", false)->id(), "3");
  {
    auto journal = Journal::open(path(), "other", "4", false);
    EXPECT_EQ(journal->id(), "3");
    ASSERT_TRUE(journal->append(sample).ok());
    ASSERT_TRUE(journal->complete().ok());
  }
  EXPECT_EQ(Journal::open(path(), "other", "5", false)->id(), "5");
}

TEST_F(JournalTest, keeps_which_samples_belong_together_in_the_history) {
  FakeExperiment experiment(wobble);
  const AbSample sample{{.variant = 0, .round = 0}, *experiment.run({})};
  {
    auto journal = Journal::open(path(), "one", "1", false);
    ASSERT_TRUE(journal->end_piece().ok());
    EXPECT_TRUE(journal->pieces().empty()) << "nothing was measured";
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(journal->append(sample).ok());
    ASSERT_TRUE(journal->end_piece().ok());
    ASSERT_TRUE(journal->end_piece().ok());
    EXPECT_EQ(journal->pieces(), (std::vector<std::size_t>{2}));
    ASSERT_TRUE(journal->append(sample).ok());
  }
  {
    auto journal = Journal::open(path(), "one", "2", false);
    EXPECT_EQ(journal->take_samples().size(), 3U);
    EXPECT_EQ(journal->pieces(), (std::vector<std::size_t>{2}));
    ASSERT_TRUE(journal->append(sample).ok());
    ASSERT_TRUE(journal->end_piece().ok());
    EXPECT_EQ(journal->pieces(), (std::vector<std::size_t>{2, 4}));
  }
  EXPECT_TRUE(Journal::open(path(), "one", "3", true)->pieces().empty()) << "--fresh";
}

TEST_F(JournalTest, is_held_by_one_process_at_a_time) {
  auto journal = Journal::open(path(), "one", "1", false);
  ASSERT_TRUE(journal.ok());
  const auto second = Journal::open(path(), "one", "2", false);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind, ErrorKind::environment);
}

TEST(AbTest, refuses_samples_of_another_schedule) {
  FakeExperiment a(wobble), b(wobble);
  std::vector<AbSample> known{{{.variant = 1, .round = 7}, *a.run({})}};
  EXPECT_FALSE(run_ab({&a, {}, "A"}, {&b, {}, "B"}, {}, known, at_rest()).ok());
}

}  // namespace
}  // namespace warpmark::validate
