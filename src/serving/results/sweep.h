// From an idle server to a saturated one: one user for the latency of an idle server, twice as many users until the
// answers per second no longer grow, then open-loop rates spread evenly between. Pure: measuring is the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpmark::serving {

struct SweepLook {
  double level = 0;  ///< users, or requests/s
  bool open_loop = false;
  double requests_per_s = 0;  ///< that were answered
  bool stopped = false;       ///< interrupted: the sweep ends
};

struct Sweep {
  std::int64_t rates = 5;          ///< open-loop loads between idle and saturation
  std::int64_t most_users = 1024;  ///< where saturation is not found before
  double growth = 0.05;            ///< less than this at twice the users is none
};

struct SweepFound {
  std::vector<SweepLook> looks;
  double idle_per_s = 0;
  double saturated_per_s = 0;
  double saturated_users = 0;  ///< the fewest that reach it
  bool saturated = false;
  [[nodiscard]] std::string sentence() const;
};

[[nodiscard]] Result<SweepFound> sweep_loads(
    const Sweep& sweep, const std::function<Result<SweepLook>(double level, bool open_loop)>& look);

}  // namespace warpmark::serving
