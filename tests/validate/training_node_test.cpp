// The checklist of a training node (acceptance/training-node.yaml), on results that are made up here: of a good node
// every row passes, and of a node that misses one limit that row alone fails.
#include <gtest/gtest.h>

#include <algorithm>

#include "stats/summary.h"
#include "validate/accept/acceptance.h"

namespace warpmark::validate {
namespace {

/// A result by a metric of it that the checklist asks for.
struct Measured {
  const char* workload;
  const char* device;
  const char* metric;
  const char* unit;
  double good;
  double bad;
};

constexpr Measured kMeasured[] = {
    {"command", "host", "throughput", "samples/s", 450, 380},
    {"all_reduce", "cuda", "bus_bandwidth", "B/s", 232e9, 190e9},
    {"fused_texture", "cuda:0", "time", "s", 2.1e-3, 2.7e-3},
    {"top_k_patches", "cuda:0", "time", "s", 3.1e-3, 3.9e-3},
    {"command", "host", "latency", "s", 0.150, 0.180},
    {"command", "host", "gpu_utilization", "ratio", 0.94, 0.85},
    {"command", "host", "gpu_peak_memory", "B", 70e9, 77e9},
};

Metric metric_of(const Measured& measured, double value) {
  std::vector<double> samples;
  for (int i = 0; i < 30; ++i) samples.push_back(value * (1 + 0.001 * (i % 9 - 4)));
  return stats::metric_of_rounds(measured.metric, measured.unit, Better::neither, samples);
}

/// `bad` is the index of what misses its limit; none of a negative one. `left_out` likewise was not measured.
Session node(int bad, int left_out = -1) {
  Session session;
  session.id = "20260301-000000-0000";
  session.complete = true;
  session.machine.devices.push_back({.id = "cuda:0", .backend = "cuda", .name = "NVIDIA A100-SXM4-80GB"});
  for (int i = 0; i < std::ssize(kMeasured); ++i) {
    if (i == left_out) continue;
    const Measured& measured = kMeasured[i];
    auto found = std::ranges::find(session.runs, measured.workload, &Run::workload);
    if (found == session.runs.end()) {
      Run run;
      run.workload = measured.workload;
      run.device = measured.device;
      run.outcome = Outcome::passed;
      if (run.workload == "fused_texture") {
        run.params.set("n", std::int64_t{64});
        run.params.set("impl", std::string("fused"));
      }
      if (run.workload == "top_k_patches") run.params.set("batch", std::int64_t{64});
      if (run.workload == "all_reduce") run.params.set("bytes", std::int64_t{1} << 30);
      found = session.runs.insert(session.runs.end(), std::move(run));
    }
    found->metrics.push_back(metric_of(measured, i == bad ? measured.bad : measured.good));
  }
  return session;
}

Acceptance judged(const Session& session) {
  const auto file = load_criteria("training-node");
  EXPECT_TRUE(file.ok());
  const auto criteria = parse_criteria(file->text, file->name);
  EXPECT_TRUE(criteria.ok()) << criteria.error().what;
  const auto sheets = device::built_in_datasheets();
  auto result = judge_acceptance(*criteria, {.session = &session,
                                             .no_session = {},
                                             .machine = session.machine,
                                             .facts = {},
                                             .no_facts = {},
                                             .datasheets = sheets});
  EXPECT_TRUE(result.ok()) << result.error().what;
  return result.ok() ? *result : Acceptance{};
}

TEST(TrainingNode, is_accepted_where_it_keeps_every_limit) {
  const auto acceptance = judged(node(-1));
  ASSERT_EQ(acceptance.rows.size(), std::size(kMeasured));
  for (const auto& row : acceptance.rows) EXPECT_EQ(row.state, RowState::pass) << row.title << ": " << row.reason;
  EXPECT_EQ(overall(acceptance), RowState::pass);
}

TEST(TrainingNode, fails_by_the_limit_that_it_misses_and_no_other) {
  for (int bad = 0; bad < std::ssize(kMeasured); ++bad) {
    const auto acceptance = judged(node(bad));
    EXPECT_EQ(overall(acceptance), RowState::fail);
    for (const auto& row : acceptance.rows) {
      const bool is_bad = row.metric == kMeasured[bad].metric && row.subject.starts_with(kMeasured[bad].workload);
      EXPECT_EQ(row.state, is_bad ? RowState::fail : RowState::pass) << row.title << " where bad is " << bad;
    }
  }
}

TEST(TrainingNode, is_not_accepted_where_something_was_not_measured) {
  for (int left_out = 0; left_out < std::ssize(kMeasured); ++left_out) {
    const auto acceptance = judged(node(-1, left_out));
    EXPECT_EQ(overall(acceptance), RowState::not_measurable) << left_out;
    EXPECT_EQ(std::ranges::count(acceptance.rows, RowState::not_measurable, &AcceptanceRow::state), 1) << left_out;
  }
}

/// `warpmark collective` stores every size that it measured, and small ones are slow on any node.
TEST(TrainingNode, is_judged_by_the_large_size_of_a_collective) {
  auto session = node(-1);
  const auto large = std::ranges::find(session.runs, "all_reduce", &Run::workload);
  auto small = *large;
  small.params.set("bytes", std::int64_t{8});
  small.metrics = {metric_of(kMeasured[1], 1e6)};
  session.runs.push_back(small);
  EXPECT_EQ(overall(judged(session)), RowState::pass);
}

/// A project may call the unit of its throughput as it likes.
TEST(TrainingNode, takes_any_name_of_what_is_counted_in_a_second) {
  auto session = node(-1);
  for (const char* unit : {"1/s", "images/s", "samples/s"}) {
    session.runs[0].metrics[0].unit = unit;
    EXPECT_EQ(overall(judged(session)), RowState::pass) << unit;
  }
}

/// Another implementation of the kernel decides nothing.
TEST(TrainingNode, is_judged_by_the_fused_kernel) {
  auto session = node(-1);
  const auto fused = std::ranges::find(session.runs, "fused_texture", &Run::workload);
  auto unfused = *fused;
  unfused.params.set("impl", std::string("unfused"));
  unfused.metrics = {metric_of(kMeasured[2], 9e-3)};
  session.runs.push_back(unfused);
  EXPECT_EQ(overall(judged(session)), RowState::pass);
}

}  // namespace
}  // namespace warpmark::validate
