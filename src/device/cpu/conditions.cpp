#include "device/cpu/conditions.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "device/cpu/memory.h"
#include "device/cpu/proc.h"
#include "device/cpu/timer.h"
#include "generated/chain.h"

namespace warpmark::device {
namespace {

namespace fs = std::filesystem;

void raise(std::optional<double>& hottest, const fs::path& file) {
  const auto millidegrees = leading_number(first_line(file));
  if (millidegrees) hottest = std::max(hottest.value_or(-273.15), *millidegrees / 1e3);
}

/// Of the CPU the caller runs on; kHz in the file.
std::optional<double> read_governor_clock(const fs::path& root) {
  const int cpu = sched_getcpu();
  if (cpu < 0) return std::nullopt;
  const auto folder = root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)) / "cpufreq";
  const auto kilohertz = leading_number(first_line(folder / "scaling_cur_freq"));
  if (!kilohertz) return std::nullopt;
  return *kilohertz * 1e3;
}

/// A kernel booted with psi=0 has the file and refuses to read it: empty then.
std::string pressure_text(const fs::path& root) {
  auto text = read_file(root / "proc/pressure/cpu", 1 << 16);
  return text.ok() ? std::move(*text) : std::string();
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

/// Units of the timer's clock for a chain of dependent instructions.
constexpr int kChainLinks = 64 * 64;

template <typename Clock>
double time_chain(Clock start, Clock stop) {
  const auto begin = start();
  run_chain(kChainLinks / 64);
  return static_cast<double>(stop() - begin);
}

std::optional<std::uint64_t> number_in(const std::filesystem::path& path) {
  const auto value = parse_integer(trim(first_line(path)));
  if (!value.ok() || *value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

}  // namespace

Conditions read_cpu_conditions(const fs::path& root) {
  const auto stat = parse_proc_stat(first_line(root / "proc/stat"), static_cast<double>(sysconf(_SC_CLK_TCK)));
  rusage usage{};
  const bool has_usage = getrusage(RUSAGE_SELF, &usage) == 0;
  const MemoryState memory = read_memory(root);
  const std::string pressure = pressure_text(root);
  const auto of_usage = [&](double value) { return has_usage ? std::optional(value) : std::nullopt; };

  Conditions conditions;
  conditions.sensors = {
      {"steal_time", "s", stat ? std::optional(stat->steal_s) : std::nullopt},
      {"busy_time", "s", stat ? std::optional(stat->busy_s) : std::nullopt},
      {"process_time", "s", of_usage(seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime))},
      {"involuntary_switches", "1", of_usage(static_cast<double>(usage.ru_nivcsw))},
      {"major_faults", "1", of_usage(static_cast<double>(usage.ru_majflt))},
      {"load_average", "1", parse_load_average(first_line(root / "proc/loadavg"))},
      {"core_clock", "Hz", measure_core_clock()},
      {"governor_clock", "Hz", read_governor_clock(root)},
      {"energy", "J", HostEnergy(root / "sys/class/powercap").counted_joules()},
      {"temperature", "degC", read_cpu_temperature(root)},
      {"memory_available", "B",
       memory.total_bytes > 0 ? std::optional(static_cast<double>(memory.available_bytes)) : std::nullopt},
      {"pressure_cpu", "ratio", parse_pressure(pressure)},
      {"pressure_cpu_time", "s", parse_pressure_total(pressure)},
  };
  conditions.threads = read_thread_waits(root);
  return conditions;
}

double measure_core_clock() {
  constexpr int kChains = 8;
  const CpuTimer& timer = cpu_timer();
  double fastest_s = 1;
  for (int i = 0; i < kChains; ++i) {
    const double seconds = timer.use_tsc ? time_chain(tsc_start, tsc_stop) * timer.rate.seconds_per_tick
                                         : time_chain(monotonic_ns, monotonic_ns) * 1e-9;
    fastest_s = std::min(fastest_s, seconds - timer.info.overhead_s);
  }
  return kChainLinks * kCyclesPerLink / fastest_s;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::optional<double> read_cpu_temperature(const fs::path& root) {
  std::optional<double> hottest;
  for (const auto& sensor : entries_of(root / "sys/class/hwmon")) {
    const auto name = first_line(sensor / "name");
    // temp1 is the package on Intel and the control temperature on AMD.
    if (name == "coretemp" || name == "k10temp" || name == "zenpower") raise(hottest, sensor / "temp1_input");
  }
  if (hottest) return hottest;
  for (const auto& zone : entries_of(root / "sys/class/thermal")) {
    if (first_line(zone / "type") == "x86_pkg_temp") raise(hottest, zone / "temp");
  }
  return hottest;
}

HostEnergy::HostEnergy(const std::filesystem::path& root) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(root, error), end; !error && entry != end; entry.increment(error)) {
    // "intel-rapl:0" is a package, "intel-rapl:0:1" a part of it.
    const auto name = entry->path().filename().string();
    if (split(name, ':').size() != 2 || !first_line(entry->path() / "name").starts_with("package")) continue;
    const auto counter = entry->path() / "energy_uj";
    const auto range = number_in(entry->path() / "max_energy_range_uj");
    if (!number_in(counter) || !range) {  // a sum without one would be taken for the whole
      packages_.clear();
      return;
    }
    packages_.push_back({counter, *range});
  }
}

std::optional<HostEnergy::Reading> HostEnergy::read() const {
  if (packages_.empty()) return std::nullopt;
  Reading reading;
  for (const auto& package : packages_) {
    const auto value = number_in(package.counter);
    if (!value) return std::nullopt;
    reading.microjoules.push_back(*value);
  }
  return reading;
}

std::optional<double> HostEnergy::counted_joules() const {
  const auto now = read();
  if (!now) return std::nullopt;
  double sum = 0;
  for (const auto microjoules : now->microjoules) sum += static_cast<double>(microjoules) * 1e-6;
  return sum;
}

double HostEnergy::joules(const Reading& before, const Reading& after) const {
  double sum = 0;
  for (std::size_t i = 0; i < packages_.size() && i < before.microjoules.size() && i < after.microjoules.size(); ++i) {
    const auto from = before.microjoules[i], to = after.microjoules[i];
    sum += static_cast<double>(to >= from ? to - from : packages_[i].range - from + to);
  }
  return sum * 1e-6;
}

}  // namespace warpmark::device
