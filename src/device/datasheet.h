// What a vendor promises of a GPU, as data with its sources (datasheets/*.yaml). Rates are dense: the doubled figures
// that datasheets print for 2:4 sparsity are never used. Links are per direction.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/run.h"

namespace warpmark::device {

inline constexpr const char* kDatasheetSchema = "warpmark.datasheet/1";

struct Datasheet {
  std::string id;                    ///< "h100-sxm": the file's name
  std::string name;                  ///< "NVIDIA H100 SXM 80 GB"
  std::vector<std::string> devices;  ///< names that the driver gives such a GPU, as globs
  double memory_bytes = 0;
  double memory_bandwidth = 0;  ///< B/s
  double power_w = 0;
  double pcie_bandwidth = 0;                ///< B/s, each direction
  double nvlink_bandwidth = 0;              ///< B/s, each direction, of all links together; 0 where there are none
  std::map<std::string, double> peak_rate;  ///< FLOP/s by data type as in Cost::flop_type
  std::vector<std::string> sources;         ///< document and table
};

/// Data error with the line.
[[nodiscard]] Result<Datasheet> parse_datasheet(std::string_view yaml, std::string_view file_name);

/// Those in this executable, by id. They are parsed when asked for; a broken one is our bug.
[[nodiscard]] std::vector<Datasheet> built_in_datasheets();

/// By id, or the one whose `devices` match the GPU's name; nullptr if there is none.
[[nodiscard]] const Datasheet* find_datasheet(std::span<const Datasheet> sheets, std::string_view id);
[[nodiscard]] const Datasheet* datasheet_of_device(std::span<const Datasheet> sheets, std::string_view device_name);

/// Bytes that its driver shows: makers count in GiB. HBM keeps 1 % for itself (nvidia-smi: H100 81559 MiB, A100 81251,
/// V100 32510), GDDR of server cards a sixteenth for ECC (L4 23034 MiB, L40S 46068, A10 23028, T4 15360).
[[nodiscard]] double visible_memory(const Datasheet& sheet);

/// A promise, and what it is: "memory bandwidth". `value` is 0, and `what` says why, where the sheet makes none.
struct Promise {
  double value = 0;
  std::string what;
};

/// Of the metric of a run: a bandwidth by the link that its bytes cross, a rate by its data type.
[[nodiscard]] Promise promise_for(const Datasheet& sheet, const Run& run, std::string_view metric);
/// Of a machine fact: gpu_memory, power_limit, default_power_limit.
[[nodiscard]] Promise promise_for(const Datasheet& sheet, std::string_view fact);

}  // namespace warpmark::device
