#include "device/nvml/counters.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace warpmark::device::nvml {
namespace {

struct UnitMetric {
  unsigned id;  ///< nvmlGpmMetricId_t, in per cent
  GpuUnit unit;
};
constexpr UnitMetric kUnitMetrics[] = {{1, GpuUnit::graphics}, {2, GpuUnit::sm},    {3, GpuUnit::sm_occupancy},
                                       {5, GpuUnit::tensor},   {10, GpuUnit::dram}, {11, GpuUnit::fp64},
                                       {12, GpuUnit::fp32},    {13, GpuUnit::fp16}};

constexpr std::int64_t kShortest_ns = 1'000'000'000;  // between two samples; who asks sooner gets the same again

std::map<GpuUnit, double> units_between(const Api& api, GpmSample before, GpmSample now) {
  GpmMetrics asked;
  asked.before = before;
  asked.now = now;
  for (const auto& metric : kUnitMetrics) asked.metrics[asked.count++].id = metric.id;
  std::map<GpuUnit, double> units;
  if (api.gpm_metrics(&asked) != kSuccess) return units;
  for (unsigned i = 0; i < asked.count; ++i) {
    if (asked.metrics[i].code != kSuccess) continue;
    units[kUnitMetrics[i].unit] = std::clamp(asked.metrics[i].value / 100, 0.0, 1.0);
  }
  return units;
}

}  // namespace

void GpuCounters::read(const Api& api, Handle gpu, GpuActivity& activity) {
  read_events(api, gpu, activity);
  read_units(api, gpu, activity);
}

void GpuCounters::read_lost(const Api& api, GpuActivity& activity) {
  if (events_ != nullptr && !refused_events_) count_events(api);
  if (!xids_.counts.empty()) activity.xid_errors = xids_;
}

void GpuCounters::forget_objects() {
  events_ = nullptr;
  refused_events_ = false;
  before_ = now_ = nullptr;
  before_ns_ = 0;
  units_.clear();
}

void GpuCounters::read_events(const Api& api, Handle gpu, GpuActivity& activity) {
  if (api.make_events == nullptr || api.register_events == nullptr || api.next_event == nullptr) return;
  if (events_ == nullptr && !refused_events_) {
    if (api.make_events(&events_) != kSuccess) events_ = nullptr;
    refused_events_ = events_ == nullptr || api.register_events(gpu, kXidEvent, events_) != kSuccess;
  }
  if (refused_events_) return;
  count_events(api);
  activity.xid_errors = xids_;
}

void GpuCounters::count_events(const Api& api) {
  constexpr int kMostEvents = 1000;  // at one look, so that a flood cannot hold it up
  EventData event{};
  for (int i = 0; i < kMostEvents && api.next_event(events_, &event, 0) == kSuccess; ++i) {
    if ((event.type & kXidEvent) == 0) continue;
    xids_.last = static_cast<int>(event.data);
    ++xids_.counts[xids_.last];
  }
}

void GpuCounters::read_units(const Api& api, Handle gpu, GpuActivity& activity) {
  if (api.gpm_support == nullptr || api.make_gpm_sample == nullptr || api.read_gpm_sample == nullptr ||
      api.gpm_metrics == nullptr) {
    return;
  }
  if (now_ == nullptr) {
    GpmSupport support;
    if (api.gpm_support(gpu, &support) != kSuccess || support.supported == 0) return;
    if (api.make_gpm_sample(&before_) != kSuccess || api.make_gpm_sample(&now_) != kSuccess) return;
  }
  const std::int64_t now_ns = monotonic_ns();
  if (now_ns - before_ns_ >= kShortest_ns) {
    if (api.read_gpm_sample(gpu, now_) != kSuccess) return;  // for root only, by the driver's setting
    if (before_ns_ != 0) units_ = units_between(api, before_, now_);
    std::swap(before_, now_);
    before_ns_ = now_ns;
  }
  activity.unit_activity = units_;
}

}  // namespace warpmark::device::nvml
