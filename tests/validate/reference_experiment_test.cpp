// A command beside a reference: the ratio, the order, whose fault an error is, and that the machine's drift goes out.
#include "validate/commands/command_experiment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "validate/fake_experiment.h"

namespace warpmark::validate {
namespace {

constexpr const char* kName = "4f1c2ab0d1";

/// Tells in which order it was asked.
class Listed final : public measure::Experiment {
 public:
  Listed(std::string name, std::string& order) : name_(std::move(name)), order_(order) {}
  Result<Run> run(const measure::Config& config) override {
    order_ += name_;
    configs.push_back(config);
    Run run;
    run.outcome = Outcome::passed;
    return run;
  }
  std::vector<measure::Config> configs;

 private:
  std::string name_;
  std::string& order_;
};

TEST(ReferenceExperiment, tells_the_ratio_of_every_metric_after_the_metrics) {
  FakeExperiment subject([](std::int64_t) { return 3.0; }), reference([](std::int64_t) { return 2.0; });
  subject.better = reference.better = Better::higher;
  ReferenceExperiment pair(subject, reference, kName, 1);
  const auto run = pair.run({});
  ASSERT_TRUE(run.ok());
  ASSERT_EQ(run->metrics.size(), 2U);
  EXPECT_EQ(run->metrics[0].id, "time");
  EXPECT_EQ(run->metrics[0].samples, std::vector<double>{3});
  EXPECT_EQ(run->metrics[1].id, "time_vs_4f1c2ab0d1");
  EXPECT_EQ(run->metrics[1].unit, "x");
  EXPECT_EQ(run->metrics[1].better, Better::higher);
  EXPECT_EQ(run->metrics[1].samples, std::vector<double>{1.5});
  EXPECT_EQ(run->metrics[1].summary.median, 1.5);
}

TEST(ReferenceExperiment, has_no_ratio_where_the_reference_has_no_such_metric_or_nothing) {
  FakeExperiment subject([](std::int64_t) { return 3.0; }), reference([](std::int64_t) { return 0.0; });
  ReferenceExperiment pair(subject, reference, kName, 1);
  EXPECT_EQ(pair.run({})->metrics.size(), 1U);
  FakeExperiment other([](std::int64_t) { return 2.0; });
  other.metric = "speed";
  ReferenceExperiment strangers(subject, other, kName, 1);
  EXPECT_EQ(strangers.run({})->metrics.size(), 1U);
}

TEST(ReferenceExperiment, runs_both_with_the_same_settings_in_random_order) {
  std::string order;
  Listed subject("s", order), reference("r", order);
  ReferenceExperiment pair(subject, reference, kName, 7);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(pair.run({{"n", std::to_string(i)}}).ok());
  EXPECT_EQ(subject.configs, reference.configs);
  int reference_first = 0;
  for (std::size_t i = 0; i < order.size(); i += 2) {
    EXPECT_NE(order[i], order[i + 1]);
    reference_first += order[i] == 'r' ? 1 : 0;
  }
  EXPECT_GT(reference_first, 70);
  EXPECT_LT(reference_first, 130);
  std::string again;
  Listed subject_again("s", again), reference_again("r", again);
  ReferenceExperiment same(subject_again, reference_again, kName, 7);
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(same.run({}).ok());
  EXPECT_EQ(again, order);
}

TEST(ReferenceExperiment, says_whose_fault_an_error_is) {
  FakeExperiment subject([](std::int64_t) { return 3.0; }), reference([](std::int64_t) { return 2.0; });
  reference.error = data_error("it crashed", "fix it");
  ReferenceExperiment pair(subject, reference, kName, 1);
  for (int i = 0; i < 8; ++i) {
    const auto run = pair.run({});
    ASSERT_FALSE(run.ok());
    EXPECT_EQ(run.error().what, "the reference 4f1c2ab0d1: it crashed");
    EXPECT_EQ(run.error().hint, "fix it");
    EXPECT_EQ(run.error().kind, ErrorKind::data);
  }
  reference.error.reset();
  subject.error = environment_error("too slow");
  for (int i = 0; i < 8; ++i) EXPECT_EQ(pair.run({}).error().what, "too slow");
}

TEST(ReferenceExperiment, what_the_machine_does_to_both_goes_out_of_the_ratio) {
  // Neighbours come and go: the machine is up to three times as slow for seconds, and both meet it.
  const auto machine = [](std::int64_t i) { return 2 + std::sin(static_cast<double>(i) * 0.11); };
  FakeExperiment subject([&](std::int64_t i) { return 1.03 * machine(i); }), reference(machine);
  ReferenceExperiment pair(subject, reference, kName, 3);
  double least = 10, most = 0, least_time = 10, most_time = 0;
  for (int i = 0; i < 100; ++i) {
    const auto run = pair.run({});
    least = std::min(least, run->metrics[1].samples[0]);
    most = std::max(most, run->metrics[1].samples[0]);
    least_time = std::min(least_time, run->metrics[0].samples[0]);
    most_time = std::max(most_time, run->metrics[0].samples[0]);
  }
  EXPECT_GT(most_time / least_time, 2);
  EXPECT_NEAR(least, 1.03, 1e-12);
  EXPECT_NEAR(most, 1.03, 1e-12);
}

TEST(RatioMetric, is_told_from_other_names) {
  EXPECT_EQ(ratio_metric("cpu_time", kName), "cpu_time_vs_4f1c2ab0d1");
  EXPECT_EQ(metric_of_ratio("cpu_time_vs_4f1c2ab0d1"), "cpu_time");
  EXPECT_EQ(metric_of_ratio("a_vs_b_vs_4f1c2ab0d1"), "a_vs_b");
  for (const auto* id : {"cpu_time", "a_vs_b", "_vs_4f1c2ab0d1", "x_vs_4f1c2ab0d", "x_vs_4F1C2AB0D1", ""}) {
    EXPECT_EQ(metric_of_ratio(id), "") << id;
  }
  EXPECT_EQ(reference_name("4f1c2ab0d1e2f3"), kName);
}

}  // namespace
}  // namespace warpmark::validate
