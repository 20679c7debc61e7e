// The rules of the catalog, one file each.
#pragma once

#include "analyze/recommendations/advice.h"
#include "analyze/recommendations/findings.h"
#include "analyze/recommendations/rule.h"
#include "base/catalog.h"

namespace warpmark::analyze {

/// Every rule, in the order in which they are asked. A new one is a line here.
#define WM_RULES(RULE)           \
  RULE(kDataLoadingRule)         \
  RULE(kHostTransferRule)        \
  RULE(kDeviceCopyRule)          \
  RULE(kCpuGpuSyncRule)          \
  RULE(kHostWorkRule)            \
  RULE(kWaitingForInputRule)     \
  RULE(kBlockingCallRule)        \
  RULE(kLaunchOverheadRule)      \
  RULE(kPrecisionRule)           \
  RULE(kAttentionRule)           \
  RULE(kMemoryBandwidthRule)     \
  RULE(kOptimizerRule)           \
  RULE(kGpuMemoryRule)           \
  RULE(kMemoryAllocationRule)    \
  RULE(kMultiGpuCommRule)        \
  RULE(kLoadImbalanceRule)       \
  RULE(kComputeBoundRule)        \
  RULE(kGpuUnderusedRule)        \
  RULE(kTensorDimensionsRule)    \
  RULE(kDataParallelRule)        \
  RULE(kOccupancyRule)           \
  RULE(kWarpDivergenceRule)      \
  RULE(kUncoalescedAccessRule)   \
  RULE(kSmEfficiencyRule)        \
  RULE(kMemoryBoundKernelRule)   \
  RULE(kTailEffectRule)          \
  RULE(kComputeBoundKernelRule)  \
  RULE(kRegisterSpillsRule)      \
  RULE(kLowUtilizationRule)      \
  RULE(kIdleMultiprocessorsRule) \
  RULE(kMemoryBusyRule)          \
  RULE(kLowClockRule)            \
  RULE(kThermalThrottleRule)     \
  RULE(kPowerThrottleRule)       \
  RULE(kPcieSaturatedRule)       \
  RULE(kGpuHealthRule)

#define WM_DECLARE_RULE(rule) extern const Rule rule;
WM_RULES(WM_DECLARE_RULE)
#undef WM_DECLARE_RULE

/// What the Python program that was started last does now.
inline constexpr const char* kPythonStacks = "py-spy dump --pid $(pgrep -n python)";

/// In the order of the list above.
[[nodiscard]] Catalog<Rule> rules();

}  // namespace warpmark::analyze
