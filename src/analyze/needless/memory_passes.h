// Kernels that only move data: chains of elementwise kernels, gathers, and conversions between layouts.
#pragma once

#include <span>

#include "analyze/needless/kernel_blame.h"

namespace warpmark::analyze {

/// Gives those that have no owner yet to memory_bandwidth.
void blame_memory_passes(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps,
                         KernelBlame& blame);

}  // namespace warpmark::analyze
