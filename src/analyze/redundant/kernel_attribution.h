// Which kernels do avoidable work, and how much of their time would be left after the usual fix. Each work has one
// owner, so that no time is promised twice: optimizer before attention before precision before memory_bandwidth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analyze/names/matrix_units.h"
#include "analyze/recorded/work_list.h"
#include "analyze/steps/steps.h"
#include "model/analysis.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

enum class Owner : std::uint8_t { none, optimizer, attention, precision, memory_bandwidth };

struct KernelAttribution {
  /// Unless it has an owner already.
  void own(std::size_t work, Owner by, float left, float dispatch = 1.0F);

  MatrixUnits units;              ///< of the GPU
  std::vector<Owner> owner;       ///< per work
  std::vector<float> share_left;  ///< per work: share of its time left after the owner's fix, 0..1
  std::vector<float>
      share_left_in_16_bits;         ///< per work that is no matrix kernel: share left with 16 bits (from 64: with 32)
  std::vector<float> dispatch_left;  ///< per work: share of the host's time for it left after the owner's fix
  std::int64_t chains = 0;           ///< of elementwise kernels, two or more without other work between
  std::int64_t chain_kernels = 0;
  std::int64_t gathers = 0;
  std::int64_t layout_conversions = 0;
};

/// `steps`: a chain ends with its step, whose last results the next one does not read.
[[nodiscard]] KernelAttribution attribute_kernels(const Timeline& timeline, const WorkList& list,
                                                  std::span<const StepSpan> steps);

}  // namespace warpmark::analyze
