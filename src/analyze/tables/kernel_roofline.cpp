// The roofline of profiled kernels (Williams, Waterman, Patterson, CACM 52(4), 2009): points are FLOP a byte of device
// memory and FLOP/s, peaks are the GPU's at the clocks of the measurement, as Nsight Compute's roofline chart has them.
#include <algorithm>
#include <map>

#include "analyze/tables/kernel_points.h"
#include "analyze/tables/tables.h"

namespace warpmark::analyze {

namespace {

struct Point {
  std::string kernel;
  double flops = 0;  ///< a second
  double bytes = 0;  ///< a second
  std::vector<KernelPeak> peaks;
  [[nodiscard]] double intensity() const { return flops / bytes; }
};

std::vector<Point> points_of(const Evidence& evidence, std::size_t most) {
  std::vector<Point> points;
  for (const KernelGroup& card : cards_of(evidence)) {
    if (points.size() == most || card.longest == nullptr) break;
    const auto flops = flops_per_second(*card.longest), bytes = dram_bytes_per_second(*card.longest);
    if (flops && bytes && *flops > 0 && *bytes > 0) {
      points.push_back({card.longest->name, *flops, *bytes, peaks_of(*card.longest)});
    }
  }
  return points;
}

/// What the peaks of its own measurement allow a kernel: the lower of the memory's and of the fastest unit that it
/// used.
TableValue share_of_peak(const Point& point) {
  double memory = 0, compute = 0;
  for (const KernelPeak& peak : point.peaks) {
    if (peak.memory) memory = peak.limit * point.intensity();
    if (!peak.memory) compute = std::max(compute, peak.limit);
  }
  if (memory <= 0 || compute <= 0) return std::string();
  return point.flops / std::min(memory, compute);
}

/// Clocks differ between launches: of each peak the highest.
std::map<std::string, KernelPeak> highest(const std::vector<Point>& points) {
  std::map<std::string, KernelPeak> peaks;
  for (const Point& point : points) {
    for (const KernelPeak& peak : point.peaks) {
      KernelPeak& known = peaks.emplace(peak.name, peak).first->second;
      known.limit = std::max(known.limit, peak.limit);
    }
  }
  return peaks;
}

}  // namespace

AnalysisTable kernel_roofline_table(const Evidence& evidence, std::size_t rows) {
  AnalysisTable table{
      kKernelRooflineTable,
      "Roofline of the profiled kernels",
      "FLOP per byte of device memory; peaks at the clocks of the measurement. Half precision counts where "
      "tensor cores computed it. Kernels without floating point work have no point.",
      {{"name", "Name", ""},
       {"what", "What", ""},
       {"intensity", "FLOP/B", ""},
       {"rate", "FLOP/s", "FLOP/s"},
       {"share", "Of its peak", "ratio"},
       {"bandwidth", "B/s", "B/s"}},
      {}};
  const auto points = points_of(evidence, rows);
  for (const Point& point : points) {
    table.rows.push_back(
        {point.kernel, std::string("kernel"), point.intensity(), point.flops, share_of_peak(point), point.bytes});
  }
  if (points.empty()) return table;
  const std::string none;
  for (const auto& [name, peak] : highest(points)) {
    const TableValue limit = peak.limit;
    table.rows.push_back({name, std::string(peak.memory ? kMemoryPeak : kComputePeak), none,
                          peak.memory ? TableValue(none) : limit, none, peak.memory ? limit : TableValue(none)});
  }
  return table;
}

}  // namespace warpmark::analyze
