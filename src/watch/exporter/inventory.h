// The GPUs of this host as they were last seen, in a file: after a restart one that is lost is known to be missing.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/nvml/nvml.h"

namespace warpmark::watch {

/// Not thread safe.
class GpuInventory {
 public:
  /// `wall_s`: the time now, since the Unix epoch; GPUs that were not seen for a week before it are forgotten. A file
  /// that is damaged counts as empty, and `log` gets one line.
  GpuInventory(std::filesystem::path file, double wall_s, std::function<void(const std::string&)> log);
  [[nodiscard]] std::vector<device::nvml::GpuFacts> gpus() const;
  /// Writes the file when GPUs changed, and once a day. What cannot be written is logged once.
  void seen(const std::vector<device::nvml::GpuFacts>& listed, double wall_s);

  struct Entry {
    device::nvml::GpuFacts facts;
    double seen_s = 0;
  };

 private:
  [[nodiscard]] Status read(double wall_s);
  [[nodiscard]] Status write() const;

  std::filesystem::path file_;
  std::function<void(const std::string&)> log_;
  std::vector<Entry> entries_;
  double written_s_ = 0;
  bool reported_ = false;
};

}  // namespace warpmark::watch
