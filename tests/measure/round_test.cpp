#include "measure/round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/clock.h"
#include "support/fake_device.h"

namespace warpmark::measure {
namespace {

using ::testing::HasSubstr;

/// Writes one float a launch; `broken` sets write nothing, so that the poison stays.
class Doubler final : public Prepared {
 public:
  Doubler(std::vector<float>& outputs, bool broken, std::size_t& launches)
      : outputs_(outputs), broken_(broken), launches_(launches) {}
  Status launch(device::Stream, std::size_t set) override {
    ++launches_;
    if (!broken_) outputs_[set] = 2.0F;
    return {};
  }
  Status poison() override {
    std::fill(outputs_.begin(), outputs_.end(), std::nanf(""));
    return {};
  }
  Result<ErrorCheck> check(std::size_t set) override {
    const double error = std::fabs(static_cast<double>(outputs_[set]) - 2.0);
    return ErrorCheck{std::isnan(error) ? 1e300 : error, 1e-6, "absolute error", "the number 2"};
  }

 private:
  std::vector<float>& outputs_;
  bool broken_;
  std::size_t& launches_;
};

constexpr ParamSpec kParams[] = {{"n", ParamKind::integer, "4", "count"}};

struct Bench {
  std::vector<float> outputs;
  bool broken = false;
  bool supported = true;
  std::size_t launches = 0;
};

const Bench& bench_of(const Workload& self) { return *static_cast<const Bench*>(self.extension); }

Result<Cost> cost(const Workload&, const Params& params) {
  if (params.integer("n") == 0) return usage_error("n is 0", "give n of at least 1");
  return Cost{.flops = 1e6, .bytes = 1e3, .footprint_bytes = 300'000, .flop_type = "f32", .link = ""};
}

device::Support supports(const Workload& self, const DeviceInfo&, const Params&) {
  return bench_of(self).supported ? device::Support::yes() : device::Support::no("needs a frobnicator", "buy one");
}

Result<std::unique_ptr<Prepared>> prepare(const Workload& self, const PrepareOptions& options) {
  auto& bench = *static_cast<Bench*>(const_cast<void*>(self.extension));
  bench.outputs.assign(options.sets, 0);
  return std::unique_ptr<Prepared>(std::make_unique<Doubler>(bench.outputs, bench.broken, bench.launches));
}

std::vector<Overrides> cases(const Workload&, const DeviceInfo&) { return {{}}; }

class MeasureRound : public ::testing::Test {
 protected:
  warpmark::Run measure(Mode mode = Mode::cold) {
    const Workload workload{.id = "doubler",
                            .summary = "",
                            .params = kParams,
                            .cost = cost,
                            .supports = supports,
                            .prepare = prepare,
                            .cases = cases,
                            .extension = &bench_};
    const Case what{&workload, "fake", *resolve_params(kParams, overrides_), mode};
    return measure_round(what, device_, options_);
  }

  Bench bench_;
  Overrides overrides_;
  test::FakeDevice device_;
  RoundOptions options_;
};

TEST_F(MeasureRound, passes_with_time_rates_and_an_error_value) {
  const auto run = measure();
  EXPECT_EQ(run.outcome, Outcome::passed) << run.reason;
  ASSERT_EQ(run.metrics.size(), 3U);
  EXPECT_EQ(run.metrics[0].id, "time");
  EXPECT_DOUBLE_EQ(run.metrics[0].summary.median, 1e-3);
  EXPECT_DOUBLE_EQ(run.metrics[1].summary.median, 1e9);
  EXPECT_DOUBLE_EQ(run.metrics[2].summary.median, 1e6);
  EXPECT_TRUE(run.converged);
  ASSERT_TRUE(run.error.has_value());
  EXPECT_EQ(run.error->value, 0);
}

TEST_F(MeasureRound, rotates_over_more_than_twice_the_cache_when_cold) {
  const auto run = measure(Mode::cold);
  EXPECT_GT(run.timing.sets * 300'000, 2 * (std::int64_t{1} << 20));
  const auto& launched = device_.log().launched_sets;
  EXPECT_EQ(std::set<std::size_t>(launched.begin(), launched.end()).size(), static_cast<std::size_t>(run.timing.sets));
}

TEST_F(MeasureRound, stays_on_one_set_when_hot) { EXPECT_EQ(measure(Mode::hot).timing.sets, 1); }

TEST_F(MeasureRound, fails_a_wrong_output_and_shows_no_speed) {
  bench_.broken = true;
  const auto run = measure();
  EXPECT_EQ(run.outcome, Outcome::failed);
  EXPECT_TRUE(run.metrics.empty());
  EXPECT_THAT(run.reason, HasSubstr("wrong output"));
}

TEST_F(MeasureRound, turns_errors_into_outcomes_with_reason_and_hint) {
  overrides_ = {{"n", "0"}};
  const auto bad = measure();
  EXPECT_EQ(bad.outcome, Outcome::error);
  EXPECT_EQ(bad.reason, "n is 0");
  overrides_ = {};
  bench_.supported = false;
  const auto unsupported = measure();
  EXPECT_EQ(unsupported.outcome, Outcome::unsupported);
  EXPECT_EQ(unsupported.hint, "buy one");
  bench_.supported = true;
  EXPECT_EQ(measure(Mode::graph).outcome, Outcome::unsupported);
}

TEST_F(MeasureRound, batches_work_shorter_than_a_hundred_timer_steps_and_says_so) {
  device_.timer_info.resolution_s = 1e-6;
  device_.seconds_per_launch = [](std::size_t) { return 7e-6; };
  const auto run = measure();
  EXPECT_EQ(run.timing.launches_per_sample, 15);
  EXPECT_NEAR(run.metrics[0].summary.median, 7e-6, 1e-12);
  ASSERT_FALSE(run.notes.empty());
  EXPECT_EQ(run.notes[0].first, "batched");
}

TEST_F(MeasureRound, distrusts_a_disturbed_measurement_with_its_cause) {
  device_.device_info.backend = "cpu";
  device_.conditions_at = [](std::size_t n) {
    return device::Conditions{{{"core_clock", "Hz", n == 0 ? 3.0e9 : 2.0e9}}, {}, {}};
  };
  const auto run = measure();
  EXPECT_EQ(run.outcome, Outcome::unreliable);
  EXPECT_THAT(run.reason, HasSubstr("core clock went from 3000 to 2000 MHz"));
  EXPECT_FALSE(run.metrics.empty());
}

TEST_F(MeasureRound, distrusts_samples_during_which_a_thread_waited_for_a_cpu) {
  device_.device_info.backend = "cpu";
  device_.conditions_at = [](std::size_t n) {
    device::Conditions conditions;
    conditions.threads = {{7, n == 0 ? 1.0 : 1e6, n == 0 ? 10 : 1010}};
    return conditions;
  };
  const auto run = measure();
  EXPECT_EQ(run.outcome, Outcome::unreliable);
  EXPECT_THAT(run.reason, HasSubstr("waited 100 % of the time for a CPU"));
}

TEST_F(MeasureRound, distrusts_a_short_round_amid_the_load_of_others) {
  // The longer time that ends with it tells, unless that is mostly of another round.
  for (const auto& [earlier_ns, outcome] :
       {std::pair{500'000'000LL, Outcome::unreliable}, std::pair{5'000'000'000LL, Outcome::passed}}) {
    device_.device_info.backend = "cpu";
    HostHistory history;
    history.note(monotonic_ns() - earlier_ns, {{{"busy_time", "s", 0.0}, {"process_time", "s", 0.0}}, {}, {}});
    device_.conditions_at = [](std::size_t) {
      return device::Conditions{{{"busy_time", "s", 1e6}, {"process_time", "s", 0.0}}, {}, {}};
    };
    options_.history = &history;
    const auto run = measure();
    EXPECT_EQ(run.outcome, outcome);
    EXPECT_EQ(run.reason.find("other processes used 100 % of the CPU time") != std::string::npos,
              outcome == Outcome::unreliable)
        << run.reason;
  }
}

TEST_F(MeasureRound, ends_after_the_launch_in_flight_when_interrupted) {
  const std::atomic<bool> interrupted{true};
  options_.interrupted = &interrupted;
  const auto run = measure();
  EXPECT_EQ(run.outcome, Outcome::skipped);
  EXPECT_EQ(run.reason, "interrupted");
}

TEST_F(MeasureRound, has_an_energy_only_where_the_device_counts_it) {
  options_.energy_s = 0.01;
  for (const auto& metric : measure().metrics) EXPECT_NE(metric.id, "energy");
  // 3 J a launch on top of what was counted before.
  device_.conditions_at = [&](std::size_t) {
    return device::Conditions{{{"energy", "J", 1000 + 3.0 * static_cast<double>(bench_.launches)}}, {}, {}};
  };
  const auto run = measure();
  ASSERT_EQ(run.metrics.back().id, "energy");
  EXPECT_EQ(run.metrics.back().unit, "J");
  EXPECT_DOUBLE_EQ(run.metrics.back().summary.median, 3);
  // A counter that stood still, as one that was reset, tells nothing.
  device_.conditions_at = [](std::size_t) { return device::Conditions{{{"energy", "J", 1000.0}}, {}, {}}; };
  for (const auto& metric : measure().metrics) EXPECT_NE(metric.id, "energy");
}

Cost of_footprint(std::int64_t bytes) {
  Cost cost;
  cost.footprint_bytes = bytes;
  return cost;
}

TEST(SetsFor, refuses_to_call_cold_what_cannot_be_rotated_enough) {
  DeviceInfo device;
  device.last_level_cache_bytes = 100 << 20;
  EXPECT_EQ(*sets_for(Mode::cold, of_footprint(300 << 20), device), 1U);
  EXPECT_EQ(*sets_for(Mode::cold, of_footprint(10 << 20), device), 21U);
  EXPECT_EQ(*sets_for(Mode::hot, of_footprint(10 << 20), device), 1U);
  const auto tiny = sets_for(Mode::cold, of_footprint(64), device);
  ASSERT_FALSE(tiny.ok());
  EXPECT_EQ(tiny.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(tiny.error().hint, HasSubstr("mode=hot"));
}

TEST(TakeMode, removes_the_mode_and_refuses_an_unknown_one) {
  Overrides overrides{{"mode", "hot"}, {"n", "3"}};
  EXPECT_EQ(*take_mode(overrides, Mode::cold), Mode::hot);
  EXPECT_EQ(overrides, (Overrides{{"n", "3"}}));
  Overrides bad{{"mode", "warm"}};
  EXPECT_FALSE(take_mode(bad, Mode::cold).ok());
}

Run round_of(Outcome outcome, const std::vector<double>& samples) {
  Run run;
  run.outcome = outcome;
  run.reason = outcome == Outcome::passed ? "" : "because";
  run.rounds = 1;
  if (!samples.empty()) {
    run.metrics.push_back({"time", "s", Better::lower, samples, {static_cast<std::int64_t>(samples.size())}, {}});
  }
  return run;
}

TEST(MergeRounds, keeps_all_samples_and_the_size_of_each_round) {
  const std::vector<warpmark::Run> rounds{round_of(Outcome::passed, {1, 2, 3}), round_of(Outcome::passed, {4, 5})};
  const auto merged = merge_rounds(rounds, {});
  EXPECT_EQ(merged.metrics[0].samples, (std::vector<double>{1, 2, 3, 4, 5}));
  EXPECT_EQ(merged.metrics[0].round_sizes, (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(merged.metrics[0].summary.n, 5);
  EXPECT_EQ(merged.rounds, 2);
}

TEST(MergeRounds, lets_the_gravest_outcome_win) {
  const std::vector<warpmark::Run> unreliable{round_of(Outcome::passed, {1}), round_of(Outcome::unreliable, {2})};
  EXPECT_EQ(merge_rounds(unreliable, {}).outcome, Outcome::unreliable);
  EXPECT_EQ(merge_rounds(unreliable, {}).metrics[0].samples.size(), 2U);
  const std::vector<warpmark::Run> failed{round_of(Outcome::passed, {1}), round_of(Outcome::failed, {})};
  EXPECT_EQ(merge_rounds(failed, {}).outcome, Outcome::failed);
  EXPECT_TRUE(merge_rounds(failed, {}).metrics.empty());
}

TEST(MergeRounds, keeps_what_was_measured_when_later_rounds_were_skipped) {
  const std::vector<warpmark::Run> rounds{round_of(Outcome::passed, {1, 2}), round_of(Outcome::skipped, {})};
  const auto merged = merge_rounds(rounds, {});
  EXPECT_EQ(merged.outcome, Outcome::passed);
  EXPECT_EQ(merged.rounds, 1);
}

}  // namespace
}  // namespace warpmark::measure
