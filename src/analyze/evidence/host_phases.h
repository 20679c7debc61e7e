// What can be said of a PyTorch program whose recording holds no GPU work: how long its steps are, and what share of
// them waits for the loader. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyze/names/ranges.h"
#include "model/finding.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

struct HostPhases {
  std::int64_t steps = 0;
  double step_s = 0;     ///< mean
  double loading = 0;    ///< share of the steps
  double optimizer = 0;  ///< share of the steps
  Loader loader = Loader::none;
};

/// Of the thread that makes the steps. By the profiler's own steps, else from one batch of the loader to the next.
/// Nothing where there are fewer than two.
[[nodiscard]] std::optional<HostPhases> host_phases_of(const Timeline& timeline);

[[nodiscard]] std::string text_of(const HostPhases& phases);
/// Where the steps wait for the loader; its gain is at most what Amdahl's law allows for the share.
[[nodiscard]] std::optional<Finding> finding_of(const HostPhases& phases);

}  // namespace warpmark::analyze
