#include "analyze/recommendations/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "analyze/evidence/other_processes.h"
#include "analyze/recommendations/findings.h"

namespace warpmark::analyze {

namespace {

constexpr double kAssumedClockLoss = 1 - kNearlyAll;
constexpr std::uint64_t kHardwareSlowdown = 0x8;  // of heat or power, which other bits tell

// Payload that a link carries: about 0.8 of generation x lanes (PCI Express base specification: 0.985 GB/s a lane for
// generation 3, doubled with every generation, less packet headers).
constexpr double kLaneOfGeneration3 = 0.79e9;  // B/s of payload
constexpr double kAssumedLanes = 16;

/// A set of bits, and no number that a broken sample holds.
bool is_set(double value) { return value >= 0 && value <= static_cast<double>(UINT32_MAX); }

bool has_bits(double value, std::uint64_t bits) {
  return is_set(value) && (static_cast<std::uint64_t>(value) & bits) != 0;
}

/// One tool's samples of the GPUs of a machine, those of other programs among them.
struct SampledGpus {
  const std::vector<CounterSeries>& counters;
  const RankEvidence* rank;  ///< whose steps tell which samples count; may be null
  std::int64_t origin_ns;    ///< of their times
};

double lost_by(const Throttle& throttle) { return throttle.share * throttle.clock_loss.value_or(kAssumedClockLoss); }

const CounterSeries* find_series(const SampledGpus& gpus, std::string_view id, int device) {
  const auto found = std::ranges::find_if(
      gpus.counters, [&](const CounterSeries& one) { return one.id == id && one.device == device; });
  return found == gpus.counters.end() ? nullptr : &*found;
}

/// What a GPU does before and after says nothing about the steps. All samples where hardly any lies within them.
CounterSeries within_steps(const CounterSeries& series, const SampledGpus& gpus) {
  if (gpus.rank == nullptr) return series;
  CounterSeries within{series.id, series.unit, series.device, {}, {}};
  for (std::size_t i = 0; i < series.times.size(); ++i) {
    const std::int64_t time = series.times[i] + gpus.origin_ns - gpus.rank->timeline->origin_ns;
    if (time < gpus.rank->steps.start() || time > gpus.rank->steps.end()) continue;
    within.times.push_back(series.times[i]);
    within.values.push_back(series.values[i]);
  }
  return within.times.size() < kFewest ? series : within;
}

/// GPUs that the recorded program works on, as far as they may be among those sampled.
std::size_t gpus_used(const Evidence& evidence, const SampledGpus& gpus) {
  std::size_t used = 0;
  for (const RankEvidence& rank : evidence.ranks) {
    if (gpus.rank != nullptr && rank.timeline->host != gpus.rank->timeline->host) continue;
    std::set<int> devices;
    for (const Track& track : rank.timeline->tracks) {
      if (track.kind == TrackKind::gpu_stream) devices.insert(track.device);
    }
    used += std::max<std::size_t>(1, devices.size());
    used = std::max(used, static_cast<std::size_t>(std::max(0, rank.timeline->world_size)));
  }
  return used;
}

template <typename Visit>
void for_each_series(const Evidence& evidence, const Visit& visit) {
  std::ranges::for_each(evidence.session->counters, visit);
  for (const Timeline& timeline : evidence.session->ranks) std::ranges::for_each(timeline.counters, visit);
}

/// The GPUs that the program works on, by uuid; empty if that of one is not known.
std::set<std::string> uuids_used(const Evidence& evidence) {
  std::set<std::string> uuids;
  for (const RankEvidence& rank : evidence.ranks) {
    for (const Track& track : rank.timeline->tracks) {
      if (track.kind != TrackKind::gpu_stream) continue;
      const auto gpu = std::ranges::find(rank.timeline->gpus, track.device, &GpuInfo::index);
      if (gpu == rank.timeline->gpus.end() || gpu->uuid.empty()) return {};
      uuids.insert(gpu->uuid);
    }
  }
  return uuids;
}

/// A GPU that was less busy than the rank kept its own is another one.
bool may_be_used(const SampledGpus& gpus, int device) {
  const CounterSeries* utilization = find_series(gpus, "gpu_utilization", device);
  if (gpus.rank == nullptr || utilization == nullptr) return true;
  const auto mean = mean_in_steps(*utilization, gpus.origin_ns, *gpus.rank);
  const Steps& steps = gpus.rank->steps;  // copies are not counted as utilization
  const auto computing = static_cast<double>(gpus.rank->computing.covered(steps.start(), steps.end()));
  return !mean || *mean + kUtilizationDisagrees >= computing / static_cast<double>(steps.length());
}

/// The highest sample of a GPU's clock that no limit lowers, where the reasons were sampled with it.
std::optional<double> highest_without_limit(const SampledGpus& gpus, const CounterSeries& clock) {
  const CounterSeries* reasons = find_series(gpus, "throttle_reasons", clock.device);
  if (reasons == nullptr || reasons->times != clock.times) return highest_of(clock);
  std::optional<double> highest;
  for (std::size_t i = 0; i < clock.values.size(); ++i) {
    const bool limited = has_bits(reasons->values[i], kPowerReasons | kThermalReasons | kHardwareSlowdown);
    if (!limited && !std::isnan(clock.values[i])) highest = std::max(highest.value_or(0), clock.values[i]);
  }
  return highest;
}

/// Two of one model have as much memory, or the same limit of power.
bool are_alike(const SampledGpus& gpus, int a, int b) {
  bool known = a == b;
  for (const char* id : {"memory_total", "power_limit_default"}) {
    const CounterSeries* one = find_series(gpus, id, a);
    const CounterSeries* other = find_series(gpus, id, b);
    if (one == nullptr || other == nullptr) continue;
    if (highest_of(*one) != highest_of(*other)) return false;
    known = true;
  }
  return known;
}

/// What the driver allows (clocks.max.sm), else the highest sample without a limit, of this GPU or of one like it in
/// the same file; nothing where that is no more than the clock in question.
std::optional<double> reachable_clock(const SampledGpus& gpus, int device, double clock) {
  if (const CounterSeries* most = find_series(gpus, "sm_clock_max", device)) return highest_of(*most);
  double highest = 0;
  for (const CounterSeries& one : gpus.counters) {
    if (one.id != "sm_clock" || !are_alike(gpus, device, one.device)) continue;
    highest = std::max(highest, highest_without_limit(gpus, one).value_or(0));
  }
  return highest * (1 - kMatters) > clock ? std::optional(highest) : std::nullopt;
}

Throttle throttle_of(int device, double share, std::optional<double> clock, const SampledGpus& gpus) {
  Throttle one{device, share, clock, std::nullopt};
  const auto reachable = clock ? reachable_clock(gpus, device, *clock) : std::nullopt;
  if (reachable && *reachable > 0) one.clock_loss = std::max(0.0, 1 - *clock / *reachable);
  return one;
}

/// Share of the samples with one of these bits, and the mean of another series over them (absent where the two were not
/// sampled together, or never with a bit).
struct WithBits {
  double share = 0;
  std::optional<double> mean;
};

WithBits with_bits(const CounterSeries& reasons, std::uint64_t bits, const CounterSeries* other) {
  const bool together = other != nullptr && other->times == reasons.times;
  double with = 0, known = 0, sum = 0, count = 0;
  for (std::size_t i = 0; i < reasons.values.size(); ++i) {
    if (is_set(reasons.values[i])) ++known;
    if (!has_bits(reasons.values[i], bits)) continue;
    ++with;
    if (together && !std::isnan(other->values[i])) sum += other->values[i], ++count;
  }
  return {known > 0 ? with / known : 0, count > 0 ? std::optional(sum / count) : std::nullopt};
}

Throttle by_reasons(const SampledGpus& gpus, const CounterSeries& series, std::uint64_t reasons) {
  const CounterSeries* clock = find_series(gpus, "sm_clock", series.device);
  const CounterSeries clock_within = clock == nullptr ? CounterSeries{} : within_steps(*clock, gpus);
  const auto [sampled, together] = with_bits(within_steps(series, gpus), reasons, &clock_within);
  // Of power nvidia-smi dmon also tells in how much of each sample's time.
  const CounterSeries* violation = find_series(gpus, "power_violation", series.device);
  const bool shows = violation != nullptr && reasons == kPowerReasons;
  const double share = shows ? mean_of(within_steps(*violation, gpus)).value_or(sampled) : sampled;
  // An idle GPU lowers its clock too: only the samples in question count, where that can be told.
  return throttle_of(series.device, share, together ? together : mean_of(clock_within), gpus);
}

std::optional<InUse> mean_with_work(const CounterSeries& series, const CounterSeries* busy) {
  std::map<std::int64_t, double> work;
  for (std::size_t i = 0; busy != nullptr && i < busy->times.size(); ++i) work[busy->times[i]] = busy->values[i];
  double sum = 0, of_work = 0, count = 0, known = 0;
  for (std::size_t i = 0; i < series.times.size(); ++i) {
    const auto at = work.find(series.times[i]);
    const bool is_known = at != work.end() && !std::isnan(at->second);
    if (std::isnan(series.values[i]) || (is_known ? at->second < kMatters : series.values[i] <= 0)) continue;
    sum += series.values[i];
    ++count;
    if (is_known) of_work += at->second, ++known;
  }
  if (count < static_cast<double>(kFewest)) return std::nullopt;
  return InUse{sum / count, known > 0 ? std::optional(of_work / known) : std::nullopt};
}

/// Tools that tell no reasons count the time for which a limit was in force (DCGM's violation times, nanoseconds that
/// add up): the share of the time between the first and the last sample.
std::optional<Throttle> by_violations(const SampledGpus& gpus, const CounterSeries& series) {
  const CounterSeries within = within_steps(series, gpus);
  if (within.times.size() < 2 || within.times.back() <= within.times.front()) return std::nullopt;
  const double span_s = static_cast<double>(within.times.back() - within.times.front()) * 1e-9;
  const double violated_s = within.values.back() - within.values.front();
  if (!(violated_s > 0)) return std::nullopt;
  const CounterSeries* clock = find_series(gpus, "sm_clock", within.device);
  return throttle_of(within.device, std::min(1.0, violated_s / span_s),
                     clock == nullptr ? std::nullopt : mean_of(within_steps(*clock, gpus)), gpus);
}

/// NVML numbers all GPUs of the machine, a program those that it is shown. Where uuids do not tell which of the sampled
/// ones it works on, and more were sampled than it uses, the one that is told is throttled no worse than its worst.
std::optional<Throttle> worst_of(const Evidence& evidence, const SampledGpus& gpus, std::uint64_t reasons) {
  std::vector<Throttle> sampled;
  for (const CounterSeries& series : gpus.counters) {
    if (series.id != "throttle_reasons" || !is_used(evidence, series) || !may_be_used(gpus, series.device)) continue;
    sampled.push_back(by_reasons(gpus, series, reasons));
  }
  const char* violations = reasons == kPowerReasons ? "power_violation_time" : "thermal_violation_time";
  for (const CounterSeries& series : gpus.counters) {
    const bool reported = find_series(gpus, "throttle_reasons", series.device) != nullptr;
    if (series.id != violations || reported || !is_used(evidence, series) || !may_be_used(gpus, series.device))
      continue;
    if (const auto one = by_violations(gpus, series)) sampled.push_back(*one);
  }
  std::ranges::sort(sampled, [](const Throttle& a, const Throttle& b) { return lost_by(a) < lost_by(b); });
  if (sampled.empty()) return std::nullopt;
  const std::size_t used = evidence.has_timeline() ? gpus_used(evidence, gpus) : sampled.size();
  const Throttle& worst = sampled[std::clamp<std::size_t>(used, 1, sampled.size()) - 1];
  return worst.share < kMatters ? std::nullopt : std::optional(worst);
}

/// Where the link was not sampled: what the GPU can do at most, so that a slower link goes unnoticed, but none is
/// accused. PCI Express of NVIDIA's data centre GPUs: generation 3 up to Volta, 4 for Ampere and Ada, 5 from Hopper.
double assumed_generation(const Evidence& evidence) {
  int newest = 0;
  for (const Timeline& timeline : evidence.session->ranks) {
    for (const GpuInfo& gpu : timeline.gpus) newest = std::max(newest, gpu.compute_major);
  }
  if (newest == 0 || newest >= 9) return 5;
  return newest == 8 ? 4 : 3;
}

}  // namespace

bool is_used(const Evidence& evidence, const CounterSeries& series) {
  if (series.gpu.empty()) return true;
  const std::set<std::string> used = uuids_used(evidence);
  // Partitions of a GPU have uuids of their own: one that is not among those sampled tells nothing.
  const bool sampled = std::ranges::any_of(series_of(evidence, series.id),
                                           [&](const CounterSeries* one) { return used.contains(one->gpu); });
  return !sampled || used.contains(series.gpu);
}

std::vector<const CounterSeries*> series_of(const Evidence& evidence, std::string_view id) {
  std::vector<const CounterSeries*> found;
  for_each_series(evidence, [&](const CounterSeries& one) {
    if (one.id == id) found.push_back(&one);
  });
  return found;
}

std::set<int> sampled_devices(const Evidence& evidence) {
  std::set<int> devices;
  for_each_series(evidence, [&](const CounterSeries& one) {
    if (one.device >= 0 && is_used(evidence, one)) devices.insert(one.device);
  });
  return devices;
}

const CounterSeries* series_of(const Evidence& evidence, std::string_view id, int device) {
  for (const CounterSeries* one : series_of(evidence, id)) {
    if (one->device == device) return one;
  }
  return nullptr;
}

std::optional<InUse> in_use(const Evidence& evidence, const CounterSeries& series) {
  const RankEvidence* critical = evidence.has_timeline() ? &evidence.rank() : nullptr;
  const auto own = [&series](const RankEvidence& rank) {
    const auto& counters = rank.timeline->counters;
    return std::ranges::any_of(counters, [&series](const CounterSeries& one) { return &one == &series; });
  };
  const auto rank = std::ranges::find_if(evidence.ranks, own);
  const bool of_rank = rank != evidence.ranks.end();
  const SampledGpus of{of_rank ? rank->timeline->counters : evidence.session->counters, of_rank ? &*rank : critical,
                       of_rank ? rank->timeline->origin_ns : 0};
  const CounterSeries* graphics = find_series(of, "graphics_active", series.device);
  const CounterSeries* busy = graphics != nullptr ? graphics : find_series(of, "gpu_utilization", series.device);
  return mean_with_work(within_steps(series, of), busy);
}

std::optional<Busiest> busiest_of(const Evidence& evidence, std::string_view id, double least) {
  std::optional<Busiest> busiest;
  for (const CounterSeries* series : series_of(evidence, id)) {
    if (!is_used(evidence, *series)) continue;
    const auto used = in_use(evidence, *series);
    if (!used || used->mean < least || (busiest && used->mean <= busiest->mean)) continue;
    busiest = Busiest{series->device, used->mean};
  }
  return busiest;
}

std::optional<double> mean_of(const CounterSeries& series) {
  double sum = 0;
  double count = 0;
  for (const double value : series.values) {
    if (std::isnan(value)) continue;
    sum += value;
    count += 1;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::optional<double> highest_of(const CounterSeries& series) {
  std::optional<double> highest;
  for (const double value : series.values) {
    if (!std::isnan(value)) highest = std::max(highest.value_or(value), value);
  }
  return highest;
}

std::optional<double> mean_of(const Evidence& evidence, std::string_view id, int device) {
  const CounterSeries* series = series_of(evidence, id, device);
  return series == nullptr ? std::nullopt : mean_of(*series);
}

std::optional<double> highest_of(const Evidence& evidence, std::string_view id, int device) {
  const CounterSeries* series = series_of(evidence, id, device);
  return series == nullptr ? std::nullopt : highest_of(*series);
}

double exposed_copies(const Evidence& evidence) {
  if (!evidence.has_timeline()) return 1;
  const RankEvidence& rank = evidence.rank();
  const double copies = rank.part_ns(Part::exposed_copy_to_device) + rank.part_ns(Part::exposed_copy_to_host);
  return copies / rank.undisturbed_step_ns();
}

Finding counter_finding(const Rule& rule, const Evidence& evidence, double lost_share, std::string title) {
  const double step = evidence.has_timeline() ? evidence.rank().undisturbed_step_ns() : 1e9;
  Finding finding = make_finding(rule, step * lost_share, step, std::move(title));
  if (!evidence.has_timeline()) finding.lost_ns = 0;
  return finding;
}

LinkRate link_rate(const Evidence& evidence, int device) {
  const auto generation = highest_of(evidence, "pcie_link_generation", device);
  const auto width = highest_of(evidence, "pcie_link_width", device);
  const bool known = generation && width;
  const double number = known ? *generation : assumed_generation(evidence);
  return {kLaneOfGeneration3 * std::pow(2.0, number - 3) * (known ? *width : kAssumedLanes), known};
}

std::optional<Throttle> worst_throttle(const Evidence& evidence, std::uint64_t reasons) {
  std::optional<Throttle> worst;
  const auto take = [&](const SampledGpus& gpus) {
    const auto one = worst_of(evidence, gpus, reasons);
    if (one && (!worst || lost_by(*one) > lost_by(*worst))) worst = one;
  };
  take({evidence.session->counters, evidence.has_timeline() ? &evidence.rank() : nullptr, 0});
  for (const Timeline& timeline : evidence.session->ranks) {
    const auto rank =
        std::ranges::find_if(evidence.ranks, [&](const RankEvidence& one) { return one.timeline == &timeline; });
    take({timeline.counters, rank == evidence.ranks.end() ? nullptr : &*rank, timeline.origin_ns});
  }
  return worst;
}

Finding throttle_finding(const Rule& rule, const Evidence& evidence, const Throttle& throttle,
                         const ThrottleText& text) {
  const double lost_share = std::min(lost_by(throttle), kNearlyAll);
  Finding finding = counter_finding(
      rule, evidence, lost_share * text.counted,
      fmt::format("GPU {} {} in {:.0f} % of the time", throttle.device, text.what, throttle.share * 100));
  if (!evidence.has_timeline() && throttle.share >= kEffectiveUse)
    finding.severity = std::max(finding.severity, kWarning);
  finding.evidence = {share_fact("throttled_share", "Time in which it is slowed down", throttle.share)};
  if (throttle.clock) {
    finding.evidence.push_back(
        {fmt::format("SM clock meanwhile: {:.0f} MHz", *throttle.clock * 1e-6), "sm_clock", *throttle.clock, "Hz"});
  }
  if (throttle.clock_loss) {
    finding.evidence.push_back(share_fact("clock_loss", "SM clock below the one it reaches", *throttle.clock_loss));
    finding.gain = at_most(1 / (1 - lost_share), "work that scales with the SM clock, all of it at most");
  } else {
    finding.gain = {
        .method = throttle.clock ? "the clock without the limit is not in the file" : "no clock was sampled",
        .unknown = true};
  }
  return finding;
}

}  // namespace warpmark::analyze
