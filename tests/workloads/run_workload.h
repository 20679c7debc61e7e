// Runs a workload of the catalog on a CPU device whose memory is the heap's, and looks at what its check says.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "measure/round.h"
#include "measure/workload.h"
#include "support/fake_device.h"
#include "workloads/catalog.h"

namespace warpmark::workloads::test {

/// 1 GiB of memory, 1 MiB of last-level cache, 2 cores.
inline warpmark::test::FakeDevice small_cpu() {
  warpmark::test::FakeDevice device;
  device.device_info.id = "cpu";
  device.device_info.backend = "cpu";
  device.device_info.compute_units = 2;
  device.device_info.caches = {{1, "data", 48 << 10, 1}, {2, "unified", 128 << 10, 1}, {3, "unified", 1 << 20, 2}};
  return device;
}

inline const measure::Workload& workload(std::string_view id) {
  const auto* found = find_in(catalog(), id);
  WM_CHECK(found != nullptr);
  return *found;
}

inline Result<Cost> cost_of(std::string_view id, const Overrides& overrides) {
  WM_ASSIGN(const Params params, resolve_params(workload(id).params, overrides));
  return workload(id).cost(workload(id), params);
}

/// The error's text and hint, "ok" if there is none.
inline std::string cost_error(std::string_view id, const Overrides& overrides) {
  const auto cost = cost_of(id, overrides);
  return cost.ok() ? "ok" : cost.error().what + " | " + cost.error().hint;
}

inline device::Support support_on_cpu(std::string_view id, const Overrides& overrides) {
  const auto params = resolve_params(workload(id).params, overrides);
  WM_CHECK(params.ok());
  return workload(id).supports(workload(id), small_cpu().info(), *params);
}

/// A workload with `sets` input sets, or a failure of the test.
class Prepared {
 public:
  Prepared(std::string_view id, const Overrides& overrides, std::size_t sets) : device_(small_cpu()) {
    auto params = resolve_params(workload(id).params, overrides);
    WM_CHECK(params.ok());
    params_ = *params;
    const auto cost = workload(id).cost(workload(id), params_);
    WM_CHECK(cost.ok());
    auto prepared =
        workload(id).prepare(workload(id), {.device = device_, .params = params_, .sets = sets, .seed = 20260301});
    EXPECT_TRUE(prepared.ok()) << to_text(params_) << ": " << (prepared.ok() ? "" : prepared.error().what);
    if (prepared.ok()) prepared_ = std::move(prepared).value();
  }
  [[nodiscard]] bool ok() const { return prepared_ != nullptr; }
  measure::Prepared* operator->() { return prepared_.get(); }
  [[nodiscard]] const Params& params() const { return params_; }

  void launch(std::size_t set) { EXPECT_TRUE(prepared_->launch(device_.stream(), set).ok()); }
  ErrorCheck check(std::size_t set) {
    const auto result = prepared_->check(set);
    EXPECT_TRUE(result.ok());
    return result.ok() ? *result : ErrorCheck{.value = 1e300, .tolerance = 0, .norm = "check failed", .reference = ""};
  }
  [[nodiscard]] std::string note(const std::string& key) const {
    for (const auto& [name, text] : prepared_->notes()) {
      if (name == key) return text;
    }
    return "";
  }

 private:
  warpmark::test::FakeDevice device_;
  Params params_;
  std::unique_ptr<measure::Prepared> prepared_;
};

/// Launches one of two poisoned sets: that one must pass its check, the other must not; and the first must fail again
/// when it is poisoned after its launch.
inline void expect_right_and_wrong_told_apart(std::string_view id, const Overrides& overrides) {
  Prepared prepared(id, overrides, 2);
  ASSERT_TRUE(prepared.ok());
  SCOPED_TRACE(std::string(id) + " " + to_text(prepared.params()));
  ASSERT_TRUE(prepared->poison().ok());
  prepared.launch(1);
  const ErrorCheck right = prepared.check(1);
  EXPECT_LE(right.value, right.tolerance) << right.norm << ", against " << right.reference;
  const ErrorCheck unwritten = prepared.check(0);
  EXPECT_GT(unwritten.value, unwritten.tolerance) << unwritten.norm;
  prepared.launch(0);
  const ErrorCheck other = prepared.check(0);
  EXPECT_LE(other.value, other.tolerance) << other.norm << ", against " << other.reference;
  ASSERT_TRUE(prepared->poison().ok());
  const ErrorCheck poisoned = prepared.check(1);
  EXPECT_GT(poisoned.value, poisoned.tolerance) << poisoned.norm;
}

/// A round on the CPU, as short as it can be.
inline warpmark::Run run_small(const char* id, const Overrides& overrides) {
  const auto params = resolve_params(workload(id).params, overrides);
  EXPECT_TRUE(params.ok());
  const auto device = device::open_device("cpu");
  EXPECT_TRUE(device.ok());
  measure::RoundOptions options;
  options.stopping.budget_s = 0.02;
  options.stopping.max_samples = 8;
  options.warmup.cap_s = 0.02;
  return measure::measure_round({&workload(id), "cpu", *params, Mode::hot}, **device, options);
}

}  // namespace warpmark::workloads::test
