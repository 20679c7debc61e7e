#include "device/nvml/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
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

const Result<Api>& power_library() {
  static const Result<Api> api = load_api();
  return api;
}

Result<Handle> handle_of(const Api& api, const std::string& uuid) {
  Handle gpu{};
  if (api.handle_by_uuid == nullptr || api.handle_by_uuid(uuid.c_str(), &gpu) != kSuccess) {
    return environment_error("there is no GPU " + uuid);
  }
  return gpu;
}

/// Says nothing of the GPU's health: this driver, GPU or user has no answer to the question.
bool is_unavailable(Return code) {
  return code == kNotSupported || code == kFunctionNotFound || code == kNoPermission || code == kInvalidArgument ||
         code == kNotFound || code == kInsufficientSize;
}

/// The whole GPU or driver is gone, whatever else still answers.
bool is_fatal(Return code) {
  return code == kGpuIsLost || code == kResetRequired || code == kUninitialized || code == kDriverNotLoaded;
}

/// Asks one GPU, and keeps what went wrong.
class Questions {
 public:
  Questions(const Api& api, Handle gpu) : api_(api), gpu_(gpu) {}

  template <typename Value, typename Function, typename... Arguments>
  std::optional<Value> ask(Function function, Arguments... arguments) {
    Value value{};
    if (!note(function == nullptr ? kFunctionNotFound : function(gpu_, arguments..., &value))) return std::nullopt;
    return value;
  }
  template <typename Value, typename Function, typename... Arguments>
  std::optional<double> scaled(double factor, Function function, Arguments... arguments) {
    const auto value = ask<Value>(function, arguments...);
    return value ? std::optional(static_cast<double>(*value) * factor) : std::nullopt;
  }
  bool note(Return code) {
    if (code == kSuccess) return ++answered_, true;
    const bool worse = code_ == kSuccess || (is_fatal(code) && !is_fatal(code_));
    if (!is_unavailable(code) && worse) code_ = code;
    return false;
  }
  void judge(GpuActivity& activity) const {
    if (code_ == kSuccess) return;
    activity.up = answered_ > 0 && !is_fatal(code_);
    activity.fault = fault_of(api_, code_);
  }

 private:
  const Api& api_;
  Handle gpu_;
  int answered_ = 0;
  Return code_ = kSuccess;
};

void read_memory_and_clocks(const Api& api, Questions& gpu, GpuActivity& activity) {
  if (const auto use = gpu.ask<Utilization>(api.utilization)) {
    activity.utilization = use->gpu / 100.0;
    activity.memory_utilization = use->memory / 100.0;
  }
  if (const auto memory = gpu.ask<Memory>(api.memory)) {
    activity.memory_used_bytes = static_cast<std::int64_t>(memory->used);
  }
  activity.sm_clock_hz = gpu.scaled<unsigned>(1e6, api.clock, kClockSm);
  activity.memory_clock_hz = gpu.scaled<unsigned>(1e6, api.clock, kClockMemory);
  activity.power_w = gpu.scaled<unsigned>(1e-3, api.power);
  activity.temperature_c = gpu.scaled<unsigned>(1, api.temperature, kTemperatureGpu);
  activity.energy_j = gpu.scaled<unsigned long long>(1e-3, api.energy);
  if (const auto bits = gpu.ask<unsigned long long>(api.clock_event_reasons)) {
    activity.clock_event_reasons = clock_event_reasons(*bits);
  }
}

void read_errors(const Api& api, Handle handle, Questions& gpu, GpuActivity& activity) {
  activity.ecc_corrected = gpu.scaled<unsigned long long>(1, api.ecc_errors, kCorrected, kVolatile);
  activity.ecc_uncorrected = gpu.scaled<unsigned long long>(1, api.ecc_errors, kUncorrected, kVolatile);
  activity.pcie_replays = gpu.scaled<unsigned>(1, api.pcie_replays);
  unsigned correctable = 0, uncorrectable = 0, pending = 0, failed = 0;
  if (api.remapped_rows != nullptr &&
      gpu.note(api.remapped_rows(handle, &correctable, &uncorrectable, &pending, &failed))) {
    activity.remapped_rows = {static_cast<double>(correctable), static_cast<double>(uncorrectable), pending != 0,
                              failed != 0};
  }
}

/// With one call, as each costs a round trip to the driver.
void read_fields(const Api& api, Handle handle, Questions& gpu, GpuActivity& activity) {
  std::array<FieldValue, 3> fields{};
  fields[0].field = kNvlinkSentKib;
  fields[1].field = kNvlinkReceivedKib;
  fields[0].scope = fields[1].scope = kAllLinks;
  fields[2].field = kMemoryTemperature;
  if (api.field_values == nullptr) return;
  if (!gpu.note(api.field_values(handle, static_cast<int>(fields.size()), fields.data()))) return;
  if (const auto sent_kib = count_of(fields[0])) activity.nvlink_sent_bytes = *sent_kib * 1024;
  if (const auto received_kib = count_of(fields[1])) activity.nvlink_received_bytes = *received_kib * 1024;
  const auto celsius = count_of(fields[2]);
  if (celsius && *celsius > 0) activity.memory_temperature_c = static_cast<double>(*celsius);  // 0: it has no sensor
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

Result<PowerLimits> power_limits_of(const std::string& uuid) {
  WM_ASSIGN(const Api api, power_library());
  WM_ASSIGN(const Handle gpu, handle_of(api, uuid));
  unsigned now = 0, usual = 0, least = 0, most = 0;
  const bool reported = api.power_set_limit != nullptr && api.power_default_limit != nullptr &&
                        api.power_constraints != nullptr && api.power_set_limit(gpu, &now) == kSuccess &&
                        api.power_default_limit(gpu, &usual) == kSuccess &&
                        api.power_constraints(gpu, &least, &most) == kSuccess;
  if (!reported) return environment_error("the driver does not report the power limits of " + uuid);
  return PowerLimits{now * 1e-3, usual * 1e-3, least * 1e-3, most * 1e-3};
}

Status set_power_limit(const std::string& uuid, double watts) {
  WM_ASSIGN(const Api api, power_library());
  WM_ASSIGN(const Handle gpu, handle_of(api, uuid));
  if (api.set_power_limit == nullptr) return environment_error("this driver's library cannot set power limits");
  const Return code = api.set_power_limit(gpu, static_cast<unsigned>(std::lround(watts * 1e3)));
  if (code == kSuccess) return {};
  const char* text = api.error_string != nullptr ? api.error_string(code) : nullptr;
  return environment_error(
      fmt::format("the power limit of {} cannot be set to {:.0f} W: {}", uuid, watts, text != nullptr ? text : "?"),
      "only root may set it; virtual machines and containers often cannot");
}

// A look at a GPU, and whether it is one that answers.

GpuFault fault_of(const Api& api, Return code) {
  const char* text = api.error_string == nullptr ? nullptr : api.error_string(code);
  return {code, text != nullptr ? text : fmt::format("NVML error {}", code)};
}

GpuActivity inspect(const Api& api, const std::string& uuid, GpuCounters* counters) {
  GpuActivity activity;
  Handle handle = nullptr;
  const Return found = api.handle_by_uuid == nullptr ? kFunctionNotFound : api.handle_by_uuid(uuid.c_str(), &handle);
  const auto lost = [&](const std::optional<GpuFault>& fault) {
    GpuActivity nothing{.up = false, .fault = fault};  // what a lost GPU still tells is not to be trusted
    if (counters != nullptr) counters->read_lost(api, nothing);
    return nothing;
  };
  if (found != kSuccess) return lost(fault_of(api, found));
  Questions gpu(api, handle);
  read_memory_and_clocks(api, gpu, activity);
  read_errors(api, handle, gpu, activity);
  read_fields(api, handle, gpu, activity);
  gpu.judge(activity);
  if (!activity.up) return lost(activity.fault);
  if (counters != nullptr) counters->read(api, handle, activity);
  constexpr unsigned long long kNotAvailable = ~0ULL;  // NVML_VALUE_NOT_AVAILABLE
  for (const auto& process : processes_on(api, handle)) {
    if (process.pid == 0) continue;
    activity.processes.push_back({process.pid, std::nullopt});
    if (process.used_gpu_memory != kNotAvailable) {
      activity.processes.back().memory_bytes = static_cast<std::int64_t>(process.used_gpu_memory);
    }
  }
  return activity;
}

Result<GpuActivity> activity_of(const Api& api, const std::string& uuid) {
  auto activity = inspect(api, uuid);
  if (activity.up) return activity;
  return environment_error("GPU " + uuid + " does not answer: " + activity.fault->text,
                           "check that nvidia-smi -L lists it");
}

}  // namespace warpmark::device::nvml
