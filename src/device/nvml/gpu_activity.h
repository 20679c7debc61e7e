// What one look at a GPU tells.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace warpmark::device::nvml {

/// A process that has memory on a GPU, by the number that the driver gives: in a container it may mean nothing.
struct GpuProcess {
  std::int64_t id = 0;
  std::optional<std::int64_t> memory_bytes;
};

/// Rows of memory that were replaced since the GPU was made.
struct RemappedRows {
  double correctable = 0;
  double uncorrectable = 0;
  bool pending = false;  ///< at the next reset
  bool failed = false;
};

/// NVIDIA's XID errors since this program first looked (docs.nvidia.com/deploy/xid-errors).
struct XidErrors {
  int last = 0;  ///< 0: none
  std::map<int, std::int64_t> counts;
};

/// Parts of a GPU whose activity Hopper and newer count.
enum class GpuUnit { graphics, sm, sm_occupancy, tensor, dram, fp64, fp32, fp16 };

struct GpuFault {
  int code = 0;  ///< NVML's; 0: none, as nothing answered
  std::string text;
};

/// What a GPU is doing, asked by the cheap questions alone: for looking often. The byte counts only ever grow, until
/// they wrap or the driver is loaded again.
struct GpuActivity {
  std::optional<double> utilization;         ///< ratio of the driver's sample period in which a kernel ran
  std::optional<double> memory_utilization;  ///< ratio of it in which memory was read or written
  std::optional<std::int64_t> memory_used_bytes;
  std::optional<double> sm_clock_hz;
  std::optional<double> memory_clock_hz;
  std::optional<double> power_w;
  std::optional<double> temperature_c;
  std::optional<double> energy_j;         ///< since the driver was loaded
  std::optional<double> ecc_corrected;    ///< errors since the driver was loaded
  std::optional<double> ecc_uncorrected;  ///< the same
  std::optional<std::uint64_t> nvlink_sent_bytes;
  std::optional<std::uint64_t> nvlink_received_bytes;
  std::optional<std::vector<std::string>> clock_event_reasons;  ///< every set one (see clock_event_reason_slows)
  std::vector<GpuProcess> processes;                            ///< with compute contexts
  std::optional<double> memory_temperature_c;
  std::optional<double> pcie_replays;  ///< since the driver was loaded
  std::optional<RemappedRows> remapped_rows;
  std::optional<XidErrors> xid_errors;
  std::map<GpuUnit, double> unit_activity;  ///< ratios of the time since the look before; where the driver has GPM
  bool up = true;                           ///< false: it is lost, or answers no question any more
  std::optional<GpuFault> fault;            ///< why, or the first question that failed; "not supported" is none
};

}  // namespace warpmark::device::nvml
