// What can be said of a PyTorch program whose recording holds no GPU work: how long its steps are, what share of them
// waits for the loader, and what share PyTorch has no part in. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/names/ranges.h"
#include "model/finding.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

struct HostPhases {
  std::int64_t steps = 0;
  double step_s = 0;     ///< mean
  double loading = 0;    ///< share of the steps
  double optimizer = 0;  ///< share of the steps
  double outside = 0;    ///< share of the steps in which no thread is in an operator, the loader or the optimizer
  Loader loader = Loader::none;
};

/// Of the thread that makes the steps. By the profiler's own steps, else from one batch of the loader to the next.
/// Nothing where there are fewer than two.
[[nodiscard]] std::optional<HostPhases> host_phases_of(const Timeline& timeline);

[[nodiscard]] std::string text_of(const HostPhases& phases);
/// Where the steps wait for the loader, or spend most of their time outside of PyTorch; a gain is at most what Amdahl's
/// law allows for the share.
[[nodiscard]] std::vector<Finding> findings_of(const HostPhases& phases);

}  // namespace warpmark::analyze
