#include "analyze/recommendations/gain.h"

#include <algorithm>
#include <utility>

namespace warpmark::analyze {

Gain gain_up_to(double all, std::string method) {
  const double most = std::max(all, 1.0);
  const double removed = 1 - 1 / most;  // of the time
  return {1 / (1 - removed / 2), most, std::move(method)};
}

double amdahl(double lost_ns, double whole_ns) {
  return std::max(1.0, whole_ns / std::max(whole_ns - lost_ns, whole_ns * 1e-3));
}

Gain at_most(double bound, std::string method) { return {1, std::max(bound, 1.0), std::move(method)}; }

}  // namespace warpmark::analyze
