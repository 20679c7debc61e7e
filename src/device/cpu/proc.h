// The texts of /proc and /sys as numbers. Pure functions: a text that is not as expected gives no value, never a wrong
// one. Formats: proc(5), Linux Documentation/accounting/psi.rst and Documentation/filesystems/proc.rst.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"

namespace warpmark::device {

/// "0-3,8" as {0, 1, 2, 3, 8}; malformed parts are left out.
[[nodiscard]] std::vector<int> parse_cpu_list(std::string_view text);
/// The inverse, for people.
[[nodiscard]] std::string cpu_list_text(std::span<const int> cpus);

/// A size of sysfs in bytes: "32K", "2M", "512".
[[nodiscard]] std::optional<std::int64_t> parse_kernel_size(std::string_view text);

/// Whole or decimal number at the start of a text, blanks before it ignored.
[[nodiscard]] std::optional<double> leading_number(std::string_view text);

/// Seconds since boot, summed over all CPUs.
struct CpuTimes {
  double busy_s = 0;   ///< user, nice, system, irq, softirq
  double steal_s = 0;  ///< runnable, but the hypervisor ran something else
};
[[nodiscard]] std::optional<CpuTimes> parse_proc_stat(std::string_view text, double ticks_per_second);

struct MemoryInfo {
  std::optional<std::int64_t> total_bytes;
  std::optional<std::int64_t> available_bytes;
  std::optional<std::int64_t> swap_total_bytes;
  std::optional<std::int64_t> swap_free_bytes;
};
[[nodiscard]] MemoryInfo parse_meminfo(std::string_view text);

/// The 1-minute value of /proc/loadavg.
[[nodiscard]] std::optional<double> parse_load_average(std::string_view text);

/// A thread's schedstat file: nanoseconds that it ran, nanoseconds that it waited for a CPU, times it was given one.
struct Scheduled {
  double waited_s = 0;
  std::int64_t scheduled = 0;
};
[[nodiscard]] std::optional<Scheduled> parse_schedstat(std::string_view text);

/// "some avg10" of a /proc/pressure file, as a ratio.
[[nodiscard]] std::optional<double> parse_pressure(std::string_view text);

/// "some total" of a /proc/pressure file, in seconds: how long some task stalled since boot.
[[nodiscard]] std::optional<double> parse_pressure_total(std::string_view text);

/// First block of /proc/cpuinfo.
struct CpuInfo {
  std::string vendor;
  std::string model;
  std::vector<std::string> flags;
  std::optional<double> clock_hz;  ///< "cpu MHz": a momentary value on most machines
  int processors = 0;              ///< blocks in the file
};
[[nodiscard]] CpuInfo parse_cpuinfo(std::string_view text);

/// The value of KEY="value" in a text like /etc/os-release; empty if absent.
[[nodiscard]] std::string parse_key_value(std::string_view text, std::string_view key);

/// The bracketed choice of "always [madvise] never"; the whole trimmed text if none is bracketed.
[[nodiscard]] std::string selected_choice(std::string_view text);

/// What the kernel's scheduler counted of this process's threads.
/// Of each thread (/proc/self/task/TID/schedstat). About 10 us for each.
[[nodiscard]] std::vector<ThreadWait> read_thread_waits(const std::filesystem::path& root);

}  // namespace warpmark::device
