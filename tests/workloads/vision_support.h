// Runs a vision workload once on the CPU implementation and checks it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "measure/workload.h"
#include "support/fake_device.h"

namespace warpmark::workloads {

extern const measure::Workload kFusedTexture;
extern const measure::Workload kTopKPatches;
extern const measure::Workload kOpponentBalance;

namespace test {

/// A CPU device whose memory is the heap's.
inline warpmark::test::FakeDevice cpu_device() {
  warpmark::test::FakeDevice device;
  device.device_info.id = "cpu";
  device.device_info.backend = "cpu";
  return device;
}

inline Result<Params> params_of(const measure::Workload& workload, const Overrides& overrides) {
  return resolve_params(workload.params, overrides);
}

inline Result<Cost> cost_of(const measure::Workload& workload, const Overrides& overrides) {
  WM_ASSIGN(const Params params, params_of(workload, overrides));
  return workload.cost(workload, params);
}

/// Prepares two sets, launches and checks the second, and checks that the first, still poisoned, fails.
inline void expect_correct(const measure::Workload& workload, const Overrides& overrides) {
  auto device = cpu_device();
  const auto params = params_of(workload, overrides);
  ASSERT_TRUE(params.ok()) << params.error().what;
  SCOPED_TRACE(to_text(*params));
  ASSERT_TRUE(workload.cost(workload, *params).ok());
  ASSERT_TRUE(workload.supports(workload, device.info(), *params).available);
  auto prepared = workload.prepare(workload, {.device = device, .params = *params, .sets = 2, .seed = 17});
  ASSERT_TRUE(prepared.ok()) << prepared.error().what;
  ASSERT_TRUE((*prepared)->poison().ok());
  ASSERT_TRUE((*prepared)->launch(device.stream(), 1).ok());
  const auto right = (*prepared)->check(1);
  ASSERT_TRUE(right.ok());
  EXPECT_LE(right->value, right->tolerance) << right->norm;
  const auto unwritten = (*prepared)->check(0);
  ASSERT_TRUE(unwritten.ok());
  EXPECT_GT(unwritten->value, unwritten->tolerance);
}

}  // namespace test
}  // namespace warpmark::workloads
