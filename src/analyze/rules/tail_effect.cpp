// The last wave of blocks does not fill the GPU, or there is less than one wave. Formulas and the 20 % threshold as in
// Nsight Compute's launch rules: 1 / (1 + whole waves) for the tail, 1 - waves for a small grid.
#include <fmt/format.h>

#include <cmath>

#include "analyze/recommendations/kernel_profiles.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

std::optional<KernelSaving> judge(const KernelProfile& profile) {
  const auto waves = profile.metric("launch__waves_per_multiprocessor");
  if (!waves || *waves <= 0) return std::nullopt;
  const double whole = std::floor(*waves);
  const double rest = *waves - whole;
  const double grid = profile.metric("launch__grid_size").value_or(0);
  const double sms = profile.metric("launch__sm_count").value_or(0);
  double fraction = 0;
  if (whole == 0) {
    fraction = sms > 0 && grid > 0 ? std::max(0.0, 1 - grid / sms) : 0;
  } else if (rest > 0) {
    fraction = 1 / (1 + whole);
  }
  if (fraction * 100 < 100 - kNcuHigh) return std::nullopt;
  return KernelSaving{fraction, fmt::format("{:.2f} waves of blocks", *waves), "waves", *waves, ""};
}

std::vector<Finding> apply(const Evidence& evidence) {
  return kernel_finding(
      kTailEffectRule, evidence, "The last wave of blocks leaves multiprocessors idle",
      {{AdviceKind::code,
        "Launch whole waves: a grid that is a multiple of what runs at once, or a grid-stride loop "
        "over exactly that many blocks.",
        "cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0); grid = blocks * sm_count;"}},
      judge);
}

}  // namespace

constinit const Rule kTailEffectRule = {"tail_effect", "kernel_efficiency", "Do blocks fill whole waves?",
                                        Need::kernel_profiles, apply};

}  // namespace warpmark::analyze
