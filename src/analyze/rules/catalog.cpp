#include "analyze/rules/rules.h"

namespace warpmark::analyze {

Catalog<Rule> rules() {
  static constexpr const Rule* kAll[] = {
      &kDataLoadingRule,      &kHostTransferRule,      &kCpuGpuSyncRule,      &kLaunchOverheadRule,
      &kPrecisionRule,        &kAttentionRule,         &kMemoryBandwidthRule, &kOptimizerRule,
      &kMemoryAllocationRule, &kMultiGpuCommRule,      &kLoadImbalanceRule,   &kComputeBoundRule,
      &kGpuUnderusedRule,     &kOccupancyRule,         &kWarpDivergenceRule,  &kUncoalescedAccessRule,
      &kSmEfficiencyRule,     &kMemoryBoundKernelRule, &kTailEffectRule,      &kThermalThrottleRule,
      &kPowerThrottleRule,    &kPcieSaturatedRule,
  };
  return kAll;
}

}  // namespace warpmark::analyze
