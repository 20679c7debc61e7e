// What `monitor` shows: the host and the GPUs in one table and the processes in another while it runs, and at the end
// what the machine did, as a report.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/machine_state.h"
#include "model/report.h"
#include "report/draw/format.h"

namespace warpmark::report {

/// Utilizations of the last moments, oldest first.
class UtilizationHistory {
 public:
  void add(const MachineState& state);
  [[nodiscard]] const std::vector<double>& host() const { return host_; }
  /// By position in MachineState::gpus; empty for one that was never seen.
  [[nodiscard]] const std::vector<double>& gpu(std::size_t position) const;

 private:
  std::vector<double> host_;
  std::vector<std::vector<double>> gpus_;
};

/// At most `lines` lines (0: all), each with a newline: processes are left out where there is no room.
[[nodiscard]] std::string render_machine_state(const MachineState& state, const UtilizationHistory& history,
                                               const RenderOptions& options, int lines);

[[nodiscard]] Report build_report(const MachineSummary& summary);

}  // namespace warpmark::report
