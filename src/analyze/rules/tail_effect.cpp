// The last wave of blocks does not fill the GPU, or there are fewer blocks than multiprocessors. The formula of the
// tail, 1 / (1 + whole waves), and the 20 % threshold as in Nsight Compute's launch rules.
#include <fmt/format.h>

#include <cmath>

#include "analyze/recommendations/kernel_profiles.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

std::optional<KernelSaving> judge_grid(const KernelProfile& profile, double waves) {
  if (!has_small_grid(profile)) return std::nullopt;
  const auto grid = profile.metric("launch__grid_size"), sms = profile.metric("launch__sm_count");
  return KernelSaving{
      .fraction = unused_by_small_grid(profile),
      .text = grid && sms ? fmt::format("{:.0f} blocks on {:.0f} multiprocessors", *grid, *sms)
                          : fmt::format("{:.2f} waves of blocks", waves),
      .id = "waves",
      .value = waves,
      .fixes = {{AdviceKind::code,
                 "Launch more blocks, one for each multiprocessor at least: split the work of a block, or run other "
                 "kernels on streams of their own.",
                 "kernel<<<dim3(blocks, parts), threads>>>(y, x, count);  // each a part of what a block did"}},
      .title = "Fewer blocks than fill the GPU"};
}

std::optional<KernelSaving> judge_tail_effect(const KernelProfile& profile) {
  const double waves = profile.metric("launch__waves_per_multiprocessor").value_or(0);
  if (waves < 1) return judge_grid(profile, waves);
  const double whole = std::floor(waves);
  const double fraction = waves > whole ? 1 / (1 + whole) : 0;
  if (fraction * 100 < 100 - kNcuHigh) return std::nullopt;
  return KernelSaving{
      .fraction = fraction,
      .text = fmt::format("{:.2f} waves of blocks", waves),
      .id = "waves",
      .value = waves,
      .fixes = {{AdviceKind::code,
                 "Launch whole waves: a grid that is a multiple of what runs at once, or a grid-stride loop over "
                 "exactly that many blocks.",
                 "cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0); grid = blocks * "
                 "sm_count;"}},
      .title = "The last wave of blocks leaves multiprocessors idle"};
}

std::vector<Finding> apply_tail_effect(const Evidence& evidence) {
  return kernel_finding(kTailEffectRule, evidence, "Blocks do not fill the GPU", {}, judge_tail_effect);
}

}  // namespace

constinit const Rule kTailEffectRule = {"tail_effect", "kernel_efficiency", "Do blocks fill whole waves?",
                                        Need::kernel_profiles, apply_tail_effect};

}  // namespace warpmark::analyze
