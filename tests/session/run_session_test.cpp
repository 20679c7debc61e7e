// Sessions on a device that the test makes: rounds, budgets, interruptions, resumption, and limits that were disturbed.
#include "session/run_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <utility>
#include <vector>

#include "stats/summary.h"
#include "support/fake_device.h"

namespace warpmark::session {
namespace {

using ::testing::HasSubstr;

class Nothing final : public measure::Prepared {
 public:
  Status launch(device::Stream, std::size_t) override { return {}; }
  Status poison() override { return {}; }
  Result<ErrorCheck> check(std::size_t) override { return ErrorCheck{0, 1e-6, "absolute error", "nothing"}; }
};

/// Under the name of the workload that sets the peak rate.
const measure::Workload kGemm{
    .id = "gemm",
    .summary = "",
    .params = {},
    .cost = [](const measure::Workload&, const Params&) -> Result<Cost> {
      return Cost{
          .flops = 1e6, .bytes = 1e3, .footprint_bytes = 3000, .flop_type = "f32", .link = "", .rate = "flop_rate"};
    },
    .supports = [](const measure::Workload&, const DeviceInfo&, const Params&) { return device::Support::yes(); },
    .prepare = [](const measure::Workload&,
                  const measure::PrepareOptions&) -> Result<std::unique_ptr<measure::Prepared>> {
      return std::unique_ptr<measure::Prepared>(std::make_unique<Nothing>());
    },
    .cases = [](const measure::Workload&, const DeviceInfo&) { return std::vector<Overrides>{{}}; },
};

class SessionOnADisturbedDevice : public ::testing::Test {
 protected:
  /// Measures in two rounds on a GPU that is too hot at the first `disturbed` readings of its conditions.
  void measure(std::size_t disturbed) {
    auto gpu = std::make_unique<test::FakeDevice>();
    gpu->device_info.backend = "cuda";
    gpu->conditions_at = [this, disturbed](std::size_t n) {
      ++readings_;
      device::Conditions conditions;
      if (n < disturbed) conditions.throttle_reasons = {"hw_thermal_slowdown"};
      return conditions;
    };
    session_.machine.devices = {gpu->device_info};
    devices_["fake"] = std::move(gpu);
    std::vector<workloads::PlannedCase> plan(1);
    plan[0].what = {&kGemm, "fake", {}, Mode::hot};
    SessionOptions options;
    options.rounds = 2;
    options.slice_s = 0.01;
    options.energy_s = 0;
    SessionEvents events;
    events.round_done = [this](const warpmark::Run&, std::int64_t) { return ++rounds_stored_, Status(); };
    events.run_done = [this](const warpmark::Run&) { return ++runs_stored_, Status(); };
    ASSERT_TRUE(run_session(plan, options, devices_, {}, events, session_).ok());
    ASSERT_EQ(session_.runs.size(), 1U);
  }

  [[nodiscard]] std::string note(const std::string& name) const {
    for (const auto& [id, text] : session_.runs[0].notes) {
      if (id == name) return text;
    }
    return "";
  }

  Devices devices_;
  Session session_;
  std::size_t readings_ = 0;
  int rounds_stored_ = 0;
  int runs_stored_ = 0;
};

constexpr ParamSpec kBatch[] = {{"batch", ParamKind::integer, "1", "samples"}};
int tried_batches = 0;

/// A model whose device holds fewer than eight samples.
const measure::Workload kModelOfFewSamples{
    .id = "model",
    .summary = "",
    .params = kBatch,
    .cost = [](const measure::Workload&, const Params&) -> Result<Cost> { return Cost{}; },
    .supports = [](const measure::Workload&, const DeviceInfo&, const Params&) { return device::Support::yes(); },
    .prepare = nullptr,
    .cases = [](const measure::Workload&, const DeviceInfo&) { return std::vector<Overrides>{{}}; },
    .measure = [](const measure::Case& what, device::Device&, const measure::RoundOptions&,
                  warpmark::Run& run) -> Status {
      ++tried_batches;
      if (what.params.integer("batch") >= 8) {
        return with_code(environment_error("not enough memory: 3 of 2"), ErrorCode::out_of_memory);
      }
      run.outcome = Outcome::passed;
      run.metrics.push_back(stats::sampled_metric("time", "s", Better::lower, {1e-3, 1e-3, 1e-3}));
      return {};
    },
};

/// Cases of a model that takes no time, in two rounds; which case and round came when.
class SessionOfThree : public ::testing::Test {
 protected:
  SessionOfThree() {
    devices_["fake"] = std::make_unique<test::FakeDevice>();
    for (const char* batch : {"1", "2", "4"}) {
      workloads::PlannedCase planned;
      planned.what = {&kModelOfFewSamples, "fake", *resolve_params(kBatch, {{"batch", batch}}), Mode::hot};
      plan_.push_back(planned);
    }
    options_.rounds = 2;
    options_.interrupted = &interrupted_;
    events_.round_done = [this](const warpmark::Run& round, std::int64_t number) {
      order_.emplace_back(round.index, number);
      if (order_.size() == interrupt_after_) interrupted_ = true;
      return order_.size() == fail_at_ ? Status(environment_error("the disk is full")) : Status();
    };
    events_.run_done = [this](const warpmark::Run& run) { return stored_.push_back(run), Status(); };
  }
  Status measure(const Known& known = {}) { return run_session(plan_, options_, devices_, known, events_, session_); }

  Devices devices_;
  std::vector<workloads::PlannedCase> plan_;
  SessionOptions options_;
  SessionEvents events_;
  Session session_;
  std::atomic<bool> interrupted_ = false;
  std::vector<std::pair<std::int64_t, std::int64_t>> order_;
  std::vector<warpmark::Run> stored_;
  std::size_t interrupt_after_ = 0, fail_at_ = 0;
};
using Order = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST_F(SessionOfThree, measures_all_cases_before_any_twice) {
  std::vector<std::size_t> done;
  events_.progress = [&](const Progress& progress) {
    EXPECT_EQ(progress.slices, 6U);
    done.push_back(progress.slices_done);
  };
  ASSERT_TRUE(measure().ok());
  EXPECT_EQ(order_, (Order{{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}, {2, 1}}));
  EXPECT_EQ(done, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
  ASSERT_EQ(session_.runs.size(), 3U);
  EXPECT_EQ(session_.runs[2].rounds, 2);
  EXPECT_EQ(session_.runs[1].repro, "warpmark run model --device fake --set mode=hot --set batch=2");
  EXPECT_TRUE(session_.complete);
}

TEST_F(SessionOfThree, keeps_what_was_measured_before_an_interruption_and_goes_on_from_there) {
  interrupt_after_ = 4;
  ASSERT_TRUE(measure().ok());
  EXPECT_FALSE(session_.complete);
  ASSERT_EQ(session_.runs.size(), 3U) << "also those of which a round is missing";
  EXPECT_THAT(session_.runs[1].notes,
              ::testing::Contains(std::pair<std::string, std::string>("rounds", "1 of 2 were measured")));
  ASSERT_EQ(stored_.size(), 0U) << "cases of an interrupted session stay open in the store";

  Known known;
  known.runs = {session_.runs[0]};
  known.rounds = {session_.runs[1], session_.runs[2]};
  interrupted_ = false;
  interrupt_after_ = 0;
  order_.clear();
  session_ = {};
  ASSERT_TRUE(measure(known).ok());
  EXPECT_EQ(order_, (Order{{1, 1}, {2, 1}}));
  EXPECT_TRUE(session_.complete);
  EXPECT_EQ(session_.runs.size(), 3U);
  EXPECT_EQ(stored_.size(), 2U);
}

TEST_F(SessionOfThree, goes_on_where_a_result_cannot_be_stored_and_returns_why) {
  fail_at_ = 2;
  const Status measured = measure();
  ASSERT_FALSE(measured.ok());
  EXPECT_THAT(measured.error().what, HasSubstr("the disk is full"));
  EXPECT_EQ(order_.size(), 6U);
  EXPECT_EQ(session_.runs.size(), 3U);
}

TEST_F(SessionOfThree, skips_what_the_budget_is_too_short_for_and_says_what_to_do) {
  options_.budget_s = 1e-9;
  ASSERT_TRUE(measure().ok());
  ASSERT_EQ(session_.runs.size(), 3U);
  for (const warpmark::Run& run : session_.runs) {
    EXPECT_EQ(run.outcome, Outcome::skipped);
    EXPECT_THAT(run.reason, HasSubstr("was used up"));
    EXPECT_THAT(run.hint, HasSubstr("--budget"));
  }
}

TEST(SessionThatDoublesTheBatch, ends_where_memory_is_used_up) {
  Devices devices;
  devices["fake"] = std::make_unique<test::FakeDevice>();
  std::vector<workloads::PlannedCase> plan;
  for (const char* batch : {"1", "2", "4", "8", "16", "32"}) {
    workloads::PlannedCase planned;
    planned.what = {&kModelOfFewSamples, "fake", *resolve_params(kBatch, {{"batch", batch}}), Mode::hot};
    planned.until_memory = true;
    plan.push_back(planned);
  }
  SessionOptions options;
  options.rounds = 1;
  Session session;
  tried_batches = 0;
  ASSERT_TRUE(run_session(plan, options, devices, {}, {}, session).ok());
  EXPECT_EQ(tried_batches, 4);
  ASSERT_EQ(session.runs.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(session.runs[i].outcome, i < 3 ? Outcome::passed : Outcome::unsupported) << session.runs[i].reason;
  }
  EXPECT_THAT(session.runs[3].reason, HasSubstr("out of memory: not enough"));
  EXPECT_THAT(session.runs[5].reason, HasSubstr("a batch of 8 was already"));
}

TEST(SessionOfWhatCannotRun, measures_no_limit_for_it) {
  Devices devices;
  Session session;
  auto device = std::make_unique<test::FakeDevice>();
  session.machine.devices = {device->device_info};
  devices["fake"] = std::move(device);
  std::vector<workloads::PlannedCase> plan(2);
  for (auto& one : plan) one.what = {&kGemm, "fake", {}, Mode::hot};
  plan[0].for_ceiling = true;
  plan[1].invalid = data_error("cannot import torch");
  SessionOptions options;
  options.rounds = 2;
  ASSERT_TRUE(run_session(plan, options, devices, {}, {}, session).ok());
  ASSERT_EQ(session.runs.size(), 1U);
  EXPECT_THAT(session.runs[0].reason, HasSubstr("cannot import torch"));
  EXPECT_TRUE(session.complete);
}

TEST_F(SessionOnADisturbedDevice, measures_a_limit_once_more) {
  measure(6);  // all of the two rounds
  EXPECT_EQ(session_.runs[0].outcome, Outcome::passed) << session_.runs[0].reason;
  EXPECT_THAT(note("measured again"), HasSubstr("the first time was unreliable: "));
  ASSERT_EQ(session_.ceilings.size(), 1U);
  EXPECT_FALSE(session_.ceilings[0].unreliable);
  EXPECT_EQ(rounds_stored_, 2);
  EXPECT_EQ(runs_stored_, 1);
}

TEST_F(SessionOnADisturbedDevice, marks_the_limit_where_the_second_time_is_no_better) {
  measure(1000);
  EXPECT_EQ(readings_, 12U) << "once more, and not again";
  EXPECT_EQ(session_.runs[0].outcome, Outcome::unreliable);
  EXPECT_THAT(note("measured again"), HasSubstr("no better the second time: "));
  ASSERT_EQ(session_.ceilings.size(), 1U);
  EXPECT_TRUE(session_.ceilings[0].unreliable);
  EXPECT_TRUE(session_.runs[0].peak->unreliable);
  EXPECT_EQ(runs_stored_, 1);
}

TEST_F(SessionOnADisturbedDevice, leaves_an_undisturbed_limit_alone) {
  measure(0);
  EXPECT_EQ(readings_, 6U);
  EXPECT_EQ(note("measured again"), "");
}

}  // namespace
}  // namespace warpmark::session
