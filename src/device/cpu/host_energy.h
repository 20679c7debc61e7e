// Energy of the processors by RAPL, as Linux shows it in /sys/class/powercap: counters in microjoules that wrap. Their
// error is a few per cent of what a meter at the socket shows of the package (Khan et al., "RAPL in Action", ACM
// TOMPECS 3(2), 2018); what else the machine draws is not in it. Readable by root alone on most systems.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace warpmark::device {

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
