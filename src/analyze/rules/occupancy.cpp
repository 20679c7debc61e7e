// Too few warps on a multiprocessor to hide latency. Thresholds as in Nsight Compute's rules: theoretical occupancy
// below 80 %, or achieved below 80 % and more than 10 points below it; achieved below 30 % where the theoretical one
// was not measured. What bounds the theoretical one is the resource of which there is enough for the fewest blocks
// (CUDA programming guide, "Hardware Multithreading").
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "analyze/recommendations/kernel_profiles.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

struct Bound {
  std::string with;  ///< "50 % possible ..."
  std::vector<Recommendation> fixes;
};

Recommendation fewer_registers() {
  return {AdviceKind::code, "Use fewer registers per thread: fewer values at a time, or a bound for the compiler.",
          "__global__ void __launch_bounds__(256, 4) kernel(float* y, const float* x, int count)"};
}

Recommendation less_shared_memory() {
  return {AdviceKind::code, "Use less shared memory per block: smaller tiles, or fewer stages of them.", ""};
}

Recommendation larger_blocks() {
  return {AdviceKind::code, "Use larger blocks: a multiprocessor holds a limited number of blocks of any size.",
          "kernel<<<(count + 255) / 256, 256>>>(y, x, count);"};
}

Recommendation other_block_size() {
  return {AdviceKind::code, "Let the runtime propose the block size.",
          "cudaOccupancyMaxPotentialBlockSize(&grid, &block, kernel, 0, 0);"};
}

std::string number_of(const KernelProfile& profile, const char* metric, const char* what) {
  const auto value = profile.metric(metric);
  return value ? fmt::format("{:.0f} {}", *value, what) : std::string("its ") + what;
}

/// By the limits of blocks on a multiprocessor, which Nsight Compute prints. Of two that are alike the number of blocks
/// itself is named first: it is there whatever the kernel does.
Bound bound_of(const KernelProfile& profile) {
  const double none = std::numeric_limits<double>::infinity();
  const auto limit = [&](const char* of) {
    return profile.metric(std::string("launch__occupancy_limit_") + of).value_or(none);
  };
  const double blocks = limit("blocks"), registers = limit("registers"), shared = limit("shared_mem"),
               warps = limit("warps"), barriers = limit("barriers");
  const double least = std::min({blocks, registers, shared, warps, barriers});
  const std::string threads = number_of(profile, "launch__block_size", "threads");
  if (least == none) {
    Recommendation all = fewer_registers();
    all.text = "Use fewer registers or less shared memory per block, or blocks of another size.";
    return {"", {std::move(all), other_block_size()}};
  }
  if (blocks == least) {
    return {fmt::format(" with blocks of {}, of which a multiprocessor holds {:.0f}", threads, least),
            {larger_blocks(), other_block_size()}};
  }
  if (warps == least) {
    return {fmt::format(" with blocks of {}, of which {:.0f} fit", threads, least), {other_block_size()}};
  }
  if (registers == least) {
    return {" with " + number_of(profile, "launch__registers_per_thread", "registers") + " per thread",
            {fewer_registers()}};
  }
  if (shared == least) return {" with its shared memory per block", {less_shared_memory()}};
  return {" with its barriers per block", {}};
}

/// What would be possible was not measured: far below what most kernels reach.
std::optional<KernelSaving> judge_alone(double achieved, const KernelProfile& profile) {
  if (achieved >= kNcuLow / 2) return std::nullopt;
  return KernelSaving{std::min(1 - achieved / 100, 1 - best_throughput(profile)),
                      fmt::format("occupancy {:.0f} % achieved", achieved),
                      "achieved_occupancy",
                      achieved / 100,
                      "",
                      bound_of(profile).fixes};
}

std::optional<KernelSaving> judge_occupancy(const KernelProfile& profile) {
  if (has_small_grid(profile)) return std::nullopt;
  // Few warps are enough for a kernel that keeps the units or the memory busy, as fused attention does.
  if (best_throughput(profile) * 100 >= kNcuHigh - kNcuFar) return std::nullopt;
  const auto achieved = profile.metric("sm__warps_active.avg.pct_of_peak_sustained_active");
  const auto most = profile.metric("sm__maximum_warps_per_active_cycle_pct");
  if (achieved && !most) return judge_alone(*achieved, profile);
  const double theoretical = most.value_or(100);
  const bool possible = theoretical >= kNcuHigh;
  if (!achieved || (possible && (*achieved >= kNcuHigh || theoretical - *achieved <= kNcuFar))) return std::nullopt;
  const double fraction = std::min(1 - *achieved / 100, 1 - best_throughput(profile));
  // Enough fits: what is missing was lost to blocks that end unevenly or start slowly, and no resource is to be saved.
  Bound bound = possible ? Bound{", as blocks start slowly or end unevenly", {}} : bound_of(profile);
  return KernelSaving{
      fraction,
      fmt::format("occupancy {:.0f} % achieved, {:.0f} % possible{}", *achieved, theoretical, bound.with),
      "achieved_occupancy",
      *achieved / 100,
      "",
      std::move(bound.fixes)};
}

std::vector<Finding> apply_occupancy(const Evidence& evidence) {
  return kernel_finding(kOccupancyRule, evidence, "Low occupancy", {}, judge_occupancy);
}

}  // namespace

constinit const Rule kOccupancyRule = {"occupancy", "kernel_efficiency", "Do multiprocessors hold enough warps?",
                                       Need::kernel_profiles, apply_occupancy};

}  // namespace warpmark::analyze
