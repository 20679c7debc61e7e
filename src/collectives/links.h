// Bandwidth and latency of the links between GPUs, and between each GPU and the host; what they should be; which pairs
// are slow. Measuring is the CUDA module's; judging is pure.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "collectives/calls/gpu_links.h"
#include "collectives/results/verdict.h"
#include "model/fields/fields_fwd.h"
#include "model/report.h"
#include "model/run.h"

namespace warpmark::collectives {

/// How one GPU hangs on the machine. An optional without value: it is not told.
struct Attachment {
  std::string pci_bus_id;             ///< "00000000:1B:00.0"
  std::optional<int> nvlinks;         ///< that the GPU has
  std::optional<int> nvlinks_active;  ///< of them
  std::optional<int> nvlink_version;  ///< NVML's number
  std::optional<int> pcie_generation;
  std::optional<int> pcie_max_generation;  ///< of GPU and slot together
  std::optional<int> pcie_width;
  std::optional<int> pcie_max_width;
  std::optional<int> numa_node;
};

/// What the topology promises for one direction, B/s in use; 0 where it is not known.
struct LinkFacts {
  std::vector<double> nvlink;                   ///< by GPU: all its links
  std::vector<double> pcie;                     ///< by GPU
  std::vector<std::vector<std::string>> paths;  ///< by pair: "NVLink", "PCIe host bridge", ...
  std::vector<Attachment> attached{};           ///< by GPU
};

/// Of one direction, B/s; 0 where it is not known.
[[nodiscard]] double promised(const GpuPair& pair, const LinkFacts& facts);
[[nodiscard]] double promised(const HostLink& host, const LinkFacts& facts);

struct SlowLink {
  std::string where;  ///< "GPU 0 -> GPU 3, write"
  double value = 0;   ///< in `unit`
  double expected = 0;
  std::string reason;
  std::string unit = "B/s";  ///< "s" of a latency
};

/// How SlowLink names squares of the matrices.
[[nodiscard]] std::string where_of(const GpuPair& pair, std::string_view what);
struct HostWhere {
  std::string to_gpu, from_gpu, both;
};
[[nodiscard]] HostWhere where_of(const HostLink& host);

/// A rate is slow below 80 % of what its topology promises (of PCIe both ways together: below what one way alone
/// should carry, as healthy hosts differ in how much they gain by the second), or below 85 % of the median of its kind.
/// A latency, which no data sheet promises, is slow above twice the median of the others of its path.
[[nodiscard]] std::vector<SlowLink> slow_links(const Links& links, const LinkFacts& facts);

/// What of a GPU's links works below what they can: "GPU 1: PCIe x8 where GPU and slot can x16".
[[nodiscard]] std::vector<std::string> degraded_links(const LinkFacts& facts);

/// B/s that PCIe of this generation and width carries in use: its signalling rate with line coding and headers of 256
/// byte payloads taken off.
[[nodiscard]] double pcie_rate(int generation, int width);

[[nodiscard]] Report build_report(const Links& links, const LinkFacts& facts, const std::vector<SlowLink>& slow);

struct LinksResult {
  const Links& links;
  const LinkFacts& facts;
  const std::vector<SlowLink>& slow;
};
extern const RecordOf<LinksResult> kLinksResult;
[[nodiscard]] Json to_json(const LinksResult& result);

/// By the CUDA module. Environment error where there is no GPU.
[[nodiscard]] Result<Links> measure_gpu_links(const LinkOptions& options);
/// From NVML, in the order of its GPUs; NUMA nodes from sysfs or a test's copy.
[[nodiscard]] Result<LinkFacts> link_facts(const std::filesystem::path& pci_devices = "/sys/bus/pci/devices");
/// Those of the GPUs that were measured, in their order, which is CUDA's and may leave some out: told by their PCI
/// addresses. As they are where one is not found.
[[nodiscard]] LinkFacts facts_of(const Links& links, const LinkFacts& facts);

// Links as Runs, so that the store, compare, check, trend and accept know them. Pure.

/// One run a cell of the matrices: workload "gpu_link" with from, to and what (write, read, both), or "host_link" with
/// gpu and what (to_gpu, from_gpu, both), whose metric is "bandwidth"; and of each pair one with what=latency, whose
/// metric is "time". GPUs are told by their place in NVML's order. Cells that were not measured have none.
[[nodiscard]] std::vector<Run> runs_of(const Links& links, std::int64_t bytes);

/// The slowest and the median of what a session says of writes and reads between GPUs; none where it has none.
[[nodiscard]] std::optional<MeasuredLinks> measured_links(const Session& session);

}  // namespace warpmark::collectives
