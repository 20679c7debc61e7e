// Kernels that only move data: chains of elementwise kernels, gathers, and conversions between layouts.
#pragma once

#include <span>

#include "analyze/redundant/kernel_attribution.h"

namespace warpmark::analyze {

/// Gives those that have no owner yet to memory_bandwidth.
void attribute_memory_passes(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps,
                             KernelAttribution& attribution);

}  // namespace warpmark::analyze
