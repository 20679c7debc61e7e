#include "analyze/tables/kernel_points.h"

#include <algorithm>
#include <string_view>

#include "analyze/names/kernel_names.h"

namespace warpmark::analyze {

namespace {

/// Operations that one kind of instruction counts for, by "dfma".
struct Count {
  const char* instruction;
  double operations;
};
constexpr Count kSingle[] = {{"fadd", 1}, {"fmul", 1}, {"ffma", 2}};
constexpr Count kDouble[] = {{"dadd", 1}, {"dmul", 1}, {"dfma", 2}};

/// Executed operations a second; nothing if no instruction was counted.
template <std::size_t N>
std::optional<double> executed(const KernelProfile& kernel, const Count (&counts)[N]) {
  const auto cycles = kernel.metric("smsp__cycles_elapsed.avg.per_second");
  if (!cycles) return std::nullopt;
  std::optional<double> sum;
  for (const Count& count : counts) {
    const auto a_cycle = kernel.metric(std::string("smsp__sass_thread_inst_executed_op_") + count.instruction +
                                       "_pred_on.sum.per_cycle_elapsed");
    if (a_cycle) sum = sum.value_or(0) + *a_cycle * count.operations * *cycles;
  }
  return sum;
}

/// Paths of tensor cores that compute with floating point numbers and were used: "bf16_dst_fp32" and its FLOP/s.
std::vector<std::pair<std::string, double>> tensor_paths(const KernelProfile& kernel) {
  std::vector<std::pair<std::string, double>> paths;
  for (std::size_t i = 0; i < kernel.metrics.size(); ++i) {
    const KernelMetric metric = kernel.metrics[i];
    const std::string_view path = tensor_path_of(metric.id);
    if (metric.value > 0 && !path.empty()) paths.emplace_back(path, metric.value);
  }
  return paths;
}

/// FLOP/s of tensor cores on a path. Nsight Compute's own peak is that of 2:4 structured sparsity where the GPU has it,
/// of which dense work reaches half with the pipe always busy: the share of the peak is then half of the pipe's busy
/// time (40.69 % and 81.37 %, 48.94 % and 97.88 % of bf16 products on an H100, ncu 2025.3).
std::optional<double> tensor_peak(const KernelProfile& kernel, const std::string& path) {
  const std::string id = std::string(kTensorPath) + path + ".sum.";
  const auto peak = kernel.metric(id + "peak_sustained_elapsed.per_second");
  const auto rate = kernel.metric(id + "per_second");
  const auto busy = kernel.metric("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed");
  if (!peak || *peak <= 0) return std::nullopt;
  const double nearer_to_dense = (0.5 + 1) / 2;
  const bool is_dense = rate && busy && *busy > 0 && *rate / *peak < nearer_to_dense * *busy / 100;
  return is_dense ? *peak / 2 : *peak;
}

std::optional<double> product_of(const KernelProfile& kernel, const char* a_cycle, const char* cycles) {
  const auto amount = kernel.metric(a_cycle), clock = kernel.metric(cycles);
  return amount && clock && *amount > 0 && *clock > 0 ? std::optional(*amount * *clock) : std::nullopt;
}

}  // namespace

std::vector<KernelGroup> cards_of(const Evidence& evidence) {
  std::vector<KernelGroup> sorted;
  for (const auto& [name, card] : kernels_by_name(evidence)) sorted.push_back(card);
  std::ranges::stable_sort(sorted, std::greater<>(), &KernelGroup::longest_ns);
  return sorted;
}

std::optional<double> flops_per_second(const KernelProfile& kernel) {
  std::optional<double> sum = executed(kernel, kSingle);
  if (const auto doubles = executed(kernel, kDouble)) sum = sum.value_or(0) + *doubles;
  for (const auto& [path, rate] : tensor_paths(kernel)) sum = sum.value_or(0) + rate;
  return sum;
}

std::optional<double> dram_bytes_per_second(const KernelProfile& kernel) {
  if (const auto rate = kernel.metric("dram__bytes.sum.per_second")) return rate;
  const auto ns = kernel.metric("gpu__time_duration.sum");
  const auto read = kernel.metric("dram__bytes_read.sum"), written = kernel.metric("dram__bytes_write.sum");
  if (!ns || *ns <= 0 || !read || !written) return std::nullopt;
  return (*read + *written) / (*ns * 1e-9);
}

std::vector<KernelPeak> peaks_of(const KernelProfile& kernel) {
  std::vector<KernelPeak> peaks;
  if (const auto bandwidth =
          product_of(kernel, "dram__bytes.sum.peak_sustained", "dram__cycles_elapsed.avg.per_second")) {
    peaks.push_back({"device memory", *bandwidth, true});
  }
  const char* kClock = "sm__cycles_elapsed.avg.per_second";
  if (const auto peak = product_of(kernel, "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2", kClock)) {
    peaks.push_back({"FP32", *peak, false});
  }
  const auto doubles = product_of(kernel, "derived__sm__sass_thread_inst_executed_op_dfma_pred_on_x2", kClock);
  if (doubles && executed(kernel, kDouble).value_or(0) > 0) peaks.push_back({"FP64", *doubles, false});
  for (const auto& [path, rate] : tensor_paths(kernel)) {
    if (const auto peak = tensor_peak(kernel, path))
      peaks.push_back({"tensor " + path.substr(0, path.find('_')), *peak, false});
  }
  return peaks;
}

}  // namespace warpmark::analyze
