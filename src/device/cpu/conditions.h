// The state of the machine around a measurement on the CPU: what could slow it down or compete with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "device/device.h"

namespace warpmark::device {

/// Sensors: "steal_time" s and "busy_time" s (of all CPUs, since boot), "process_time" s (CPU time of this process, all
/// threads), "involuntary_switches" "1", "major_faults" "1" (of this process), "load_average" "1", "core_clock" Hz (see
/// measure_core_clock), "governor_clock" Hz (what the kernel last asked for), "energy" J (RAPL's counters of all
/// packages, which wrap; none where they may not be read), "temperature" degC (of the package), "memory_available" B,
/// "pressure_cpu" ratio (tasks waiting for a CPU, 10 s average), "pressure_cpu_time" s (time since boot in which some
/// task waited for one). And what its threads waited. Takes about 0.2 ms, and 10 us for each thread.
[[nodiscard]] Conditions read_cpu_conditions(const std::filesystem::path& root);

/// The clock that the calling core runs at now, measured: a chain of instructions, each waiting for the one before,
/// takes a known number of cycles per link (x86_64/chain.h, portable/chain.h), and the timer gives the time. The
/// fastest of several short chains counts: interrupts only lengthen one. Works in virtual machines, which hide the
/// hardware's own counters. About 50 us.
[[nodiscard]] double measure_core_clock();

/// Degrees Celsius of the hottest CPU package, from /sys/class/hwmon (coretemp, k10temp, zenpower) or
/// /sys/class/thermal (x86_pkg_temp).
[[nodiscard]] std::optional<double> read_cpu_temperature(const std::filesystem::path& root);

/// What is in a folder of /sys, in the order of the names; nothing if it cannot be read.
[[nodiscard]] std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

/// Energy of the processors by RAPL, as Linux shows it in /sys/class/powercap: counters in microjoules that wrap. Their
/// error is a few per cent of what a meter at the socket shows of the package (Khan et al., "RAPL in Action", ACM
/// TOMPECS 3(2), 2018); what else the machine draws is not in it. Readable by root alone on most systems.
class HostEnergy {
 public:
  /// Finds the packages below `root`; none is fine, and one that cannot be read is as none.
  explicit HostEnergy(const std::filesystem::path& root = "/sys/class/powercap");
  [[nodiscard]] bool available() const { return !packages_.empty(); }
  /// What the counters of all packages show now, in joules; less than before where one has wrapped since.
  [[nodiscard]] std::optional<double> counted_joules() const;

  struct Reading {
    std::vector<std::uint64_t> microjoules;  ///< by package
  };
  [[nodiscard]] std::optional<Reading> read() const;
  /// Of all packages together, between readings that are less than a wrap apart.
  [[nodiscard]] double joules(const Reading& before, const Reading& after) const;

 private:
  struct Package {
    std::filesystem::path counter;
    std::uint64_t range = 0;  ///< the counter wraps after it
  };
  std::vector<Package> packages_;
};

}  // namespace warpmark::device
