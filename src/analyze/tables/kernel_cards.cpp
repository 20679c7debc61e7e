// What a kernel profiler measured of each kernel, on one row: how near it is to the limits of the GPU, what bounds it,
// and its point under the peaks (FLOP a byte of device memory, FLOP/s).
#include <algorithm>
#include <map>
#include <optional>

#include "analyze/recommendations/kernel_profiles.h"
#include "analyze/tables/kernel_points.h"
#include "analyze/tables/tables.h"

namespace warpmark::analyze {

namespace {

const char* bound_of(const std::optional<double>& compute, const std::optional<double>& memory) {
  if (!compute && !memory) return "not measured";
  const double of_compute = compute.value_or(0), of_memory = memory.value_or(0);
  if (std::max(of_compute, of_memory) < kNcuLow) return "latency";
  return of_compute >= of_memory ? "compute" : "memory";
}

/// Rows keep one type a column: what was not measured is an empty text.
TableValue ratio_of(const std::optional<double>& percent) {
  return percent ? TableValue(*percent / 100) : TableValue(std::string());
}
TableValue value_of(const std::optional<double>& value) {
  return value ? TableValue(*value) : TableValue(std::string());
}

constexpr const char* kCompute = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
constexpr const char* kOccupancy = "sm__warps_active.avg.pct_of_peak_sustained_active";
constexpr const char* kRegisters = "launch__registers_per_thread";

}  // namespace

AnalysisTable kernel_card_table(const Evidence& evidence, std::size_t rows) {
  AnalysisTable table{"kernel_cards",
                      "Kernels as the kernel profiler measured them",
                      "The longest launch of each; times are of the profiler's serialized replays. FLOP as in the "
                      "roofline.",
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
  for (const KernelGroup& card : cards_of(evidence)) {
    if (table.rows.size() == rows) break;
    const KernelProfile& kernel = *card.longest;
    const auto compute = kernel.metric(kCompute);
    const auto memory = memory_throughput(kernel);
    const auto rate = flops_per_second(kernel);
    const auto bytes = dram_bytes_per_second(kernel);
    const bool point = rate && bytes && *bytes > 0;
    table.rows.push_back({kernel.name, card.launches, card.longest_ns * 1e-9, ratio_of(compute), ratio_of(memory),
                          ratio_of(kernel.metric(kOccupancy)), value_of(kernel.metric(kRegisters)),
                          std::string(bound_of(compute, memory)),
                          value_of(point ? std::optional(*rate / *bytes) : std::nullopt), value_of(rate)});
  }
  return table;
}

AnalysisTable kernel_rule_table(const Evidence& evidence, std::size_t rows) {
  AnalysisTable table{"kernel_rules",
                      "What Nsight Compute's own rules say",
                      "Of the longest launch of each kernel. Estimates are Nsight Compute's; a local one is not of the "
                      "kernel's time.",
                      {{"name", "Kernel", ""},
                       {"rule", "Rule", ""},
                       {"saving", "Estimated saving", "ratio"},
                       {"scope", "Scope", ""},
                       {"text", "Text", ""}},
                      {}};
  for (const KernelGroup& card : cards_of(evidence)) {
    std::vector<KernelRuleText> texts = card.longest == nullptr ? std::vector<KernelRuleText>() : card.longest->rules;
    std::erase_if(texts, [](const KernelRuleText& text) { return text.type == "INF"; });
    std::ranges::stable_sort(texts, std::greater<>(), &KernelRuleText::speedup_percent);
    for (const KernelRuleText& text : texts) {
      if (table.rows.size() == rows) return table;
      table.rows.push_back({card.longest->name, text.name,
                            ratio_of(text.speedup_type.empty() ? std::nullopt : std::optional(text.speedup_percent)),
                            text.speedup_type, text.description});
    }
  }
  return table;
}

AnalysisTable kernel_card_diff(const Evidence& before, const Evidence& after, std::size_t rows) {
  AnalysisTable table{"diff_kernel_cards",
                      "Kernels as the kernel profiler measured them, before and after",
                      "The longest launch of each; the largest change of time first; same: within 1 %. A kernel whose "
                      "name changed has vanished, and another one appeared.",
                      {{"name", "Kernel", ""},
                       {"change", "Change", ""},
                       {"time_before", "Before", "s"},
                       {"time_after", "After", "s"},
                       {"sm_before", "SM", "ratio"},
                       {"sm_after", "after", "ratio"},
                       {"memory_before", "Memory", "ratio"},
                       {"memory_after", "after", "ratio"},
                       {"occupancy_before", "Occupancy", "ratio"},
                       {"occupancy_after", "after", "ratio"},
                       {"registers_before", "Registers", ""},
                       {"registers_after", "after", ""}},
                      {}};
  const auto earlier = kernels_by_name(before), later = kernels_by_name(after);
  std::map<std::string, std::pair<KernelGroup, KernelGroup>> joined;
  for (const auto& [name, card] : earlier) joined[name].first = card;
  for (const auto& [name, card] : later) joined[name].second = card;
  const auto change_ns = [](const std::pair<KernelGroup, KernelGroup>& pair) {
    return std::max(0.0, pair.second.longest_ns) - std::max(0.0, pair.first.longest_ns);
  };
  std::vector<std::pair<std::string, std::pair<KernelGroup, KernelGroup>>> sorted(joined.begin(), joined.end());
  std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
    return std::abs(change_ns(a.second)) > std::abs(change_ns(b.second));
  });
  for (const auto& [name, pair] : sorted) {
    if (table.rows.size() == rows) break;
    const auto [old_card, new_card] = pair;
    const auto seconds = [](const KernelGroup& card) {
      return value_of(card.longest == nullptr ? std::nullopt : std::optional(card.longest_ns * 1e-9));
    };
    const double change = change_ns(pair);
    const char* word = old_card.longest == nullptr                          ? "appeared"
                       : new_card.longest == nullptr                        ? "vanished"
                       : std::abs(change) <= kMatters * old_card.longest_ns ? "same"
                       : change > 0                                         ? "slower"
                                                                            : "faster";
    const auto metric = [](const KernelGroup& card, const char* id) {
      return card.longest == nullptr ? std::nullopt : card.longest->metric(id);
    };
    const auto memory = [](const KernelGroup& card) {
      return card.longest == nullptr ? std::nullopt : memory_throughput(*card.longest);
    };
    table.rows.push_back({name, std::string(word), seconds(old_card), seconds(new_card),
                          ratio_of(metric(old_card, kCompute)), ratio_of(metric(new_card, kCompute)),
                          ratio_of(memory(old_card)), ratio_of(memory(new_card)),
                          ratio_of(metric(old_card, kOccupancy)), ratio_of(metric(new_card, kOccupancy)),
                          value_of(metric(old_card, kRegisters)), value_of(metric(new_card, kRegisters))});
  }
  return table;
}

}  // namespace warpmark::analyze
