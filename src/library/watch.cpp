#include <warpmark/watch.hpp>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "monitor/sampler.h"
#include "report/draw/format.h"

// Not unnamed: they are parts of Watch::State, which a header names.
namespace warpmark::library {

class Samples {
 public:
  void add(std::optional<double> value) {
    if (!value) return;
    range_.min = count_ == 0 ? *value : std::min(range_.min, *value);
    range_.max = count_ == 0 ? *value : std::max(range_.max, *value);
    sum_ += *value;
    range_.mean = sum_ / static_cast<double>(++count_);
  }
  [[nodiscard]] std::optional<v0::Range> range() const { return count_ == 0 ? std::nullopt : std::optional(range_); }

 private:
  v0::Range range_;
  double sum_ = 0;
  std::int64_t count_ = 0;
};

std::optional<double> as_double(std::optional<std::int64_t> value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

struct GpuSamples {
  std::string name;
  std::optional<std::int64_t> capacity;
  Samples utilization, memory, own_memory, power, clock;
};

/// All that was seen, sample by sample.
class Diary {
 public:
  void add(const MachineState& state) {
    ++polls_;
    cpu_.add(state.host.utilization);
    problem_ = state.gpu_problem;
    for (const auto& gpu : state.gpus) {
      auto& polls = gpus_[gpu.index];
      polls.name = gpu.name;
      polls.capacity = gpu.memory_bytes;
      polls.utilization.add(gpu.utilization);
      polls.memory.add(as_double(gpu.memory_used_bytes));
      polls.power.add(gpu.power_w);
      polls.clock.add(gpu.sm_clock_hz);
    }
    for (const auto& process : state.processes) {
      if (process.id != ::getpid()) continue;
      for (const auto& use : process.gpus) gpus_[use.gpu].own_memory.add(as_double(use.memory_bytes));
    }
  }

  [[nodiscard]] v0::Seen seen(double seconds) const {
    v0::Seen seen{.seconds = seconds, .polls = polls_, .cpu_utilization = cpu_.range(), .gpu_problem = problem_};
    rusage usage{};
    if (::getrusage(RUSAGE_SELF, &usage) == 0) seen.peak_memory_bytes = usage.ru_maxrss * 1024;
    for (const auto& [index, polls] : gpus_) {
      v0::GpuSeen gpu{.index = index,
                      .name = polls.name,
                      .utilization = polls.utilization.range(),
                      .memory_bytes = polls.memory.range(),
                      .own_memory_bytes = polls.own_memory.range(),
                      .capacity_bytes = polls.capacity,
                      .power_w = polls.power.range(),
                      .energy_j = {},
                      .sm_clock_hz = polls.clock.range()};
      if (gpu.power_w) gpu.energy_j = gpu.power_w->mean * seconds;
      seen.gpus.push_back(std::move(gpu));
    }
    return seen;
  }

 private:
  std::int64_t polls_ = 0;
  Samples cpu_;
  std::map<int, GpuSamples> gpus_;
  std::string problem_;
};

}  // namespace warpmark::library

namespace warpmark::v0 {
namespace {

/// The nearest that can be kept; for what is no number that of the default.
double usable_interval_s(double wanted) {
  return std::isnan(wanted) ? WatchOptions().interval_s : std::clamp(wanted, 0.01, 3600.0);
}

}  // namespace

struct Watch::State {
  explicit State(const WatchOptions& options)
      : interval(usable_interval_s(options.interval_s)),
        sampler({.host = "", .processes = 0}, monitor::nvml_source()),
        begin_ns(monotonic_ns()) {
    probe();  // rates are means since the sample before
    thread = std::thread([this] { run(); });
  }
  ~State() { end(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void probe() {
    const auto now = monotonic_ns();
    diary.add(sampler.sample({.unix_ns = static_cast<std::int64_t>(wall_clock_s() * 1e9), .monotonic_ns = now}));
  }
  void run() {
    std::unique_lock guard(lock);
    while (!changed.wait_for(guard, interval, [this] { return ending; })) probe();
  }
  void end() {
    if (!thread.joinable()) return;
    {
      const std::lock_guard guard(lock);
      ending = true;
    }
    changed.notify_all();
    thread.join();
    probe();
    seen = diary.seen(static_cast<double>(monotonic_ns() - begin_ns) * 1e-9);
  }

  std::chrono::duration<double> interval;
  monitor::Sampler sampler;
  library::Diary diary;
  std::int64_t begin_ns;
  std::mutex lock;
  std::condition_variable changed;
  bool ending = false;
  Seen seen;
  std::thread thread;
};

Watch::Watch(const WatchOptions& options) : state_(std::make_unique<State>(options)) {}
Watch::~Watch() = default;
Watch::Watch(Watch&&) noexcept = default;
Watch& Watch::operator=(Watch&&) noexcept = default;

Seen Watch::stop() {
  if (state_ == nullptr) return {};  // moved from
  state_->end();
  return state_->seen;
}

std::string to_text(const Seen& seen) {
  const auto bytes = [](double value) { return report::format_quantity(value, "B"); };
  std::string text = fmt::format("{} in {} samples\n", report::format_duration(seen.seconds), seen.polls);
  if (seen.cpu_utilization) text += fmt::format("  CPU    mean {:.0f} %\n", seen.cpu_utilization->mean * 100);
  text += fmt::format("  memory peak {}\n", bytes(static_cast<double>(seen.peak_memory_bytes)));
  for (const auto& gpu : seen.gpus) {
    text += fmt::format("  GPU {} {}:", gpu.index, gpu.name);
    if (gpu.utilization) text += fmt::format(" busy {:.0f} % of the time;", gpu.utilization->mean * 100);
    if (gpu.memory_bytes) text += " peak memory " + bytes(gpu.memory_bytes->max) + ";";
    if (gpu.power_w) text += fmt::format(" mean power {:.0f} W;", gpu.power_w->mean);
    text.back() = '\n';
  }
  if (!seen.gpu_problem.empty()) text += "  no GPU: " + seen.gpu_problem + "\n";
  return text;
}

}  // namespace warpmark::v0
