// What a process said in which knobs were switched between blocks of steps (ScreeningPlan in hooked_program.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warpmark::workers {

/// Steps that were timed together: with one knob switched on, or with none.
struct ScreenedBlock {
  std::int64_t arm = 0;  ///< 0 and 1: without a knob; then the switches of the plan in their order
  std::int64_t round = 0;
  std::int64_t steps = 0;
  double seconds = 0;
  std::int64_t samples = 0;  ///< 0: unknown
};

/// What became of a knob.
struct SwitchState {
  std::int64_t arm = 0;
  std::string id;
  std::string value;
  std::string said;  ///< why it was not screened to the end; empty: it was
};

}  // namespace warpmark::workers
