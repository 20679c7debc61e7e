#include "collectives/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "collectives/nccl/nccl_engine.h"
#include "device/cpu/topology.h"
#include "device/cuda/backend.h"
#include "device/nvml/nvml.h"
#include "model/run_query.h"
#include "stats/summary.h"

namespace warpmark::collectives {
namespace {

constexpr double kOneWay = 0.8;    ///< of what is promised, that a direction alone reaches, and NVLink both ways
constexpr double kBothWays = 0.5;  ///< PCIe both ways: not below what one way alone should carry

std::string path_of(const GpuPair& pair, const LinkFacts& facts) {
  const auto from = static_cast<std::size_t>(pair.from), to = static_cast<std::size_t>(pair.to);
  return from < facts.paths.size() && to < facts.paths[from].size() ? facts.paths[from][to] : "unknown";
}

double nvlink_of(const GpuPair& pair, const LinkFacts& facts) {
  const auto from = static_cast<std::size_t>(pair.from), to = static_cast<std::size_t>(pair.to);
  if (from >= facts.nvlink.size() || to >= facts.nvlink.size()) return 0;
  const auto path = path_of(pair, facts);
  return path == "NVLink" || path == "unknown" ? std::min(facts.nvlink[from], facts.nvlink[to]) : 0;
}

/// One square of the matrices that tells a rate.
struct Rate {
  std::string where;
  double value = 0;
  double expected = 0;     ///< 0: not known
  double least = kOneWay;  ///< share of it
};

/// All rates of one kind, against their promise and each other.
void judge_rates(std::vector<SlowLink>& slow, const std::vector<Rate>& rates) {
  std::vector<double> values;
  for (const auto& rate : rates) values.push_back(rate.value);
  const double usual = rates.empty() ? 0 : stats::median(values);
  for (const auto& rate : rates) {
    if (!(rate.value > 0)) continue;
    if (rate.expected > 0 && rate.value < rate.least * rate.expected) {
      slow.push_back({rate.where, rate.value, rate.expected,
                      fmt::format("below {:.0f} % of what its links promise", 100 * rate.least)});
    } else if (usual > 0 && rate.value < kEvenLinks * usual) {
      slow.push_back(
          {rate.where, rate.value, usual, fmt::format("below {:.0f} % of the median of its kind", 100 * kEvenLinks)});
    }
  }
}

struct Latency {
  std::string where;
  std::string path;
  const LinkValue* measured;
};

/// Of two, each is held against the other, which a median of both could not.
void judge_latencies(std::vector<SlowLink>& slow, const std::vector<Latency>& latencies) {
  constexpr double kLeastExcess = 1e-6;  // s; below it, two launches differ as much
  for (const auto& one : latencies) {
    std::vector<double> others;
    for (const auto& other : latencies) {
      if (&other != &one && other.path == one.path && other.measured->value > 0) {
        others.push_back(other.measured->value);
      }
    }
    if (others.empty()) continue;
    const double usual = stats::median(others);
    const double surely = one.measured->interval ? one.measured->interval->low : one.measured->value;
    if (surely <= 2 * usual || surely - usual < kLeastExcess) continue;
    slow.push_back({one.where, one.measured->value, usual, "above twice the median of the others of its path", "s"});
  }
}

void judge_pairs(std::vector<SlowLink>& slow, const Links& links, const LinkFacts& facts) {
  struct Kind {
    const char* name;
    LinkValue GpuPair::*value;
  };
  constexpr Kind kKinds[] = {{"write", &GpuPair::write}, {"read", &GpuPair::read}, {"both ways", &GpuPair::both}};
  for (const auto& kind : kKinds) {
    const bool both = kind.value == &GpuPair::both;
    std::vector<Rate> rates;
    for (const auto& pair : links.pairs) {
      const bool pcie = !(nvlink_of(pair, facts) > 0);
      rates.push_back({where_of(pair, kind.name), (pair.*kind.value).value, (both ? 2 : 1) * promised(pair, facts),
                       both && pcie ? kBothWays : kOneWay});
    }
    judge_rates(slow, rates);
  }
  std::vector<Latency> latencies;
  for (const auto& pair : links.pairs) {
    latencies.push_back({where_of(pair, "latency"), path_of(pair, facts), &pair.latency});
  }
  judge_latencies(slow, latencies);
}

void judge_hosts(std::vector<SlowLink>& slow, const Links& links, const LinkFacts& facts) {
  std::vector<Rate> to_gpu, from_gpu, both;
  std::vector<Latency> latencies;
  for (const auto& host : links.hosts) {
    const double expected = promised(host, facts);
    const auto where = where_of(host);
    to_gpu.push_back({where.to_gpu, host.to_gpu.value, expected});
    from_gpu.push_back({where.from_gpu, host.from_gpu.value, expected});
    both.push_back({where.both, host.both.value, 2 * expected, kBothWays});
    latencies.push_back({fmt::format("host -> GPU {}, latency", host.gpu), "host", &host.latency});
  }
  judge_rates(slow, to_gpu);
  judge_rates(slow, from_gpu);
  judge_rates(slow, both);
  judge_latencies(slow, latencies);
}

Attachment attachment_of(const device::nvml::GpuFacts& gpu, const std::filesystem::path& pci_devices) {
  return {.pci_bus_id = gpu.pci_bus_id,
          .nvlinks = gpu.nvlinks,
          .nvlinks_active = gpu.nvlinks_active,
          .nvlink_version = gpu.nvlink_version,
          .pcie_generation = gpu.pcie_generation,
          .pcie_max_generation = gpu.pcie_max_generation,
          .pcie_width = gpu.pcie_width,
          .pcie_max_width = gpu.pcie_max_width,
          .numa_node = device::numa_node_of(gpu.pci_bus_id, pci_devices)};
}

void add_run(std::vector<Run>& runs, const char* workload, Params params, const char* what, const LinkValue& value,
             std::int64_t bytes) {
  if (value.samples.empty()) return;
  const bool latency = std::string_view(what) == "latency";
  Run run{.id = {}, .index = static_cast<std::int64_t>(runs.size()), .workload = workload, .params = std::move(params)};
  run.params.set("what", std::string(what));
  run.params.set("bytes", latency ? std::int64_t{4} : bytes);
  run.device = "cuda";
  run.outcome = warpmark::Outcome::passed;
  run.converged = true;
  run.metrics.push_back(latency ? stats::sampled_metric("time", "s", Better::lower, value.samples)
                                : stats::sampled_metric("bandwidth", "B/s", Better::higher, value.samples));
  run.rounds = 1;
  run.timing.method = "cuda_event";
  runs.push_back(std::move(run));
}

}  // namespace

std::string where_of(const GpuPair& pair, std::string_view what) {
  return fmt::format("GPU {} -> GPU {}, {}", pair.from, pair.to, what);
}

HostWhere where_of(const HostLink& host) {
  return {fmt::format("host -> GPU {}", host.gpu), fmt::format("GPU {} -> host", host.gpu),
          fmt::format("host <-> GPU {}, both ways", host.gpu)};
}

double promised(const GpuPair& pair, const LinkFacts& facts) {
  const auto from = static_cast<std::size_t>(pair.from), to = static_cast<std::size_t>(pair.to);
  if (const double nvlink = nvlink_of(pair, facts); nvlink > 0) return nvlink;
  return from < facts.pcie.size() && to < facts.pcie.size() ? std::min(facts.pcie[from], facts.pcie[to]) : 0;
}

double promised(const HostLink& host, const LinkFacts& facts) {
  const auto gpu = static_cast<std::size_t>(host.gpu);
  return gpu < facts.pcie.size() ? facts.pcie[gpu] : 0;
}

std::vector<SlowLink> slow_links(const Links& links, const LinkFacts& facts) {
  std::vector<SlowLink> slow;
  judge_pairs(slow, links, facts);
  judge_hosts(slow, links, facts);
  return slow;
}

std::vector<std::string> degraded_links(const LinkFacts& facts) {
  std::vector<std::string> degraded;
  int most_links = 0;  // which of them a board uses is its maker's choice: one GPU with fewer than the others is not
  for (const auto& gpu : facts.attached) most_links = std::max(most_links, gpu.nvlinks_active.value_or(0));
  for (std::size_t i = 0; i < facts.attached.size(); ++i) {
    const auto& gpu = facts.attached[i];
    if (gpu.pcie_width && gpu.pcie_max_width && *gpu.pcie_width < *gpu.pcie_max_width) {
      degraded.push_back(
          fmt::format("GPU {}: PCIe x{} where GPU and slot can x{}", i, *gpu.pcie_width, *gpu.pcie_max_width));
    }
    if (gpu.pcie_generation && gpu.pcie_max_generation && *gpu.pcie_generation < *gpu.pcie_max_generation) {
      degraded.push_back(fmt::format("GPU {}: PCIe generation {} where GPU and slot can {} (an idle link lowers it)", i,
                                     *gpu.pcie_generation, *gpu.pcie_max_generation));
    }
    if (gpu.nvlinks_active && *gpu.nvlinks_active < most_links) {
      degraded.push_back(
          fmt::format("GPU {}: {} NVLinks active where another GPU has {}", i, *gpu.nvlinks_active, most_links));
    }
  }
  return degraded;
}

double pcie_rate(int generation, int width) {
  // Transfers a second and lane; 8b/10b coding up to generation 2, 128b/130b from 3 on; of each packet of 256 bytes of
  // payload some 24 are framing, sequence number, header and checksum.
  constexpr double kTransfers[] = {0, 2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  if (generation < 1 || generation > 6 || width < 1) return 0;
  const double coding = generation < 3 ? 0.8 : 128.0 / 130.0;
  return kTransfers[generation] * coding / 8 * width * 256 / 280;
}

Result<Links> measure_gpu_links(const LinkOptions& options) {
  const auto support = device::kCudaBackend.available();
  if (!support.available) return environment_error("links are between GPUs: " + support.reason, support.hint);
  WM_ASSIGN(const auto* module, collectives_module());
  return module->links(options);
}

Result<LinkFacts> link_facts(const std::filesystem::path& pci_devices) {
  WM_ASSIGN(const auto gpus, device::nvml::gpu_list());
  LinkFacts facts;
  for (const auto& gpu : gpus) {
    // Plain copies reach what collectives can use of a link.
    facts.nvlink.push_back(nvlink_fabric(gpu.nvlink_version.value_or(0), gpu.nvlinks_active.value_or(0)));
    facts.pcie.push_back(pcie_rate(gpu.pcie_max_generation.value_or(0), gpu.pcie_max_width.value_or(0)));
    facts.attached.push_back(attachment_of(gpu, pci_devices));
  }
  facts.paths.assign(gpus.size(), std::vector<std::string>(gpus.size(), "unknown"));
  const auto topology = device::nvml::topology();
  if (!topology.ok()) return facts;
  for (const auto& link : *topology) {
    const auto a = static_cast<std::size_t>(link.a), b = static_cast<std::size_t>(link.b);
    if (a >= gpus.size() || b >= gpus.size()) continue;
    const bool nameless = !link.nvlink && link.path == "unknown";
    facts.paths[a][b] = facts.paths[b][a] = nameless ? "PCIe" : link.path;
  }
  return facts;
}

LinkFacts facts_of(const Links& links, const LinkFacts& facts) {
  std::vector<std::size_t> places;
  for (const auto& gpu : links.gpus) {  // "0 NVIDIA H200 [0000:00:06.0]"
    const auto begin = gpu.rfind('[');
    const auto name = begin == gpu.npos ? "" : device::pci_name(gpu.substr(begin + 1, gpu.size() - begin - 2));
    const auto found = std::find_if(facts.attached.begin(), facts.attached.end(), [&](const Attachment& one) {
      return !name.empty() && device::pci_name(one.pci_bus_id) == name;
    });
    if (found == facts.attached.end()) return facts;
    places.push_back(static_cast<std::size_t>(std::distance(facts.attached.begin(), found)));
  }
  LinkFacts chosen;
  for (const auto place : places) {
    chosen.nvlink.push_back(facts.nvlink[place]);
    chosen.pcie.push_back(facts.pcie[place]);
    chosen.attached.push_back(facts.attached[place]);
    chosen.paths.emplace_back();
    for (const auto other : places) chosen.paths.back().push_back(facts.paths[place][other]);
  }
  return chosen;
}

std::vector<Run> runs_of(const Links& links, std::int64_t bytes) {
  std::vector<Run> runs;
  for (const auto& pair : links.pairs) {
    Params params;
    params.set("from", std::int64_t{pair.from});
    params.set("to", std::int64_t{pair.to});
    add_run(runs, "gpu_link", params, "write", pair.write, bytes);
    add_run(runs, "gpu_link", params, "read", pair.read, bytes);
    add_run(runs, "gpu_link", params, "both", pair.both, bytes);
    add_run(runs, "gpu_link", params, "latency", pair.latency, bytes);
  }
  for (const auto& host : links.hosts) {
    Params params;
    params.set("gpu", std::int64_t{host.gpu});
    add_run(runs, "host_link", params, "to_gpu", host.to_gpu, bytes);
    add_run(runs, "host_link", params, "from_gpu", host.from_gpu, bytes);
    add_run(runs, "host_link", params, "both", host.both, bytes);
    add_run(runs, "host_link", params, "latency", host.latency, bytes);
  }
  return runs;
}

std::optional<MeasuredLinks> measured_links(const Session& session) {
  MeasuredLinks found;
  std::vector<double> rates;
  for (const Run& run : session.runs) {
    const Metric* rate = metric_of(run, "bandwidth");
    if (run.workload != "gpu_link" || rate == nullptr) continue;
    if (!run.params.has("what") || !run.params.has("from") || !run.params.has("to")) continue;
    const std::string& what = run.params.text("what");
    if (what != "write" && what != "read") continue;
    rates.push_back(rate->summary.median);
    if (rates.size() > 1 && rates.back() >= found.slowest) continue;
    found.slowest = rates.back();
    found.where = fmt::format("GPU {} -> GPU {}, {}", run.params.integer("from"), run.params.integer("to"), what);
  }
  if (rates.empty() || !(found.slowest > 0)) return std::nullopt;
  found.median = stats::median(rates);
  return found;
}

}  // namespace warpmark::collectives
