// What a collective costs beyond the machine it was measured on: so many messages of alpha seconds, so many bytes of
// beta seconds each (Hockney's model; Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations
// in MPICH", IJHPCA 19, 2005, gives steps and bytes of each algorithm). Pure.
#pragma once

#include <functional>
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

/// A hop of NCCL's ring over a network, as NCCL itself reckons when it chooses an algorithm (src/graph/tuning.cc,
/// hwLat, NET, ring, Simple): 14 us. Where nothing was measured.
inline constexpr double kNetworkAlpha_s = 14e-6;

/// Seconds of an all_reduce of so many bytes among the ranks of one node.
using WithinNode = std::function<double(double bytes)>;

/// all_reduce over nodes: a reduce_scatter and an all_gather within each, which together are its all_reduce, and one of
/// the parts between them, as hierarchical_cost has it; with links that were measured, of whatever algorithm.
/// Seconds over `nodes` nodes of `per_node` ranks.
[[nodiscard]] double two_level_cost(double bytes, int nodes, int per_node, const WithinNode& within_s,
                                    Algorithm algorithm, const Link& between);

/// The link between nodes, from a sweep over several of them: what is left of each size's time without the part within
/// nodes. Data error where fewer than 6 sizes leave anything.
[[nodiscard]] Result<LinkFit> fit_between(const std::vector<Row>& rows, int per_node, const WithinNode& within_s);

}  // namespace warpmark::collectives
