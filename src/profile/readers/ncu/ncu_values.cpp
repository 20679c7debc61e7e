// Metric names behind the labels: the *.section files documented in Nsight Compute's customization guide, checked
// against a raw and a details page of the same kernels.
#include "profile/readers/ncu/ncu_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "profile/readers/text/decimal.h"

namespace warpmark::profile {
namespace {

struct Label {
  std::string_view section;  ///< empty for any
  std::string_view label;
  std::string_view id;
};

constexpr Label kLabels[] = {
    {"GPU Speed Of Light Throughput", "Memory Throughput",
     "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"Memory Workload Analysis", "Memory Throughput", "dram__bytes.sum.per_second"},
    {"", "Compute (SM) Throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"", "SM [%]", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"", "Memory [%]", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"", "DRAM Throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"", "L1/TEX Cache Throughput", "l1tex__throughput.avg.pct_of_peak_sustained_active"},
    {"", "L2 Cache Throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"", "Duration", "gpu__time_duration.sum"},
    {"", "Elapsed Cycles", "gpc__cycles_elapsed.max"},
    {"", "SM Active Cycles", "sm__cycles_active.avg"},
    {"", "SM Frequency", "gpc__cycles_elapsed.avg.per_second"},
    {"", "DRAM Frequency", "dram__cycles_elapsed.avg.per_second"},
    {"", "Executed Ipc Active", "sm__inst_executed.avg.per_cycle_active"},
    {"", "Executed Ipc Elapsed", "sm__inst_executed.avg.per_cycle_elapsed"},
    {"", "Issued Ipc Active", "sm__inst_issued.avg.per_cycle_active"},
    {"", "Issue Slots Busy", "sm__inst_issued.avg.pct_of_peak_sustained_active"},
    {"", "SM Busy", "sm__instruction_throughput.avg.pct_of_peak_sustained_active"},
    {"", "L1/TEX Hit Rate", "l1tex__t_sector_hit_rate.pct"},
    {"", "L2 Hit Rate", "lts__t_sector_hit_rate.pct"},
    {"", "Max Bandwidth", "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"", "Mem Busy", "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"", "Mem Pipes Busy", "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"", "One or More Eligible", "smsp__issue_active.avg.pct_of_peak_sustained_active"},
    {"", "Issued Warp Per Scheduler", "smsp__issue_active.avg.per_cycle_active"},
    {"", "No Eligible", "smsp__issue_inst0.avg.pct_of_peak_sustained_active"},
    {"", "Active Warps Per Scheduler", "smsp__warps_active.avg.per_cycle_active"},
    {"", "Eligible Warps Per Scheduler", "smsp__warps_eligible.avg.per_cycle_active"},
    {"", "Warp Cycles Per Issued Instruction", "smsp__average_warp_latency_per_inst_issued.ratio"},
    {"", "Warp Cycles Per Executed Instruction", "smsp__average_warps_active_per_inst_executed.ratio"},
    {"", "Avg. Active Threads Per Warp", "smsp__thread_inst_executed_per_inst_executed.ratio"},
    {"", "Avg. Not Predicated Off Threads Per Warp", "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"},
    {"", "Local Memory Spilling Requests", "derived__local_spilling_requests"},
    {"", "Local Memory Spilling Request Overhead", "derived__local_spilling_requests_pct"},
    {"", "Executed Instructions", "smsp__inst_executed.sum"},
    {"", "Issued Instructions", "smsp__inst_issued.sum"},
    {"Launch Statistics", "Block Size", "launch__block_size"},
    {"Launch Statistics", "Grid Size", "launch__grid_size"},
    {"", "Registers Per Thread", "launch__registers_per_thread"},
    {"", "Driver Shared Memory Per Block", "launch__shared_mem_per_block_driver"},
    {"", "Dynamic Shared Memory Per Block", "launch__shared_mem_per_block_dynamic"},
    {"", "Static Shared Memory Per Block", "launch__shared_mem_per_block_static"},
    {"", "Shared Memory Configuration Size", "launch__shared_mem_config_size"},
    {"", "Threads", "launch__thread_count"},
    {"", "Waves Per SM", "launch__waves_per_multiprocessor"},
    {"", "# SMs", "launch__sm_count"},
    {"", "Block Limit SM", "launch__occupancy_limit_blocks"},
    {"", "Block Limit Registers", "launch__occupancy_limit_registers"},
    {"", "Block Limit Shared Mem", "launch__occupancy_limit_shared_mem"},
    {"", "Block Limit Warps", "launch__occupancy_limit_warps"},
    {"", "Block Limit Barriers", "launch__occupancy_limit_barriers"},
    {"", "Theoretical Active Warps per SM", "sm__maximum_warps_avg_per_active_cycle"},
    {"", "Theoretical Occupancy", "sm__maximum_warps_per_active_cycle_pct"},
    {"", "Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"},
    {"", "Achieved Active Warps Per SM", "sm__warps_active.avg.per_cycle_active"},
};

struct Scale {
  std::string_view unit;
  std::string_view base;
  double factor;
};

/// What ncu prints without --print-units base. Time is in ns, as with it.
constexpr Scale kScales[] = {
    {"nsecond", "ns", 1},
    {"usecond", "ns", 1e3},
    {"msecond", "ns", 1e6},
    {"second", "ns", 1e9},
    {"us", "ns", 1e3},
    {"ms", "ns", 1e6},
    {"s", "ns", 1e9},
    {"Khz", "hz", 1e3},
    {"Mhz", "hz", 1e6},
    {"Ghz", "hz", 1e9},
    {"cycle/nsecond", "hz", 1e9},
    {"cycle/usecond", "hz", 1e6},
    {"cycle/second", "hz", 1},
};

std::string_view base_unit(std::string_view unit, double& factor, std::string& storage) {
  for (const Scale& scale : kScales) {
    if (scale.unit == unit) return factor = scale.factor, scale.base;
  }
  storage = std::string(unit);
  if (const auto slash = storage.find("/second"); slash != std::string::npos) storage.replace(slash, 7, "/s");
  constexpr std::string_view kPrefixes = "KMGT";
  const auto prefix = storage.empty() ? std::string_view::npos : kPrefixes.find(storage[0]);
  if (prefix == std::string_view::npos || !std::string_view(storage).substr(1).starts_with("byte")) return storage;
  factor = std::pow(1000.0, static_cast<double>(prefix + 1));
  storage.erase(0, 1);
  return storage;
}

/// Decimal point and thousands separators differ by locale: of two, the last is the point; one alone is the point
/// unless it stands before groups of three.
std::string plain_number(std::string_view text) {
  const auto last_comma = text.rfind(','), last_point = text.rfind('.');
  char point = '.';
  if (last_comma != std::string_view::npos) {
    const bool groups = (text.size() - last_comma) == 4 || std::count(text.begin(), text.end(), ',') > 1;
    point = last_point != std::string_view::npos ? (last_comma > last_point ? ',' : '.') : (groups ? '.' : ',');
  } else if (std::count(text.begin(), text.end(), '.') > 1) {
    point = ',';
  }
  std::string plain;
  for (const char c : text) {
    if (c == point) {
      plain += '.';
    } else if (c != ',' && c != '.') {
      plain += c;
    }
  }
  return plain;
}

}  // namespace

std::optional<NcuValue> parse_ncu_value(std::string_view text, std::string_view unit) {
  if (text.empty() || text.size() > 64) return std::nullopt;
  const auto number = parse_number(plain_number(text));
  if (!number) return std::nullopt;
  double factor = 1;
  std::string storage;
  const std::string_view base = base_unit(unit, factor, storage);
  return NcuValue{*number * factor, std::string(base)};
}

std::string ncu_metric_id(std::string_view section, std::string_view label) {
  for (const Label& known : kLabels) {
    if (known.label == label && (known.section.empty() || known.section == section)) return std::string(known.id);
  }
  return std::string(label);
}

std::optional<std::pair<std::string, double>> ncu_metric_in(std::string_view rule_text) {
  constexpr std::string_view kIs = " is the highest-utilized pipeline (";
  const auto at = rule_text.find(kIs);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view percent = rule_text.substr(at + kIs.size());
  const auto value = parse_number(percent.substr(0, percent.find('%')));
  const std::string pipe = ascii_lower(rule_text.substr(0, std::min(at, rule_text.find(' '))));  // "Tensor (FP)"
  if (!value) return std::nullopt;
  return std::pair("sm__inst_executed_pipe_" + pipe + ".avg.pct_of_peak_sustained_elapsed", *value);
}

std::string normal_shape(std::string_view text) {
  std::array<std::int64_t, 3> sizes{1, 1, 1};
  std::size_t at = 0;
  for (std::int64_t& size : sizes) {
    at = text.find_first_of("0123456789", at);
    if (at == std::string_view::npos) break;
    const auto [rest, code] = std::from_chars(text.data() + at, text.data() + text.size(), size);
    if (code != std::errc()) break;
    at = static_cast<std::size_t>(rest - text.data());
  }
  return "(" + std::to_string(sizes[0]) + ", " + std::to_string(sizes[1]) + ", " + std::to_string(sizes[2]) + ")";
}

}  // namespace warpmark::profile
