// Bandwidth and latency of the links between GPUs, and between each GPU and the host; what they should be; which pairs
// are slow. Measuring is the CUDA module's; judging is pure.
#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "collectives/calls/gpu_links.h"
#include "model/report.h"

namespace warpmark::collectives {

/// What the topology promises for one direction, B/s in use; 0 where it is not known.
struct LinkFacts {
  std::vector<double> nvlink;                   ///< by GPU: all its links
  std::vector<double> pcie;                     ///< by GPU
  std::vector<std::vector<std::string>> paths;  ///< by pair: "NVLink", "PCIe host bridge", ...
};

struct SlowLink {
  std::string where;  ///< "GPU 0 -> GPU 3, write"
  double value = 0;
  double expected = 0;
  std::string reason;
};

/// A cell is slow below 80 % of what its topology promises, or below 85 % of the median of its kind.
[[nodiscard]] std::vector<SlowLink> slow_links(const Links& links, const LinkFacts& facts);

/// B/s that PCIe of this generation and width carries in use: its signalling rate with line coding and headers of 256
/// byte payloads taken off.
[[nodiscard]] double pcie_rate(int generation, int width);

[[nodiscard]] Report build_report(const Links& links, const LinkFacts& facts, const std::vector<SlowLink>& slow);
[[nodiscard]] Json to_json(const Links& links, const LinkFacts& facts, const std::vector<SlowLink>& slow);

/// By the CUDA module. Environment error where there is no GPU.
[[nodiscard]] Result<Links> measure_gpu_links(const LinkOptions& options);
/// From NVML, in the order of its GPUs.
[[nodiscard]] Result<LinkFacts> link_facts();

}  // namespace warpmark::collectives
