// Collectives of the profile beside what a communication benchmark reached on the same links.
#include "analyze/evidence/collective_traffic.h"
#include "analyze/recorded/collective_benchmarks.h"
#include "analyze/tables/tables.h"

namespace warpmark::analyze {

AnalysisTable collective_table(const Evidence& evidence, std::size_t rows) {
  AnalysisTable table{"collectives",
                      "Collectives",
                      "Calls are per step. Bus rate: bus bandwidth of the fastest call on any rank, which waited least "
                      "for others; benchmark: what nccl-tests reached at that size.",
                      {{"collective", "Collective", ""},
                       {"data_type", "Type", ""},
                       {"ranks", "Ranks", ""},
                       {"bytes", "Message", "B"},
                       {"count", "Calls", ""},
                       {"median", "Median", "s"},
                       {"fastest", "Fastest", "s"},
                       {"bus_bandwidth", "Bus rate", "B/s"},
                       {"benchmark", "Benchmark", "B/s"}},
                      {}};
  const RankEvidence& rank = evidence.rank();
  for (const CollectiveTraffic& one : collective_traffic(evidence, rank)) {
    if (table.rows.size() == rows) break;
    const auto known = benchmarked_bandwidth(evidence.session->collectives, one.collective, one.ranks, one.bytes);
    table.rows.push_back({one.collective, one.data_type, static_cast<std::int64_t>(one.ranks), one.bytes,
                          static_cast<double>(one.count) / rank.step_count(), one.median_s, one.fastest_s,
                          one.bus_bandwidth > 0 ? TableValue(one.bus_bandwidth) : TableValue(std::string("unknown")),
                          known ? TableValue(*known) : TableValue(std::string("none"))});
  }
  if (table.rows.empty()) table.note = "No collective of the analyzed steps says how much it moved.";
  return table;
}

AnalysisTable collective_benchmark_table(const Evidence& evidence) {
  AnalysisTable table{
      "collective_benchmarks",
      "Communication benchmarks",
      "Out of place; rates are bus bandwidths, latency is the time of the smallest message. Half of the "
      "peak is reached from the size named on.",
      {{"collective", "Collective", ""},
       {"data_type", "Type", ""},
       {"ranks", "Ranks", ""},
       {"latency", "Latency", "s"},
       {"peak", "Peak bus rate", "B/s"},
       {"peak_bytes", "At", "B"},
       {"half_peak_bytes", "Half from", "B"},
       {"wrong", "Wrong", ""}},
      {}};
  for (const CollectiveCurve& one : collective_curves(evidence.session->collectives)) {
    table.rows.push_back({one.collective, one.data_type, static_cast<std::int64_t>(one.ranks), one.latency_s,
                          one.peak_bus_bandwidth, static_cast<double>(one.peak_bytes),
                          static_cast<double>(one.half_peak_bytes), one.wrong});
  }
  return table;
}

}  // namespace warpmark::analyze
