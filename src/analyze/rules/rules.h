// The rules of the catalog, one file each.
#pragma once

#include "analyze/cures/advice.h"
#include "analyze/cures/findings.h"
#include "analyze/cures/rule.h"
#include "base/catalog.h"

namespace warpmark::analyze {

/// In the order of this list.
[[nodiscard]] Catalog<Rule> rules();

extern const Rule kDataLoadingRule;
extern const Rule kHostTransferRule;
extern const Rule kCpuGpuSyncRule;
extern const Rule kLaunchOverheadRule;
extern const Rule kPrecisionRule;
extern const Rule kAttentionRule;
extern const Rule kMemoryBandwidthRule;
extern const Rule kOptimizerRule;
extern const Rule kMemoryAllocationRule;
extern const Rule kMultiGpuCommRule;
extern const Rule kLoadImbalanceRule;
extern const Rule kComputeBoundRule;
extern const Rule kGpuUnderusedRule;
extern const Rule kOccupancyRule;
extern const Rule kWarpDivergenceRule;
extern const Rule kUncoalescedAccessRule;
extern const Rule kSmEfficiencyRule;
extern const Rule kMemoryBoundKernelRule;
extern const Rule kTailEffectRule;
extern const Rule kThermalThrottleRule;
extern const Rule kPowerThrottleRule;
extern const Rule kPcieSaturatedRule;

}  // namespace warpmark::analyze
