// What a collective costs beyond the machine it was measured on: so many messages of alpha seconds, so many bytes of
// beta seconds each (Hockney's model; Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations
// in MPICH", IJHPCA 19, 2005, gives steps and bytes of each algorithm). Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "collectives/calls/operation.h"
#include "collectives/results/row.h"

namespace warpmark::collectives {

struct Link {
  double alpha_s = 0;  ///< of a message
  double beta_s_per_byte = 0;
};

enum class Algorithm { ring, tree, hierarchical };
[[nodiscard]] const char* name_of(Algorithm algorithm);

/// Messages one after another and bytes through one rank's link, for `bytes` as nccl-tests' column "size".
struct Volume {
  double steps = 0;
  double bytes = 0;
};
[[nodiscard]] Volume volume_of(Collective kind, Algorithm algorithm, double bytes, int ranks);

/// Seconds over one kind of link.
[[nodiscard]] double cost(Collective kind, Algorithm algorithm, double bytes, int ranks, const Link& link);
/// all_reduce within nodes of `per_node` ranks, between them, and back: reduce_scatter, all_reduce of the parts,
/// all_gather. Other collectives: as a ring over the slower link where there are several nodes.
[[nodiscard]] double hierarchical_cost(Collective kind, double bytes, int ranks, int per_node, const Link& within,
                                       const Link& between);

struct LinkFit {
  Link link;
  Algorithm algorithm = Algorithm::ring;
  double median_error = 0;   ///< ratio, of sizes that were held back from the fit
  double largest_error = 0;  ///< of them
  int held_back = 0;
};

/// Alpha and beta by least squares of relative errors, neither below 0; every third size is held back and tells the
/// error. Data error with fewer than 6 sizes or 2 ranks.
[[nodiscard]] Result<LinkFit> fit_link(const std::vector<Row>& rows, Algorithm algorithm);
/// The ring, unless the tree describes the sweep better. One number of ranks hardly tells them apart, as either makes
/// any straight line of bytes; beyond it the ring's costs grow faster, so that a plan by it promises less.
[[nodiscard]] Result<LinkFit> fit_link(const std::vector<Row>& rows);

/// Seconds of `bytes` between measured sizes, by straight lines between their logarithms; beyond them by the fit.
[[nodiscard]] double measured_cost(const std::vector<Row>& rows, const LinkFit& fit, double bytes);

}  // namespace warpmark::collectives
