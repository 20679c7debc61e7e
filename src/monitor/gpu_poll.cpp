#include "monitor/gpu_poll.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"

namespace warpmark::monitor {
namespace {

using device::nvml::GpuFacts;

constexpr double kListAgain_s = 60;                          // GPUs that come
constexpr double kListTroubled_s = 5;                        // while none answers
constexpr auto kPcieWindow = std::chrono::milliseconds(20);  // the counters wrap in 50 ms at full speed

std::int64_t in_ns(double seconds) { return monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9); }

GpuReading not_up(const GpuFacts& facts, std::string why) {
  GpuReading reading;
  reading.facts = facts;
  reading.now.up = false;
  reading.now.fault = {0, std::move(why)};
  return reading;
}

std::optional<device::nvml::PcieTraffic> traffic_of(const GpuSource& source, const std::string& uuid) {
  if (!source.pcie) return std::nullopt;
  const auto before = source.pcie(uuid);
  if (!before.ok()) return std::nullopt;
  const std::int64_t began_ns = monotonic_ns();
  std::this_thread::sleep_for(kPcieWindow);
  const auto now = source.pcie(uuid);
  if (!now.ok()) return std::nullopt;
  return device::nvml::pcie_traffic(*before, *now, static_cast<double>(monotonic_ns() - began_ns) * 1e-9);
}

/// In the GPU's thread.
void read_gpu(const GpuSource& source, GpuReading& reading) {
  auto now = source.activity(reading.facts.uuid);
  reading.monotonic_ns = monotonic_ns();
  if (!now.ok()) {
    reading = not_up(reading.facts, now.error().what);
    return;
  }
  reading.now = std::move(*now);
  if (reading.now.up) reading.pcie = traffic_of(source, reading.facts.uuid);
}

std::string silence_text(double seconds) { return fmt::format("the driver has not answered for {:.0f} s", seconds); }

}  // namespace

GpuSource nvml_source() {
  return {[] { return device::nvml::gpu_list(); }, [](const std::string& uuid) { return device::nvml::inspect(uuid); },
          [](const std::string& uuid) { return device::nvml::pcie_bytes_of(uuid); },
          [] { return device::nvml::renew(); }};
}

GpuPoll::GpuPoll(GpuSource source, GpuPollOptions options)
    : source_(std::make_shared<const GpuSource>(std::move(source))), options_(std::move(options)) {
  for (const auto& facts : options_.remembered) {
    gpus_.push_back(std::make_unique<Gpu>());
    gpus_.back()->facts = facts;
  }
  start_list(false);
  const std::int64_t until_ns = in_ns(options_.first_list_s);
  constexpr std::int64_t kSlice_ns = 50'000'000;
  while (!list_thread_.wait_until(std::min(until_ns, monotonic_ns() + kSlice_ns))) {
    if (monotonic_ns() >= until_ns || (options_.interrupted != nullptr && options_.interrupted->load())) break;
  }
}

void GpuPoll::start_list(bool renew) {
  listed_ns_ = monotonic_ns();
  renewing_ = renew;
  list_answer_ = std::make_shared<std::optional<List>>();
  const auto started = list_thread_.start([source = source_, answer = list_answer_, renew] {
    const auto renewed = renew && source->renew ? source->renew() : Status();
    *answer = renewed.ok() ? source->list() : List(renewed.error());
  });
  if (!started.ok()) *list_answer_ = started.error();
}

void GpuPoll::take_list(std::int64_t until_ns) {
  if (list_answer_ == nullptr) return;
  if (!list_thread_.wait_until(until_ns)) {
    problem_ = silence_text(list_thread_.waiting_s());
    return;
  }
  const auto answer = std::move(list_answer_);
  const List& list = **answer;
  renewing_ = false;
  problem_ = !list.ok() ? list.error().what : list->empty() ? "the driver lists no GPU" : "";
  if (!list.ok()) return;
  merge(*list);
  if (options_.listed) options_.listed(*list);
}

/// GPUs that are not listed any more stay, as lost ones, unless another one is in their place.
void GpuPoll::merge(const std::vector<GpuFacts>& list) {
  for (auto& gpu : gpus_) gpu->listed = false;
  for (const auto& facts : list) {
    std::erase_if(gpus_, [&](const auto& gpu) {
      return gpu->facts.uuid != facts.uuid && gpu->facts.pci_bus_id == facts.pci_bus_id && !facts.pci_bus_id.empty() &&
             !gpu->listed;
    });
    auto known = std::ranges::find_if(gpus_, [&](const auto& gpu) { return gpu->facts.uuid == facts.uuid; });
    if (known == gpus_.end()) known = gpus_.insert(known, std::make_unique<Gpu>());
    (*known)->facts = facts;
    (*known)->listed = true;
  }
  std::ranges::stable_sort(gpus_, {}, [](const auto& gpu) { return gpu->facts.index; });
}

GpuReading GpuPoll::reading_of(Gpu& gpu, const Status& started, std::int64_t until_ns) const {
  if (!started.ok()) return not_up(gpu.facts, started.error().what);
  if (!gpu.thread.wait_until(until_ns)) return not_up(gpu.facts, silence_text(gpu.thread.waiting_s()));
  if (gpu.answer == nullptr) return not_up(gpu.facts, problem_);  // not asked
  GpuReading reading = std::move(*std::exchange(gpu.answer, nullptr));
  reading.facts = gpu.facts;
  return reading;
}

GpuReadings GpuPoll::probe() {
  const std::int64_t until_ns = in_ns(options_.deadline_s);
  take_list(until_ns);
  const bool can_ask = list_answer_ == nullptr || !renewing_;  // else NVML is being ended and started
  std::vector<Status> started(gpus_.size());
  for (std::size_t i = 0; i < gpus_.size() && can_ask; ++i) {
    Gpu& gpu = *gpus_[i];
    if (gpu.thread.busy()) continue;
    gpu.answer = std::make_shared<GpuReading>();
    gpu.answer->facts = gpu.facts;
    started[i] = gpu.thread.start([source = source_, answer = gpu.answer] { read_gpu(*source, *answer); });
  }
  GpuReadings readings;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    readings.gpus.push_back(reading_of(*gpus_[i], started[i], until_ns));
  }
  readings.silent = gpus_.empty() && list_answer_ != nullptr;
  if (gpus_.empty()) readings.problem = problem_;
  list_again_if_due(readings);
  return readings;
}

void GpuPoll::list_again_if_due(const GpuReadings& readings) {
  if (list_answer_ != nullptr) return;
  const auto up = [](const GpuReading& gpu) { return gpu.now.up; };
  const bool troubled = !problem_.empty() || !std::ranges::all_of(readings.gpus, up);
  const bool none_up = std::ranges::none_of(readings.gpus, up);
  const bool known = !readings.gpus.empty();
  const double elapsed_s = static_cast<double>(monotonic_ns() - listed_ns_) * 1e-9;
  if (elapsed_s < (known && none_up ? kListTroubled_s : kListAgain_s)) return;
  const bool any_busy = std::ranges::any_of(gpus_, [](const auto& gpu) { return gpu->thread.busy(); });
  start_list(troubled && !any_busy);
}

}  // namespace warpmark::monitor
