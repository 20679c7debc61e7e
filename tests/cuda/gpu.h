// What the GPU tests share: the device, or the reason why there is none.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/backend.h"
#include "device/device.h"
#include "measure/workload.h"
#include "workloads/cuda_bridge.h"

namespace warpmark::cuda_tests {

/// Opens cuda:0 once; tests on a machine without a GPU, or without the module, are skipped.
class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto module = device::cuda_module();
    if (!module.ok()) GTEST_SKIP() << module.error().what;
    const device::Support support = (*module)->available();
    if (!support.available) GTEST_SKIP() << support.reason;
    auto opened = (*module)->open(0);
    ASSERT_TRUE(opened.ok()) << opened.error().what;
    device_ = std::move(opened).value();
  }

  /// Of two input sets: poisoned outputs fail the check, launched ones pass it.
  void expect_right_outputs(const Result<std::unique_ptr<measure::Prepared>>& prepared) {
    ASSERT_TRUE(prepared.ok()) << prepared.error().what;
    ASSERT_TRUE((*prepared)->poison().ok());
    const auto unwritten = (*prepared)->check(0);
    ASSERT_TRUE(unwritten.ok()) << unwritten.error().what;
    EXPECT_GT(unwritten->value, unwritten->tolerance) << "poisoned outputs pass";
    for (std::size_t set = 0; set < 2; ++set) {
      const Status launched = (*prepared)->launch(device_->stream(), set);
      ASSERT_TRUE(launched.ok()) << launched.error().what;
    }
    ASSERT_TRUE(device_->synchronize().ok());
    for (std::size_t set = 0; set < 2; ++set) {
      const auto check = (*prepared)->check(set);
      ASSERT_TRUE(check.ok()) << check.error().what;
      EXPECT_LE(check->value, check->tolerance) << "set " << set;
    }
  }

  std::unique_ptr<device::Device> device_;
};

/// Parameters as the descriptors would give them.
[[nodiscard]] inline Params params_of(std::vector<std::pair<std::string, ParamValue>> items) {
  Params params;
  for (auto& [name, value] : items) params.set(name, std::move(value));
  return params;
}

/// The implementation in the module.
[[nodiscard]] inline const workloads::CudaImplementation& implementation(const char* id) {
  const auto module = device::cuda_module();
  WM_CHECK(module.ok());
  const void* found = (*module)->workload(id);
  WM_CHECK(found != nullptr);
  return *static_cast<const workloads::CudaImplementation*>(found);
}

}  // namespace warpmark::cuda_tests
