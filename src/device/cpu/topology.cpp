#include "device/cpu/topology.h"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "device/cpu/proc.h"
#include "device/cpu/processor.h"

namespace warpmark::device {
namespace {

namespace fs = std::filesystem;

fs::path cpu_folder(const fs::path& root, int cpu) {
  return root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu));
}

/// Names the physical core of a CPU: CPUs with equal names are its hardware threads.
std::string core_of(const fs::path& root, int cpu) {
  const auto topology = cpu_folder(root, cpu) / "topology";
  auto siblings = first_line(topology / "core_cpus_list");
  if (siblings.empty()) siblings = first_line(topology / "thread_siblings_list");  // kernels before 5.3
  return siblings.empty() ? std::to_string(cpu) : siblings;
}

int count_cores(const fs::path& root, std::span<const int> cpus) {
  std::set<std::string> cores;
  for (const int cpu : cpus) cores.insert(core_of(root, cpu));
  return std::max(1, static_cast<int>(cores.size()));
}

int count_sockets(const fs::path& root, std::span<const int> cpus) {
  std::set<std::string> sockets;
  for (const int cpu : cpus) sockets.insert(first_line(cpu_folder(root, cpu) / "topology/physical_package_id"));
  return std::max(1, static_cast<int>(sockets.size()));
}

/// One cache as one CPU sees it.
struct CacheInstance {
  CacheLevel cache;
  std::string shared_list;  ///< the CPUs that share it: names the instance
};

std::vector<CacheInstance> caches_of(const fs::path& root, int cpu) {
  std::vector<CacheInstance> found;
  for (int index = 0; index < 16; ++index) {
    const auto folder = cpu_folder(root, cpu) / "cache" / ("index" + std::to_string(index));
    const auto level = leading_number(first_line(folder / "level"));
    if (!level) break;
    const auto type = first_line(folder / "type");
    const auto bytes = parse_kernel_size(first_line(folder / "size"));
    if (type == "Instruction" || !bytes || *bytes == 0) continue;
    const auto shared = first_line(folder / "shared_cpu_list");
    const auto sharers = parse_cpu_list(shared).size();
    found.push_back({{.level = static_cast<int>(*level),
                      .kind = type == "Unified" ? "unified" : "data",
                      .bytes = *bytes,
                      .shared_by = std::max(1, static_cast<int>(sharers))},
                     shared});
  }
  return found;
}

void read_caches(const fs::path& root, CpuTopology& topology) {
  if (topology.usable.empty()) return;
  for (const auto& instance : caches_of(root, topology.usable.front())) topology.caches.push_back(instance.cache);
  std::sort(topology.caches.begin(), topology.caches.end(),
            [](const CacheLevel& a, const CacheLevel& b) { return a.level < b.level; });
  if (topology.caches.empty()) return;
  const int last_level = topology.caches.back().level;
  std::set<std::string> counted;
  for (const int cpu : topology.usable) {
    for (const auto& [cache, shared_list] : caches_of(root, cpu)) {
      if (cache.level != last_level || !counted.insert(shared_list).second) continue;
      topology.last_level_cache_bytes += cache.bytes;
    }
  }
}

std::vector<NumaNode> read_nodes(const fs::path& root) {
  const auto folder = root / "sys/devices/system/node";
  std::vector<NumaNode> nodes;
  for (const int id : parse_cpu_list(first_line(folder / "online"))) {
    const auto node = folder / ("node" + std::to_string(id));
    // Lines of meminfo start with "Node 0 " here.
    const auto text = read_file(node / "meminfo", 1 << 16);
    std::int64_t bytes = 0;
    for (const auto& line : split(text.ok() ? *text : "", '\n')) {
      const auto key = line.find("MemTotal:");
      if (key != std::string::npos) bytes = parse_meminfo(std::string_view(line).substr(key)).total_bytes.value_or(0);
    }
    nodes.push_back({id, parse_cpu_list(first_line(node / "cpulist")), bytes});
  }
  return nodes;
}

double read_max_clock(const fs::path& root, std::span<const int> cpus) {
  double kilohertz = 0;
  for (const int cpu : cpus) {
    const auto text = first_line(cpu_folder(root, cpu) / "cpufreq/cpuinfo_max_freq");
    kilohertz = std::max(kilohertz, leading_number(text).value_or(0));
  }
  return kilohertz * 1e3;
}

/// The C library knows cache sizes from the processor where /sys is hidden; sharing is then a guess from the usual
/// layout.
void add_caches_from_c_library(CpuTopology& topology) {
  const int per_core = std::max(1, topology.threads / std::max(1, topology.cores));
  const int per_socket = std::max(1, topology.threads / std::max(1, topology.sockets));
  const auto add = [&](int level, const char* kind, long bytes, int shared_by) {
    if (bytes > 0) topology.caches.push_back({level, kind, bytes, shared_by});
  };
  add(1, "data", sysconf(_SC_LEVEL1_DCACHE_SIZE), per_core);
  add(2, "unified", sysconf(_SC_LEVEL2_CACHE_SIZE), per_core);
  add(3, "unified", sysconf(_SC_LEVEL3_CACHE_SIZE), per_socket);
  if (topology.caches.empty()) return;
  const auto& last = topology.caches.back();
  const int instances = (topology.usable_threads + last.shared_by - 1) / last.shared_by;
  topology.last_level_cache_bytes = last.bytes * std::max(1, instances);
}

}  // namespace

CpuTopology read_topology(const fs::path& root, std::span<const int> usable, std::optional<double> quota_cpus) {
  CpuTopology topology;
  const auto text = read_file(root / "proc/cpuinfo", 1 << 26);
  CpuInfo info = parse_cpuinfo(text.ok() ? *text : "");
  topology.vendor = std::move(info.vendor);
  topology.model = std::move(info.model);
  topology.flags = std::move(info.flags);
  topology.hypervisor = std::count(topology.flags.begin(), topology.flags.end(), "hypervisor") > 0;
  topology.usable.assign(usable.begin(), usable.end());
  topology.quota_cpus = quota_cpus;

  auto online = parse_cpu_list(first_line(root / "sys/devices/system/cpu/online"));
  if (online.empty()) online = topology.usable;
  topology.threads = std::max({1, static_cast<int>(online.size()), info.processors});
  topology.cores = count_cores(root, online);
  topology.sockets = count_sockets(root, online);
  topology.usable_threads = std::max(1, static_cast<int>(usable.size()));
  topology.usable_cores = count_cores(root, usable);
  if (quota_cpus) {
    const int allowed = std::max(1, static_cast<int>(std::floor(*quota_cpus)));
    topology.usable_cores = std::min(topology.usable_cores, allowed);
  }
  topology.nodes = read_nodes(root);
  topology.max_clock_hz = read_max_clock(root, usable);
  read_caches(root, topology);
  return topology;
}

CpuTopology this_topology() {
  const auto usable = usable_cpus();
  CpuTopology topology = read_topology("/", usable, read_cgroup_limits("/").cpus);
  if (topology.model.empty()) topology.model = processor_model();
  if (topology.max_clock_hz == 0) topology.max_clock_hz = processor_max_clock_hz();
  if (topology.caches.empty()) add_caches_from_c_library(topology);
  return topology;
}

std::vector<int> usable_cpus() {
  std::set<int> cpus;
  constexpr int kMostCpus = 8192;
  cpu_set_t* mask = CPU_ALLOC(kMostCpus);
  const std::size_t mask_bytes = CPU_ALLOC_SIZE(kMostCpus);
  if (mask != nullptr && sched_getaffinity(0, mask_bytes, mask) == 0) {
    for (int cpu = 0; cpu < kMostCpus; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), mask_bytes, mask)) cpus.insert(cpu);
    }
  }
  CPU_FREE(mask);
  // OMP_PROC_BIND binds the first thread to one place when the program starts; the places are the whole mask.
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    if (!ids.empty()) omp_get_place_proc_ids(place, ids.data());
    cpus.insert(ids.begin(), ids.end());
  }
  return {cpus.begin(), cpus.end()};
}

std::vector<std::string> numeric_isa(std::span<const std::string> flags) {
  constexpr std::array<std::string_view, 14> kNames{"sse4_2",      "avx",      "fma",      "f16c",        "avx2",
                                                    "avx_vnni",    "avx512f",  "avx512bw", "avx512_vnni", "avx512_bf16",
                                                    "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8"};
  std::vector<std::string> isa;
  for (const auto name : kNames) {
    if (std::find(flags.begin(), flags.end(), name) != flags.end()) isa.emplace_back(name);
  }
  return isa;
}

DeviceInfo cpu_device_info(const CpuTopology& topology, const MemoryState& memory) {
  DeviceInfo info;
  info.id = "cpu";
  info.backend = "cpu";
  info.name = topology.model.empty() ? std::string(kProcessorArchitecture) + " CPU" : topology.model;
  info.memory_bytes = memory.total_bytes;
  info.last_level_cache_bytes = topology.last_level_cache_bytes;
  info.caches = topology.caches;
  info.compute_units = topology.usable_cores;
  info.max_clock_hz = topology.max_clock_hz;
  info.architecture = kProcessorArchitecture;
  for (const auto& name : numeric_isa(topology.flags)) info.architecture += " " + name;
  info.details = {
      {"sockets", std::to_string(topology.sockets)},
      {"cores", std::to_string(topology.cores)},
      {"hardware threads", std::to_string(topology.threads)},
      {"usable hardware threads", std::to_string(topology.usable_threads)},
      {"usable CPUs", cpu_list_text(topology.usable)},
      {"NUMA nodes", std::to_string(std::max<std::size_t>(1, topology.nodes.size()))},
  };
  if (topology.quota_cpus) info.details.emplace_back("CPU quota", std::to_string(*topology.quota_cpus));
  return info;
}

std::optional<int> numa_node_of(const std::string& pci_bus_id, const std::filesystem::path& devices) {
  const std::string name = pci_name(pci_bus_id);
  if (name.empty()) return std::nullopt;
  const auto node = leading_number(first_line(devices / name / "numa_node"));  // -1: the machine has none
  if (!node || *node < 0) return std::nullopt;
  return static_cast<int>(*node);
}

std::string pci_name(const std::string& pci_bus_id) {
  constexpr std::size_t kLength = 12;
  if (pci_bus_id.size() < kLength) return {};
  std::string name = pci_bus_id.substr(pci_bus_id.size() - kLength);
  for (char& letter : name) {
    if (letter >= 'A' && letter <= 'F') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return name;
}

}  // namespace warpmark::device
