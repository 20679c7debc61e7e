// Who lost what: the time that a step loses, attributed to one rule each, computed once from the facts. Rules report
// what they are given here; an attribution never exceeds what its part has left (attributions.h). First comes what was
// recorded at its place (loading, copies, communication), then waits, allocations and updates with the idle time
// further away that goes with them, then kernels, and last what is left: what only one rank loses, and dispatching.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "analyze/evidence/attributions.h"
#include "analyze/evidence/facts.h"
#include "analyze/evidence/imbalance.h"
#include "analyze/evidence/kernel_losses.h"

namespace warpmark::analyze {

/// Communication that nothing hides, and waiting for ranks that are not later by work of their own or by their hosts,
/// ns a step.
struct Exposed {
  double collectives = 0;
  double between = 0;  ///< the host dispatches one collective after another
  double waiting = 0;
  double over_host = 0;
  [[nodiscard]] double all() const { return collectives + between + waiting + over_host; }
};

struct Attribution {
  std::vector<Attributions> ranks;  ///< as Facts::ranks
  std::array<double, kAttributedTo> lost{};
  Imbalance imbalance;
  double by_launches = 0;  ///< idle time of launch calls that wait for what they launched, ns a step
  PrecisionLoss precision;
  Exposed exposed;               ///< of the rank whose communication is exposed most
  std::size_t most_exposed = 0;  ///< index into Facts::ranks
  double without_dispatch = 1;   ///< speedup if dispatching took no time

  /// Time a step that a claimant lost, ns: of the critical rank; of multi_gpu_comm of the one most exposed. Not above
  /// 0: nothing.
  [[nodiscard]] double lost_ns(AttributedTo by) const { return lost[static_cast<std::size_t>(by)]; }
};

[[nodiscard]] Attribution attribute(const Facts& facts);

}  // namespace warpmark::analyze
