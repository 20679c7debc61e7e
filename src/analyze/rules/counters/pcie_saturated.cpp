// The link between host and GPU is at its limit.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/recommendations/counters.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

struct Busy {
  int device = -1;
  double share = 0;  ///< of the samples with the link at its limit
  double highest = 0;
  double limit = 0;
  bool link_known = false;
  bool as_share = false;  ///< highest and limit are ratios of the link's rate
};

/// Rates against what the link carries, and what Nsight Systems samples, which is that share already.
constexpr struct {
  const char* id;
  bool as_share;
} kCounters[] = {{"pcie_rx", false}, {"pcie_tx", false}, {"pcie_rx_utilization", true}, {"pcie_tx_utilization", true}};

std::optional<Busy> busiest(const Evidence& evidence) {
  std::optional<Busy> worst;
  for (const auto& [id, as_share] : kCounters) {
    for (const CounterSeries* series : series_of(evidence, id)) {
      if (!is_used(evidence, *series)) continue;
      const auto [limit, known] = as_share ? LinkRate{1, true} : link_rate(evidence, series->device);
      if (limit <= 0 || series->values.empty()) continue;
      const auto busy = std::count_if(series->values.begin(), series->values.end(),
                                      [limit = limit](double value) { return value >= kNearlyAll * limit; });
      Busy one{series->device,
               static_cast<double>(busy) / static_cast<double>(series->values.size()),
               highest_of(*series).value_or(0),
               limit,
               known,
               as_share};
      if (one.share > 0 && (!worst || one.share > worst->share)) worst = one;
    }
  }
  return worst;
}

std::vector<Finding> apply(const Evidence& evidence) {
  const auto link = busiest(evidence);
  if (!link) return {};
  const double step = evidence.has_timeline() ? evidence.rank().undisturbed_step_ns() : 1e9;
  double lost = step * link->share;
  if (evidence.has_timeline()) {  // only what computation does not hide
    lost = std::min(lost, evidence.rank().part_ns(Part::exposed_copy_to_device) +
                              evidence.rank().part_ns(Part::exposed_copy_to_host));
  }
  Finding finding = make_finding(kPcieSaturatedRule, lost, step,
                                 fmt::format("The PCIe link of GPU {} is at its limit in {:.0f} % of "
                                             "the samples",
                                             link->device, link->share * 100));
  if (!evidence.has_timeline()) finding.lost_ns = 0;
  finding.evidence = {
      share_fact("saturated_share", "Samples at the limit of the link", link->share),
      link->as_share
          ? share_fact("pcie_share", "Highest share of the link's rate", link->highest)
          : Fact{fmt::format("Highest rate: {:.1f} GB/s of about {:.1f} GB/s{}", link->highest * 1e-9,
                             link->limit * 1e-9, link->link_known ? "" : " (assumed, as the link was not sampled)"),
                 "pcie_rate", link->highest, "B/s"},
  };
  advise(evidence, {kSendFewerBytes}, finding);
  finding.recommendations.push_back(
      {AdviceKind::command, "Check that the link has its full width and generation.",
       "nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.width.current --format=csv"});
  finding.gain = at_most(amdahl(lost, step), "copies at the limit of the link removed");
  return {finding};
}

}  // namespace

constinit const Rule kPcieSaturatedRule = {"pcie_saturated", "environment",
                                           "Is the link between host and GPU at its limit?", Need::counters, apply};

}  // namespace warpmark::analyze
