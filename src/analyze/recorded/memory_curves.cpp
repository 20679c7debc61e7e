#include "analyze/recorded/memory_curves.h"

#include <algorithm>

namespace warpmark::analyze {

namespace {

const CounterSeries* counter_series_of(const Timeline& timeline, const char* id, int device) {
  const auto found = std::ranges::find_if(
      timeline.counters, [&](const CounterSeries& series) { return series.id == id && series.device == device; });
  return found == timeline.counters.end() ? nullptr : &*found;
}

double capacity_of(const Timeline& timeline, int device) {
  for (const GpuInfo& gpu : timeline.gpus) {
    if (gpu.index == device) return static_cast<double>(gpu.memory_bytes);
  }
  return 0;
}

/// A series holds the changes: what was true at each of `times`.
std::vector<double> values_at(const CounterSeries& series, const std::vector<std::int64_t>& times) {
  std::vector<double> values;
  std::size_t next = 0;
  for (const std::int64_t time : times) {
    while (next + 1 < series.times.size() && series.times[next + 1] <= time) ++next;
    values.push_back(series.values[next]);
  }
  return values;
}

/// The allocations of a rank added up. With a moment at which the total is known, they are counted from there both
/// ways.
MemoryCurve summed_curve(const Timeline& timeline, const WorkList& list, int device, const CounterSeries* reported) {
  MemoryCurve curve{device, list.works.front().start, capacity_of(timeline, device), {}, {}, {}};
  double sum = 0, reported_sum = 0;
  for (EventIndex i = 0; i < timeline.events.size(); ++i) {
    if (!is_gpu_allocation(timeline, i)) continue;
    sum += static_cast<double>(timeline.events.value[i]);
    if (reported != nullptr && timeline.events.start[i] <= reported->times.front()) reported_sum = sum;
    curve.times.push_back(timeline.events.start[i]);
    curve.allocated.push_back(sum);
  }
  const double before = reported == nullptr ? 0 : reported->values.front() - reported_sum;
  for (double& bytes : curve.allocated) bytes += before;
  return curve;
}

}  // namespace

bool is_gpu_allocation(const Timeline& timeline, EventIndex i) {
  return timeline.events.kind[i] == EventKind::allocation && timeline.events.detail[i] != 0;
}

std::vector<MemoryCurve> memory_curves_of(const Timeline& timeline, const WorkList& list) {
  std::vector<const CounterSeries*> reported;
  for (const CounterSeries& series : timeline.counters) {
    if (series.id == "memory_allocated" && !series.times.empty()) reported.push_back(&series);
  }
  std::vector<MemoryCurve> curves;
  if (reported.empty())
    curves.push_back(summed_curve(timeline, list, timeline.tracks[list.main_stream].device, nullptr));
  for (const CounterSeries* series : reported) {
    MemoryCurve curve = summed_curve(timeline, list, series->device, series);
    if (reported.size() > 1) curve.times = series->times, curve.allocated = series->values;
    const CounterSeries* reserved = counter_series_of(timeline, "memory_reserved", series->device);
    if (reserved != nullptr && !reserved->times.empty()) curve.reserved = values_at(*reserved, curve.times);
    curves.push_back(std::move(curve));
  }
  std::erase_if(curves, [](const MemoryCurve& curve) { return curve.times.empty(); });
  return curves;
}

std::optional<double> most_unused(const MemoryCurve& curve) {
  if (curve.reserved.empty()) return std::nullopt;
  double most = 0;
  for (std::size_t i = 0; i < curve.reserved.size(); ++i) {
    most = std::max(most, curve.reserved[i] - curve.allocated[i]);
  }
  return most;
}

GivenBack given_back(const MemoryCurve& curve) {
  GivenBack found;
  for (std::size_t i = 1; i < curve.reserved.size(); ++i) {
    if (curve.reserved[i] >= curve.reserved[i - 1]) continue;
    ++found.times;
    const double unused = curve.reserved[i - 1] - curve.allocated[i - 1];
    if (unused > found.unused) found.unused = unused, found.reserved = curve.reserved[i - 1];
  }
  return found;
}

}  // namespace warpmark::analyze
