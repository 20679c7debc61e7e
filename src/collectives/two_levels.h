// all_reduce over nodes: a reduce_scatter and an all_gather within each, which together are its all_reduce, and one of
// the parts between them, as hierarchical_cost has it; with links that were measured, of whatever algorithm. Pure.
#pragma once

#include <functional>
#include <vector>

#include "collectives/alpha_beta.h"

namespace warpmark::collectives {

/// A hop of NCCL's ring over a network, as NCCL itself reckons when it chooses an algorithm (src/graph/tuning.cc,
/// hwLat, NET, ring, Simple): 14 us. Where nothing was measured.
inline constexpr double kNetworkAlpha_s = 14e-6;

/// Seconds of an all_reduce of so many bytes among the ranks of one node.
using WithinNode = std::function<double(double bytes)>;

/// Seconds over `nodes` nodes of `per_node` ranks.
[[nodiscard]] double two_level_cost(double bytes, int nodes, int per_node, const WithinNode& within_s,
                                    Algorithm algorithm, const Link& between);

/// The link between nodes, from a sweep over several of them: what is left of each size's time without the part within
/// nodes. Data error where fewer than 6 sizes leave anything.
[[nodiscard]] Result<LinkFit> fit_between(const std::vector<Row>& rows, int per_node, const WithinNode& within_s);

}  // namespace warpmark::collectives
