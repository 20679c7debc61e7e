// Kernels that only move data: chains of elementwise kernels, gathers, conversions between layouts, and tensors copied
// whole to append to them.
#pragma once

#include <span>

#include "analyze/needless/kernel_blame.h"
#include "analyze/recorded/recorded_shapes.h"

namespace warpmark::analyze {

/// Gives those that have no owner yet to memory_bandwidth.
void blame_memory_passes(const Timeline& timeline, const WorkList& list, std::span<const StepSpan> steps,
                         const RecordedShapes& shapes, KernelBlame& blame);

}  // namespace warpmark::analyze
