// What runs under several power caps say: speed against the largest cap, energy of a unit of work, and which cap does
// the most for a joule. Pure.
#pragma once

#include <vector>

#include "model/power_caps.h"
#include "validate/scaling/scaling.h"

namespace warpmark::validate {

/// One run under a cap.
struct CappedRun {
  double cap_w = 0;
  ScalingRun run;
};

/// Points and verdict. Points that caps have already keep their failures.
void judge_power_caps(const std::vector<CappedRun>& runs, PowerCaps& caps);

}  // namespace warpmark::validate
