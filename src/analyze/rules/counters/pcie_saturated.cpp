// The link between host and GPU is at its limit.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analyze/recommendations/counters.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

struct Busy {
  const CounterSeries* series = nullptr;
  double share = 0;  ///< of the samples with the link at its limit
  LinkRate limit;    ///< 1 for what Nsight Systems samples: shares of the link's rate
};

Busy busiest(const Evidence& evidence) {
  Busy worst;
  for (const auto& [id, as_share] : {std::pair{"pcie_rx", false}, std::pair{"pcie_tx", false},
                                     std::pair{"pcie_rx_utilization", true}, std::pair{"pcie_tx_utilization", true}}) {
    for (const CounterSeries* series : series_of(evidence, id)) {
      const LinkRate limit = as_share ? LinkRate{1, true} : link_rate(evidence, series->device);
      if (!is_used(evidence, *series) || limit.rate <= 0 || series->values.empty()) continue;
      const auto full =
          std::ranges::count_if(series->values, [&](double one) { return one >= kNearlyAll * limit.rate; });
      const double share = static_cast<double>(full) / static_cast<double>(series->values.size());
      if (share > worst.share) worst = {series, share, limit};
    }
  }
  return worst;
}

std::vector<Finding> apply_pcie_saturated(const Evidence& evidence) {
  const Busy link = busiest(evidence);
  if (link.series == nullptr) return {};
  const double lost = std::min(link.share, exposed_copies(evidence));
  Finding finding = counter_finding(kPcieSaturatedRule, evidence, lost,
                                    fmt::format("The PCIe link of GPU {} is at its limit in {:.0f} % of the samples",
                                                link.series->device, link.share * 100));
  const double highest = highest_of(*link.series).value_or(0);
  finding.evidence = {
      share_fact("saturated_share", "Samples at the limit of the link", link.share),
      link.limit.rate == 1
          ? share_fact("pcie_share", "Highest share of the link's rate", highest)
          : Fact{fmt::format("Highest rate: {:.1f} GB/s of about {:.1f} GB/s{}", highest * 1e-9, link.limit.rate * 1e-9,
                             link.limit.known ? "" : " (assumed, as the link was not sampled)"),
                 "pcie_rate", highest, "B/s"},
  };
  advise(evidence, {kSendFewerBytes}, finding);
  finding.recommendations.push_back(
      {AdviceKind::command, "Check that the link has its full width and generation.",
       "nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.width.current --format=csv"});
  finding.gain = at_most(amdahl(lost, 1), "copies at the limit of the link removed");
  return {finding};
}

}  // namespace

constinit const Rule kPcieSaturatedRule = {"pcie_saturated", "environment",
                                           "Is the link between host and GPU at its limit?", Need::counters,
                                           apply_pcie_saturated};

}  // namespace warpmark::analyze
