// What a kernel profiler measured of each kernel, on one row: how near it is to the limits of the GPU, what bounds it,
// and its point under the roofs (FLOP a byte of device memory, FLOP/s).
#include <algorithm>
#include <map>
#include <optional>

#include "analyze/cures/kernel_profiles.h"
#include "analyze/names/kernel_names.h"
#include "analyze/tables/tables.h"

namespace warpmark::analyze {

namespace {

/// Executed floating point operations a cycle, as Nsight Compute's roofline section counts them: a fused one is two.
std::optional<double> flops_per_second(const KernelProfile& kernel) {
  struct Count {
    const char* metric;
    double operations;
  };
  constexpr Count kCounts[] = {
      {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed", 1},
      {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed", 1},
      {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed", 2},
      {"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum.per_cycle_elapsed", 1},
      {"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum.per_cycle_elapsed", 1},
      {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum.per_cycle_elapsed", 2},
  };
  const auto cycles = kernel.metric("smsp__cycles_elapsed.avg.per_second");
  bool any = false;
  double sum = 0;
  for (const Count& count : kCounts) {
    const auto value = kernel.metric(count.metric);
    any = any || value.has_value();
    sum += value.value_or(0) * count.operations;
  }
  return any && cycles ? std::optional(sum * *cycles) : std::nullopt;
}

const char* bound_of(const std::optional<double>& compute, const std::optional<double>& memory) {
  constexpr double kNear = 60;  // per cent of a peak, as in Nsight Compute's rules
  if (!compute && !memory) return "not measured";
  const double of_compute = compute.value_or(0), of_memory = memory.value_or(0);
  if (std::max(of_compute, of_memory) < kNear) return "latency";
  return of_compute >= of_memory ? "compute" : "memory";
}

/// Rows keep one type a column: what was not measured is an empty text.
TableValue ratio_of(const std::optional<double>& percent) {
  return percent ? TableValue(*percent / 100) : TableValue(std::string());
}
TableValue value_of(const std::optional<double>& value) {
  return value ? TableValue(*value) : TableValue(std::string());
}

}  // namespace

AnalysisTable kernel_card_table(const Evidence& evidence, std::size_t rows) {
  AnalysisTable table{"kernel_cards",
                      "Kernels as the kernel profiler measured them",
                      "The longest launch of each; times are of the profiler's serialized replays. FLOP without those "
                      "of tensor cores.",
                      {{"name", "Kernel", ""},
                       {"launches", "Launches", ""},
                       {"time", "Time", "s"},
                       {"sm", "SM", "ratio"},
                       {"memory", "Memory", "ratio"},
                       {"occupancy", "Occupancy", "ratio"},
                       {"registers", "Registers", ""},
                       {"bound", "Bound by", ""},
                       {"intensity", "FLOP/B", ""},
                       {"rate", "FLOP/s", "FLOP/s"}},
                      {}};
  struct Card {
    const KernelProfile* longest = nullptr;
    double longest_ns = -1;
    std::int64_t launches = 0;
  };
  std::map<std::string, Card> cards;
  for (const KernelProfile& kernel : evidence.session->kernels) {
    Card& card = cards[kernel.name];
    const double ns = kernel.metric("gpu__time_duration.sum").value_or(0);
    ++card.launches;
    if (ns > card.longest_ns) card.longest = &kernel, card.longest_ns = ns;
  }
  std::vector<Card> sorted;
  for (const auto& [name, card] : cards) sorted.push_back(card);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Card& a, const Card& b) { return a.longest_ns > b.longest_ns; });
  for (const Card& card : sorted) {
    if (table.rows.size() == rows) break;
    const KernelProfile& kernel = *card.longest;
    const auto compute = kernel.metric("sm__throughput.avg.pct_of_peak_sustained_elapsed");
    const auto memory = memory_throughput(kernel);
    const auto rate = flops_per_second(kernel);
    const auto bytes = kernel.metric("dram__bytes.sum.per_second");
    const bool point = rate && bytes && *bytes > 0;
    table.rows.push_back({kernel.name, card.launches, card.longest_ns * 1e-9, ratio_of(compute), ratio_of(memory),
                          ratio_of(kernel.metric("sm__warps_active.avg.pct_of_peak_sustained_active")),
                          value_of(kernel.metric("launch__registers_per_thread")),
                          std::string(bound_of(compute, memory)),
                          value_of(point ? std::optional(*rate / *bytes) : std::nullopt), value_of(rate)});
  }
  return table;
}

}  // namespace warpmark::analyze
