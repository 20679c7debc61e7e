#include "analyze/roofline.h"

#include <gtest/gtest.h>

namespace warpmark::analyze {
namespace {

DeviceInfo cpu() {
  DeviceInfo device;
  device.id = device.backend = "cpu";
  device.compute_units = 2;
  device.caches = {{1, "data", 32 << 10, 1}, {2, "unified", 1 << 20, 1}, {3, "unified", 32 << 20, 2}};
  return device;
}

Metric median_of(const char* id, const char* unit, double value) {
  Metric metric;
  metric.id = id;
  metric.unit = unit;
  metric.summary.n = 1;
  metric.summary.median = value;
  return metric;
}

Run run_of(const char* workload, double seconds, double flops, double bytes, Mode mode = Mode::cold) {
  Run run;
  run.workload = workload;
  run.device = "cpu";
  run.mode = mode;
  run.outcome = Outcome::passed;
  run.cost.flops = flops;
  run.cost.bytes = bytes;
  run.cost.flop_type = "f32";
  run.metrics.push_back(median_of("time", "s", seconds));
  if (flops > 0) run.metrics.push_back(median_of("flop_rate", "FLOP/s", flops / seconds));
  if (bytes > 0) run.metrics.push_back(median_of("bandwidth", "B/s", bytes / seconds));
  return run;
}

std::vector<Ceiling> ceilings() {
  Machine machine;
  machine.devices = {cpu()};
  const std::vector<Run> runs{run_of("copy", 1, 0, 10e9), run_of("triad", 1, 0, 12e9), run_of("gemm", 1, 100e9, 1e6),
                              run_of("launch", 1e-6, 0, 0)};
  return ceilings_from(runs, machine);
}

TEST(Ceilings, are_the_best_of_what_was_measured) {
  const auto found = ceilings();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].id, "bandwidth");
  EXPECT_EQ(found[0].scope, "memory");
  EXPECT_DOUBLE_EQ(found[0].value, 12e9);
  EXPECT_EQ(found[1].scope, "f32");
  EXPECT_EQ(found[2].id, "launch");
}

TEST(Ceilings, are_set_by_disturbed_runs_only_where_nothing_else_has_that_limit) {
  Machine machine;
  machine.devices = {cpu()};
  auto disturbed = run_of("copy", 1, 0, 99e9);
  disturbed.outcome = Outcome::unreliable;
  const auto alone = ceilings_from(std::vector<warpmark::Run>{disturbed}, machine);
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_TRUE(alone[0].unreliable);
  EXPECT_TRUE(is_set_by(alone[0], disturbed));
  EXPECT_FALSE(is_set_by(alone[0], run_of("triad", 1, 0, 12e9)));
  const auto peak = share_of_peak(run_of("x", 1, 0, 49.5e9), cpu(), alone);
  EXPECT_TRUE(peak.unreliable);
  EXPECT_DOUBLE_EQ(peak.share, 0.5);
  for (const auto& both : {std::vector<warpmark::Run>{disturbed, run_of("triad", 1, 0, 12e9)},
                           std::vector<warpmark::Run>{run_of("triad", 1, 0, 12e9), disturbed}}) {
    const auto limits = ceilings_from(both, machine);
    ASSERT_EQ(limits.size(), 1U);
    EXPECT_DOUBLE_EQ(limits[0].value, 12e9);
    EXPECT_FALSE(limits[0].unreliable);
    EXPECT_FALSE(share_of_peak(run_of("x", 1, 0, 1e9), cpu(), limits).unreliable);
  }
}

TEST(Ceilings, are_not_set_by_failed_runs) {
  Machine machine;
  machine.devices = {cpu()};
  auto failed = run_of("copy", 1, 0, 99e9);
  failed.outcome = Outcome::failed;
  EXPECT_TRUE(ceilings_from(std::vector<warpmark::Run>{failed}, machine).empty());
}

TEST(Roofline, names_the_largest_of_the_three_terms) {
  const auto memory = share_of_peak(run_of("x", 2.0, 1e9, 12e9), cpu(), ceilings());
  EXPECT_EQ(memory.bound, Bound::memory);
  EXPECT_DOUBLE_EQ(memory.share, 0.5);
  const auto compute = share_of_peak(run_of("x", 4.0, 100e9, 1e9), cpu(), ceilings());
  EXPECT_EQ(compute.bound, Bound::compute);
  EXPECT_DOUBLE_EQ(compute.share, 0.25);
  EXPECT_DOUBLE_EQ(compute.intensity, 100);
  const auto latency = share_of_peak(run_of("x", 5e-6, 100, 100), cpu(), ceilings());
  EXPECT_EQ(latency.bound, Bound::latency);
  EXPECT_NEAR(latency.share, 0.2, 1e-12);
}

TEST(Roofline, does_not_charge_a_launch_to_work_that_took_less_than_one) {
  const auto peak = share_of_peak(run_of("x", 0.5e-6, 0, 3e3), cpu(), ceilings());
  EXPECT_EQ(peak.bound, Bound::memory);
  EXPECT_NEAR(peak.share, 0.5, 1e-12);
}

TEST(Roofline, bounds_the_share_from_below_by_the_ceilings_that_are_known) {
  auto run = run_of("x", 1, 1e9, 1e9);
  run.cost.flop_type = "bf16";
  const auto known = share_of_peak(run_of("x", 1, 0, 1e9), cpu(), ceilings());
  const auto peak = share_of_peak(run, cpu(), ceilings());
  EXPECT_EQ(peak.bound, Bound::memory);
  EXPECT_DOUBLE_EQ(peak.share, known.share);
  EXPECT_EQ(peak.reason, "no flop_rate of bf16 was measured in this session");
}

TEST(Roofline, does_not_guess_without_any_ceiling_of_the_work) {
  auto run = run_of("x", 1, 1e9, 0);
  run.cost.flop_type = "bf16";
  const auto peak = share_of_peak(run, cpu(), ceilings());
  EXPECT_EQ(peak.bound, Bound::unknown);
  EXPECT_EQ(peak.share, 0);
  EXPECT_EQ(peak.reason, "no flop_rate of bf16 was measured in this session");
}

TEST(Roofline, never_sets_arithmetic_against_a_memory_peak_alone) {
  auto gemv = run_of("gemm", 1, 1e9, 1e9);  // few operations a byte
  gemv.cost.flop_type = "bf16";
  gemv.cost.rate = "flop_rate";
  const auto peak = share_of_peak(gemv, cpu(), ceilings());
  EXPECT_EQ(peak.bound, Bound::unknown);
  EXPECT_EQ(peak.share, 0);
  EXPECT_EQ(peak.reason, "no flop_rate of bf16 was measured in this session");
  gemv.cost.flop_type = "f32";
  EXPECT_EQ(share_of_peak(gemv, cpu(), ceilings()).bound, Bound::memory) << "the slower of two known peaks";
}

TEST(Roofline, sets_a_hot_result_against_the_cache_it_fits_in) {
  auto run = run_of("x", 1, 0, 1e9, Mode::hot);
  run.cost.footprint_bytes = 1 << 20;
  const auto peak = share_of_peak(run, cpu(), ceilings());
  EXPECT_EQ(peak.reason, "no bandwidth of L2 was measured in this session");
}

TEST(LevelOf, counts_all_instances_that_a_launch_can_use) {
  EXPECT_EQ(level_of(cpu(), 64 << 10), "L1");
  EXPECT_EQ(level_of(cpu(), 65 << 10), "L2");
  EXPECT_EQ(level_of(cpu(), 2 << 20), "L2");
  EXPECT_EQ(level_of(cpu(), 32 << 20), "L3");
  EXPECT_EQ(level_of(cpu(), 33 << 20), "memory");
}

}  // namespace
}  // namespace warpmark::analyze
