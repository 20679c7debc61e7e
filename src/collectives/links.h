// Bandwidth and latency of the links between GPUs, and between each GPU and the host; what they should be; which pairs
// are slow. Measuring is the CUDA module's; judging is pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "base/result.h"
#include "model/metric.h"
#include "model/report.h"

namespace warpmark::collectives {

struct LinkOptions {
  std::int64_t bytes = 256 << 20;  ///< of one copy
  int repetitions = 20;
};

/// A rate or a time with the interval of its median.
struct LinkValue {
  double value = 0;
  std::optional<Interval> interval;
};

struct GpuPair {
  int from = 0;
  int to = 0;
  bool peer = false;  ///< they reach each other's memory; else copies go through the host
  LinkValue write;    ///< B/s, `from` pushes
  LinkValue read;     ///< B/s, `to` pulls
  LinkValue both;     ///< B/s, both directions together
  LinkValue latency;  ///< s, of a copy of 4 bytes
};

struct HostLink {
  int gpu = 0;
  LinkValue to_gpu;    ///< B/s from pinned memory
  LinkValue from_gpu;  ///< B/s
  LinkValue both;      ///< B/s
  LinkValue latency;   ///< s
};

struct Links {
  std::vector<std::string> gpus;  ///< "0 NVIDIA H200 [0000:00:06.0]"
  std::vector<GpuPair> pairs;
  std::vector<HostLink> hosts;
};

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
