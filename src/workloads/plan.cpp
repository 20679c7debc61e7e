#include "workloads/plan.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace warpmark::workloads {
namespace {

using measure::Workload;

bool knows(const Workload& workload, const std::string& name) {
  return name == "mode" || std::any_of(workload.params.begin(), workload.params.end(),
                                       [&](const ParamSpec& spec) { return name == spec.name; });
}

Result<std::vector<const Workload*>> matching(Catalog<Workload> catalog, const SuiteEntry& entry) {
  std::vector<const Workload*> found;
  for (const Workload* workload : catalog) {
    if (glob_match(entry.workload, workload->id)) found.push_back(workload);
  }
  if (!found.empty()) return found;
  const auto ids = ids_of(catalog);
  const auto meant = nearest(entry.workload, ids);
  return usage_error(
      "there is no workload '" + entry.workload + "'",
      (meant.empty() ? "" : "did you mean '" + meant + "'? ") + std::string("`warpmark list workloads` shows all"));
}

/// A parameter given for several workloads must be known to at least one of them; where it is unknown it is left out.
Status check_names(const std::vector<const Workload*>& workloads, const SuiteEntry& entry) {
  std::vector<std::string> names;
  for (const auto& [name, value] : entry.set) names.push_back(name);
  for (const auto& [name, values] : entry.sweep) names.push_back(name);
  for (const auto& name : names) {
    if (std::any_of(workloads.begin(), workloads.end(), [&](const auto* w) { return knows(*w, name); })) continue;
    std::vector<std::string> known{"mode"};
    for (const auto& spec : workloads.front()->params) known.emplace_back(spec.name);
    const auto meant = nearest(name, known);
    return usage_error(std::string(workloads.front()->id) + " has no parameter '" + name + "'",
                       (meant.empty() ? "" : "did you mean '" + meant + "'? ") + "parameters: " + join(known, ", "));
  }
  return {};
}

/// Every combination of the sweep's values, the last parameter varying fastest.
std::vector<Overrides> combinations(const Sweep& sweep) {
  std::vector<Overrides> all{{}};
  for (const auto& [name, values] : sweep) {
    std::vector<Overrides> longer;
    for (const auto& prefix : all) {
      for (const auto& value : values) {
        longer.push_back(prefix);
        longer.back().emplace_back(name, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

constexpr const char* kAuto = "auto";
constexpr std::int64_t kLargestBatch = 1 << 20;

/// Whether the entry doubles the batch of this workload until memory is used up.
bool doubles_batch(const Workload& workload, const SuiteEntry& entry) {
  return workload.measure != nullptr && knows(workload, "batch") &&
         std::any_of(entry.sweep.begin(), entry.sweep.end(), [](const auto& sweep) {
           return sweep.first == "batch" && sweep.second == std::vector<std::string>{kAuto};
         });
}

/// The sweep with batch=auto spelled out: the powers of two.
Sweep spelled_out(Sweep sweep) {
  for (auto& [name, values] : sweep) {
    if (name != "batch") continue;
    values.clear();
    for (std::int64_t batch = 1; batch <= kLargestBatch; batch *= 2) values.push_back(std::to_string(batch));
  }
  return sweep;
}

/// Work of a lower intensity (FLOP per byte) is limited by memory on today's devices, whatever its workload: the corner
/// of the roofline lies at 100 to 300 for the matrix units of GPUs and lower elsewhere.
constexpr double kMemoryBoundIntensity = 128;

/// The mode when nobody asks for one: the workload's own, but cold where its parameters make it memory-bound, as a 1x1
/// convolution or the product with a narrow matrix. Their hot times would be those of a cache.
Mode natural_mode(const Workload& workload, const Cost& cost) {
  if (cost.flops <= 0 || cost.bytes <= 0 || !cost.link.empty()) return workload.default_mode;
  return cost.flops / cost.bytes < kMemoryBoundIntensity ? Mode::cold : workload.default_mode;
}

PlannedCase plan_case(const Workload& workload, const DeviceInfo& device, Overrides overrides) {
  std::erase_if(overrides, [&](const auto& item) { return !knows(workload, item.first); });
  PlannedCase planned;
  planned.what.workload = &workload;
  planned.what.device = device.id;
  const bool mode_given =
      std::any_of(overrides.begin(), overrides.end(), [](const auto& o) { return o.first == "mode"; });
  const auto mode = measure::take_mode(overrides, workload.default_mode);
  const auto params = resolve_params(workload.params, overrides);
  if (params.ok()) planned.what.params = *params;
  if (params.ok() && workload.spell_out != nullptr) workload.spell_out(workload, planned.what.params);
  if (mode.ok()) planned.what.mode = *mode;
  if (!mode.ok()) planned.invalid = mode.error();
  if (!params.ok()) planned.invalid = params.error();
  const bool doubled = std::any_of(overrides.begin(), overrides.end(),
                                   [](const auto& o) { return o.first == "batch" && o.second == kAuto; });
  if (doubled && workload.measure != nullptr) {
    planned.invalid = usage_error("batch=auto measures many batches", "--sweep batch=auto");
  }
  if (!planned.invalid) {
    const auto cost = workload.cost(workload, planned.what.params);
    if (!cost.ok()) planned.invalid = cost.error();
    if (cost.ok() && !mode_given) planned.what.mode = natural_mode(workload, *cost);
  }
  return planned;
}

bool selects(const SuiteEntry& entry, const DeviceInfo& device) {
  return entry.device.empty() || entry.device == "all" || entry.device == device.id || entry.device == device.backend;
}

std::string key_of(const PlannedCase& planned) {
  return planned.what.device + ' ' + planned.what.workload->id + ' ' + to_text(planned.what.params) + ' ' +
         std::to_string(static_cast<int>(planned.what.mode)) + (planned.invalid ? planned.invalid->what : "");
}

/// The cheapest representative case of a limit.
void add_limit(std::vector<PlannedCase>& limits, Catalog<Workload> catalog, const DeviceInfo& device,
               const char* workload_id, const Overrides& overrides) {
  const Workload* workload = find_in(catalog, std::string_view(workload_id));
  if (workload == nullptr) return;
  PlannedCase planned = plan_case(*workload, device, overrides);
  if (planned.invalid || !workload->supports(*workload, device, planned.what.params).available) return;
  planned.for_ceiling = true;
  limits.push_back(std::move(planned));
}

bool has_case(const std::vector<PlannedCase>& plan, const DeviceInfo& device, std::string_view workload,
              std::string_view flop_type) {
  return std::any_of(plan.begin(), plan.end(), [&](const PlannedCase& planned) {
    return planned.what.device == device.id && planned.what.workload->id == workload && !planned.invalid &&
           (flop_type.empty() || planned.what.params.text("dtype") == flop_type) &&
           (workload != "copy" || planned.what.mode == Mode::cold);
  });
}

std::set<std::string> flop_types(const std::vector<PlannedCase>& plan, const DeviceInfo& device) {
  std::set<std::string> types;
  for (const auto& planned : plan) {
    if (planned.invalid || planned.what.device != device.id) continue;
    const auto cost = planned.what.workload->cost(*planned.what.workload, planned.what.params);
    if (cost.ok() && cost->flops > 0) types.insert(cost->flop_type);
  }
  return types;
}

}  // namespace

Result<std::vector<PlannedCase>> make_plan(Catalog<Workload> catalog, const std::vector<SuiteEntry>& entries,
                                           const std::vector<DeviceInfo>& devices) {
  std::vector<PlannedCase> plan;
  std::set<std::string> seen;
  for (const auto& entry : entries) {
    WM_ASSIGN(const auto workloads, matching(catalog, entry));
    WM_TRY(check_names(workloads, entry));
    for (const Workload* workload : workloads) {
      const bool doubling = doubles_batch(*workload, entry);
      for (const auto& device : devices) {
        if (!selects(entry, device)) continue;
        std::vector<Overrides> bases = workload->cases(*workload, device);
        // A workload that has no default case here is measured only when its parameters are given, so that the reason
        // why it is unsupported is shown to the one who asked.
        if (bases.empty() && !is_glob(entry.workload)) bases.push_back({});
        for (const auto& base : bases) {
          for (const auto& swept : combinations(doubling ? spelled_out(entry.sweep) : entry.sweep)) {
            Overrides overrides = base;
            overrides.insert(overrides.end(), entry.set.begin(), entry.set.end());
            overrides.insert(overrides.end(), swept.begin(), swept.end());
            PlannedCase planned = plan_case(*workload, device, std::move(overrides));
            planned.until_memory = doubling;
            if (seen.insert(key_of(planned)).second) plan.push_back(std::move(planned));
          }
        }
      }
    }
  }
  return plan;
}

void add_ceiling_cases(std::vector<PlannedCase>& plan, Catalog<Workload> catalog,
                       const std::vector<DeviceInfo>& devices) {
  std::vector<PlannedCase> limits;
  for (const auto& device : devices) {
    const bool used = std::any_of(plan.begin(), plan.end(), [&](const auto& p) { return p.what.device == device.id; });
    if (!used) continue;
    const bool gpu = device.backend == "cuda";
    const char* array = gpu ? "512MiB" : "64MiB";
    for (const char* id : {"copy", "triad"}) {
      if (!has_case(plan, device, id, "")) add_limit(limits, catalog, device, id, {{"size", array}, {"mode", "cold"}});
    }
    if (!has_case(plan, device, "launch", "")) {
      add_limit(limits, catalog, device, "launch", {{"kind", gpu ? "rate" : "fork_join"}});
    }
    // The one workload that crosses the link and is no copy.
    if (gpu && has_case(plan, device, "embedding_cache", "") && !has_case(plan, device, "transfer", "")) {
      add_limit(limits, catalog, device, "transfer", {{"size", "256MiB"}, {"direction", "h2d"}, {"memory", "pinned"}});
    }
    for (const auto& type : flop_types(plan, device)) {
      if (has_case(plan, device, "gemm", type)) continue;
      const char* edge = gpu ? (type == "f64" || type == "f32" ? "4096" : "8192") : "1024";
      add_limit(limits, catalog, device, "gemm", {{"m", edge}, {"n", edge}, {"k", edge}, {"dtype", type}});
    }
  }
  plan.insert(plan.begin(), std::make_move_iterator(limits.begin()), std::make_move_iterator(limits.end()));
}

}  // namespace warpmark::workloads
