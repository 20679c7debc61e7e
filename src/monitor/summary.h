// Looks at a machine, summed up. Pure.
#pragma once

#include "model/machine_state.h"
#include "model/machine_summary.h"

namespace warpmark::monitor {

class Summarizer {
 public:
  void add(const MachineState& state);
  [[nodiscard]] const MachineSummary& summary() const { return summary_; }

 private:
  MachineSummary summary_;
  std::int64_t first_ns_ = 0;
};

}  // namespace warpmark::monitor
