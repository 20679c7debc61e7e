#include "analyze/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "model/names.h"
#include "model/run_query.h"

namespace warpmark::analyze {
namespace {

constexpr std::array<std::string_view, 4> kBandwidthWorkloads{"copy", "triad", "read", "write"};

const DeviceInfo* device_of(const Machine& machine, const std::string& id) {
  const auto found =
      std::find_if(machine.devices.begin(), machine.devices.end(), [&](const auto& d) { return d.id == id; });
  return found == machine.devices.end() ? nullptr : &*found;
}

const Ceiling* find_ceiling(std::span<const Ceiling> ceilings, std::string_view device, std::string_view id,
                            std::string_view scope) {
  const auto found = std::find_if(ceilings.begin(), ceilings.end(), [&](const Ceiling& ceiling) {
    return ceiling.device == device && ceiling.id == id && ceiling.scope == scope;
  });
  return found == ceilings.end() ? nullptr : &*found;
}

/// Keeps the better of two measurements of one limit: an undisturbed one; of two alike, rates high and launch times
/// low.
void offer(std::vector<Ceiling>& ceilings, Ceiling candidate) {
  for (auto& known : ceilings) {
    if (known.device != candidate.device || known.id != candidate.id || known.scope != candidate.scope) continue;
    const bool higher = candidate.value > known.value;
    const bool better = candidate.unreliable != known.unreliable ? known.unreliable : higher == (candidate.unit != "s");
    if (better) known = std::move(candidate);
    return;
  }
  ceilings.push_back(std::move(candidate));
}

/// Which memory a run's bytes come from: in cold and graph mode always the device's memory, whatever the footprint.
std::string memory_scope(const Run& run, const DeviceInfo& device) {
  if (run.mode != Mode::hot) return "memory";
  return level_of(device, static_cast<double>(run.cost.footprint_bytes));
}

std::string source_of(const Run& run) { return run.workload + " " + to_text(run.params); }

std::string scope_name(const Ceiling& ceiling) {
  return ceiling.scope.empty() ? ceiling.id : ceiling.id + " " + ceiling.scope;
}

/// One peak: the time it alone would allow, or why it is not known.
struct Term {
  Bound bound;
  double seconds;
  const Ceiling* ceiling;
};

}  // namespace

std::string level_of(const DeviceInfo& device, double footprint_bytes) {
  for (const auto& cache : device.caches) {
    const int instances = std::max(1, device.compute_units / std::max(1, cache.shared_by));
    if (footprint_bytes <= static_cast<double>(cache.bytes) * instances) return fmt::format("L{}", cache.level);
  }
  return "memory";
}

bool is_set_by(const Ceiling& limit, const Run& run) {
  return limit.device == run.device && limit.source == source_of(run);
}

std::vector<Ceiling> ceilings_from(std::span<const Run> runs, const Machine& machine) {
  std::vector<Ceiling> ceilings;
  for (const Run& run : runs) {
    const DeviceInfo* device = device_of(machine, run.device);
    if (!is_measured(run.outcome) || device == nullptr) continue;
    // A disturbed run understates a limit, and others would seem better under it than they are.
    const bool unreliable = run.outcome == Outcome::unreliable;
    const auto reached = [&](const char* id, const std::string& scope, const Metric& metric, const char* unit) {
      offer(ceilings, {id, run.device, scope, metric.summary.median, unit, source_of(run), unreliable});
    };
    const auto* bandwidth = metric_of(run, "bandwidth");
    const bool streams =
        std::find(kBandwidthWorkloads.begin(), kBandwidthWorkloads.end(), run.workload) != kBandwidthWorkloads.end();
    if (streams && bandwidth != nullptr) reached("bandwidth", memory_scope(run, *device), *bandwidth, "B/s");
    if (!run.cost.link.empty() && bandwidth != nullptr) reached("link", run.cost.link, *bandwidth, "B/s");
    if (const auto* rate = metric_of(run, "flop_rate"); rate != nullptr && run.workload == "gemm") {
      reached("flop_rate", run.cost.flop_type, *rate, "FLOP/s");
    }
    if (const auto* time = metric_of(run, "time"); time != nullptr && run.workload == "launch") {
      reached("launch", "", *time, "s");
    }
  }
  return ceilings;
}

Peak share_of_peak(const Run& run, const DeviceInfo& device, std::span<const Ceiling> ceilings) {
  Peak peak;
  const auto* time = metric_of(run, "time");
  if (time == nullptr || time->summary.median <= 0) {
    peak.reason = "no time was measured";
    return peak;
  }
  const double seconds = time->summary.median;
  peak.flops_per_second = run.cost.flops / seconds;
  peak.bytes_per_second = run.cost.bytes / seconds;
  peak.intensity = run.cost.bytes > 0 ? run.cost.flops / run.cost.bytes : 0;

  std::vector<Term> terms;
  std::string missing;
  const auto add = [&](Bound bound, std::string_view id, const std::string& scope, double work) {
    if (const auto* ceiling = find_ceiling(ceilings, device.id, id, scope)) {
      terms.push_back({bound, work / ceiling->value, ceiling});
    } else {
      missing += fmt::format("{}no {} of {} was measured in this session", missing.empty() ? "" : "; ", id, scope);
    }
  };
  if (run.cost.flops > 0) add(Bound::compute, "flop_rate", run.cost.flop_type, run.cost.flops);
  if (run.cost.bytes > 0 && !run.cost.link.empty()) add(Bound::link, "link", run.cost.link, run.cost.bytes);
  if (run.cost.bytes > 0 && run.cost.link.empty()) {
    add(Bound::memory, "bandwidth", memory_scope(run, device), run.cost.bytes);
  }
  // Work that took less than a launch did not pay for one, as a copy by the calling thread alone.
  const auto* launch = find_ceiling(ceilings, device.id, "launch", "");
  if (launch != nullptr && launch->value <= seconds) terms.push_back({Bound::latency, launch->value, launch});
  // What is missing could only lengthen the shortest possible time: the known terms still bound it, and the share is
  // then at least this much. But a share of another kind of peak than the work's own says nothing.
  const auto is_own = [&](const Term& term) {
    return rate_of(run) == "flop_rate" ? term.bound == Bound::compute
                                       : term.bound == Bound::memory || term.bound == Bound::link;
  };
  peak.reason = missing.empty() && terms.empty() ? "no ceiling was measured in this session" : missing;
  if (terms.empty() || (!missing.empty() && std::none_of(terms.begin(), terms.end(), is_own))) return peak;
  const auto highest =
      std::max_element(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.seconds < b.seconds; });
  peak.bound = highest->bound;
  peak.share = highest->seconds / seconds;
  peak.unreliable = highest->ceiling->unreliable;
  peak.ceiling = fmt::format("{} of {:.4g} {} ({})", scope_name(*highest->ceiling), highest->ceiling->value,
                             highest->ceiling->unit, highest->ceiling->source);
  return peak;
}

}  // namespace warpmark::analyze
