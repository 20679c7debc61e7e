// Shared by the rules on kernel profiles: launches grouped by kernel, and each kernel's share of the time.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/recommendations/advice.h"
#include "analyze/recommendations/rule.h"
#include "model/profile/kernel_profile.h"

namespace warpmark::analyze {

// Per cent, as in Nsight Compute's rules: a resource is used well from kNcuHigh on and limits nothing below kNcuLow;
// two figures differ that are kNcuFar points apart.
inline constexpr double kNcuHigh = 80, kNcuLow = 60, kNcuFar = 10;

extern const Advice kChooseOtherKernel;

/// The launches of a kernel.
struct KernelGroup {
  const KernelProfile* longest = nullptr;
  double longest_ns = -1;
  double total_ns = 0;  ///< of the profiler's time
  std::int64_t launches = 0;
};
[[nodiscard]] std::map<std::string, KernelGroup> kernels_by_name(const Evidence& evidence);

/// What one kernel could save: the share of its own time that goes away (0..1), and the sentence with the numbers.
struct KernelSaving {
  double fraction = 0;
  std::string text;
  std::string id;    ///< of the fact
  double value = 0;  ///< of the fact
  std::string unit;
  std::vector<Recommendation> fixes{};  ///< of what limits this kernel, beside those of the finding
  const char* title = nullptr;          ///< of the finding, if all of its kernels have the same; null: that of the rule
};

/// One finding over all kernels for which `judge`, or a rule of Nsight Compute that asks the same, sees a saving; none
/// if there is none. Judged is the longest launch of each kernel. Shares are of the timeline's steps if it has these
/// kernels, else of all profiled time: `lost_ns` is then the profiler's time, which is not comparable with a
/// timeline's. `recommendations` are for kernels that the program's author wrote, `of_library` for those of libraries
/// and compilers.
[[nodiscard]] std::vector<Finding> kernel_finding(
    const Rule& rule, const Evidence& evidence, const std::string& title, std::vector<Recommendation> recommendations,
    const std::function<std::optional<KernelSaving>(const KernelProfile&)>& judge,
    const Advice& of_library = kChooseOtherKernel);

/// Share of the multiprocessors without a block of the kernel, 0..1; of a grid of a wave and more 0. At most, where the
/// number of multiprocessors is not known.
[[nodiscard]] double unused_by_small_grid(const KernelProfile& profile);
/// So many that they come before whatever else is wrong with the kernel: 20 %, as in Nsight Compute's launch rules.
[[nodiscard]] bool has_small_grid(const KernelProfile& profile);

/// Of its peak, in per cent: all levels of memory together, else device memory alone.
[[nodiscard]] std::optional<double> memory_throughput(const KernelProfile& profile);
/// Highest of compute and memory throughput, ratio 0..1; 0 if not measured.
[[nodiscard]] double best_throughput(const KernelProfile& profile);

}  // namespace warpmark::analyze
