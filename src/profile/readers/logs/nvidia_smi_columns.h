// Columns of `nvidia-smi --query-gpu`, and of tables that scripts write in its style with names of their own:
// "utilization.gpu [%]", "gpu_utilization[%]", "GPU Util (%)", "gpu_util_pct", "memory_used_mb".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warpmark::profile {

enum class ColumnRole : std::uint8_t {
  counter,
  throttle_reason,  ///< "Active" or "Not Active"
  time,
  gpu,
  unused,  ///< known, but read by nothing: the GPU's name, free memory, fan speed, ...
  unknown,
};

struct SmiColumn {
  std::string header;  ///< as the file has it
  ColumnRole role = ColumnRole::unknown;
  int rank = 0;             ///< of columns with one role: the smallest is used
  const char* id = "";      ///< CounterSeries::id
  const char* unit = "";    ///< likewise
  double scale = 1;         ///< to that unit, of values that do not repeat theirs
  double throttle_bit = 0;  ///< NVML's bit of the reason (nvml.h, nvmlClocksEventReason*)
};

[[nodiscard]] SmiColumn smi_column(std::string_view header);

/// Factor from a unit as users write it ("MiB", "mW", "%"); `otherwise` if it is empty or unknown.
[[nodiscard]] double smi_unit_scale(std::string_view unit, double otherwise);

/// "97 %", "97%", "48000 MiB", "0x0000000000000004", and "Yes" as 1; NaN for "[N/A]". `scale` is that of values without
/// a unit.
[[nodiscard]] double smi_value(std::string_view cell, double scale);

/// Whether a line is the header of such a table; `columns` then has all of them.
[[nodiscard]] bool read_smi_header(std::string_view line, std::vector<SmiColumn>& columns);

[[nodiscard]] std::vector<std::string_view> smi_cells(std::string_view line);

}  // namespace warpmark::profile
