#include "warpmark/scaling/scale_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "device/cpu/conditions.h"
#include "measure/gpu_watch.h"
#include "validate/commands/command_experiment.h"
#include "validate/commands/power_cap.h"

namespace warpmark::apps {
namespace {

/// "0,1,2" of 3: the numbers that a program sees them by, as CUDA counts from 0 within CUDA_VISIBLE_DEVICES.
std::string ordinals(int count) {
  std::vector<std::string> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(std::to_string(i));
  return join(numbers, ",");
}

/// Energy of what the workers run on.
class Meter {
 public:
  explicit Meter(const ScaleRequest& request) : wanted_(request.energy && !request.remote), gpus_(!request.ranks) {}

  [[nodiscard]] std::string method() const {
    if (!wanted_) return {};
    if (gpus_ && gpu_.available()) {
      return "Energy: the GPUs' own counters (NVML, about ±5 %), of the GPUs used, idle power included.";
    }
    if (!gpus_ && host_.available())
      return "Energy: the processors' own counters (RAPL, about ±5 %), idle power included.";
    return gpus_ ? "Energy unavailable: no GPU here has an energy counter."
                 : "Energy unavailable: no RAPL counters, or only root may read them.";
  }
  /// Of the GPUs that so many workers use: those that idle beside them count for nothing.
  void begin(int workers) {
    if (!wanted_) return;
    counted_ = static_cast<std::size_t>(workers);
    if (gpus_) gpu_before_ = gpu_.joules(counted_);
    if (!gpus_) host_before_ = host_.read();
  }
  std::optional<double> end() {
    if (!wanted_) return std::nullopt;
    if (gpus_) {
      const auto after = gpu_.joules(counted_);
      if (!gpu_before_ || !after || *after < *gpu_before_) return std::nullopt;
      return *after - *gpu_before_;
    }
    const auto after = host_.read();
    if (!host_before_ || !after) return std::nullopt;
    return host_.joules(*host_before_, *after);
  }

 private:
  bool wanted_;
  bool gpus_;
  std::size_t counted_ = 0;
  validate::GpuEnergy gpu_;
  device::HostEnergy host_;
  std::optional<double> gpu_before_;
  std::optional<device::HostEnergy::Reading> host_before_;
};

std::string last_line(const std::string& text) {
  std::string last;
  for (const auto& line : split(text, '\n')) {
    if (!trim(line).empty()) last = trim(line);
  }
  return last;
}

Result<validate::ScalingRun> run_once(const ScaleRequest& request, int workers, const std::vector<std::string>& words,
                                      Meter& meter, const std::atomic<bool>& interrupted) {
  std::vector<std::pair<std::string, std::string>> environment;
  const bool here = !request.ranks && !request.remote;
  if (here) {
    environment.emplace_back("CUDA_DEVICE_ORDER", "PCI_BUS_ID");  // the first ones are then those of NVML, too
    environment.emplace_back("CUDA_VISIBLE_DEVICES", first_gpus(workers));
  }
  std::optional<measure::GpuWatch> gpus;
  if (here) gpus.emplace();
  if (gpus) gpus->begin();
  meter.begin(workers);
  WM_ASSIGN(const auto output, run_process(words, {.deadline_s = request.timeout_s,
                                                   .environment = environment,
                                                   .own_group = true,
                                                   .interrupted = &interrupted,
                                                   .grace_s = 3}));
  const auto joules = meter.end();
  const auto used = gpus ? gpus->end(output.wall_s) : measure::GpuUse();
  if (output.exit_code != 0) {
    const std::string said = last_line(output.err.empty() ? output.out : output.err);
    return data_error(fmt::format("exit code {}{}", output.exit_code, said.empty() ? "" : ": " + said),
                      "run the command without warpmark to see why");
  }
  validate::ScalingRun run{.workers = workers, .seconds = output.wall_s};
  run.work = request.mode == "weak" ? request.work * workers : request.work;
  run.peak_memory_bytes = static_cast<double>(output.peak_memory_bytes);
  run.gpu_memory_bytes = used.peak_memory;
  run.gpu_utilization = used.utilization;
  run.joules = joules;
  if (request.throughput) {
    WM_ASSIGN(const double value, validate::read_metric(*request.throughput, output, ""));
    if (!(value > 0)) return data_error(fmt::format("the reported throughput is {}", value));
    run.throughput = value;
  }
  for (const auto& part : request.parts) {
    WM_ASSIGN(const double value, validate::read_metric(part, output, ""));
    run.parts.emplace_back(part.name, value);
  }
  return run;
}

/// GPUs of AMD and Jetson, and slices of one GPU: there, nothing is counted.
bool has_gpus_nvml_does_not_list(const char* visible) {
  std::error_code unknown;
  for (const char* driver : {"/dev/kfd", "/dev/nvhost-gpu"}) {
    if (std::filesystem::exists(driver, unknown)) return true;
  }
  return visible != nullptr && std::string_view(visible).starts_with("MIG-");
}

}  // namespace

std::string fill_workers(std::string word, int workers) {
  const std::string number = std::to_string(workers);
  const std::pair<std::string_view, std::string> placeholders[] = {{"{gpus}", number},
                                                                   {"{ranks}", number},
                                                                   {"{n}", number},
                                                                   {"{workers}", number},
                                                                   {"{gpu_ids}", ordinals(workers)}};
  for (const auto& [name, value] : placeholders) {
    for (auto at = word.find(name); at != std::string::npos; at = word.find(name)) word.replace(at, name.size(), value);
  }
  return word;
}

Status check_gpus(const ScaleRequest& request) {
  if (request.ranks || request.remote) return {};
  const auto here = measure::nvml_probe().list().size();
  const int most = *std::ranges::max_element(request.workers);
  if (std::cmp_greater_equal(here, most)) return {};
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (here == 0 && has_gpus_nvml_does_not_list(visible)) return {};
  const std::string named = visible == nullptr ? "" : fmt::format(" in CUDA_VISIBLE_DEVICES={}", visible);
  return usage_error(
      fmt::format("--gpus {} needs {} GPU{}, but this machine has {}{}", most, most, most == 1 ? "" : "s",
                  here == 0 ? "none" : std::to_string(here), named),
      "for GPUs on other machines add --remote; over CPU processes: warpmark scale --ranks 1,2 -- COMMAND; "
      "of times that you measured: warpmark scale --times 1=620s,8=95s");
}

std::string first_gpus(int count) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return ordinals(count);
  auto gpus = split(visible, ',');
  gpus.resize(std::min(gpus.size(), static_cast<std::size_t>(count)));
  return join(gpus, ",");
}

Result<std::vector<std::string>> words_for(const ScaleRequest& request, int workers,
                                           const collectives::LaunchPlace& place) {
  std::vector<std::string> words;
  if (request.ranks) {
    collectives::LaunchOptions launch = request.launch;
    launch.ranks = workers;
    WM_ASSIGN(words, collectives::launcher_words(launch, place));
  }
  for (const auto& word : request.words) words.push_back(fill_workers(word, workers));
  return words;
}

Result<validate::ScalingRun> run_scaled_once(const ScaleRequest& request, int workers,
                                             const std::atomic<bool>& interrupted) {
  Meter meter(request);
  WM_ASSIGN(const auto words, words_for(request, workers, {}));
  return run_once(request, workers, words, meter, interrupted);
}

std::string energy_method_of(const ScaleRequest& request) { return Meter(request).method(); }

Result<ScaleRuns> run_scaling(const ScaleRequest& request, const collectives::LaunchPlace& place,
                              const std::atomic<bool>& interrupted, const ScaleProgress& progress) {
  std::map<int, std::vector<std::string>> words;
  for (const int workers : request.workers) {
    WM_ASSIGN(words[workers], words_for(request, workers, place));
  }
  Meter meter(request);
  ScaleRuns result;
  result.energy_method = meter.method();
  std::map<int, ScalingPoint> failures;
  const std::int64_t begin = monotonic_ns();
  const int rounds = request.rounds + request.warmup_runs;
  const auto order = validate::scaling_order(request.workers, rounds, request.seed);
  const auto most = static_cast<std::int64_t>(request.workers.size()) * rounds;
  std::int64_t done = 0;
  for (int round = 0; round < rounds; ++round) {
    const double elapsed = static_cast<double>(monotonic_ns() - begin) * 1e-9;
    if (round > request.warmup_runs && request.budget_s > 0 && elapsed > request.budget_s) break;
    for (const int workers : order[static_cast<std::size_t>(round)]) {
      if (interrupted.load()) break;
      const bool warms_up = round < request.warmup_runs;
      progress(done++, most,
               warms_up
                   ? fmt::format("warm-up with {}", workers)
                   : fmt::format("round {} of {} with {}", round - request.warmup_runs + 1, request.rounds, workers));
      auto run = run_once(request, workers, words[workers], meter, interrupted);
      if (interrupted.load()) break;
      if (run.ok() && !warms_up) {
        run->round = round;
        result.runs.push_back(std::move(*run));
      } else if (!run.ok()) {
        auto& failed = failures[workers];
        failed.workers = workers;
        ++failed.failures;
        failed.reason = run.error().what;
      }
    }
    if (interrupted.load()) break;
    result.complete = round + 1 == rounds;
  }
  for (auto& [workers, point] : failures) result.failures.push_back(std::move(point));
  if (result.runs.empty() && !interrupted.load()) {
    return data_error("no run ended well: " + (result.failures.empty() ? "" : result.failures.front().reason),
                      "run the command without warpmark to see why");
  }
  return result;
}

}  // namespace warpmark::apps
