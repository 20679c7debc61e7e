#include "collectives/two_levels.h"

#include <utility>

#include "stats/summary.h"

namespace warpmark::collectives {

double two_level_cost(double bytes, int nodes, int per_node, const WithinNode& within_s, Algorithm algorithm,
                      const Link& between) {
  const double inside_s = per_node > 1 ? within_s(bytes) : 0;
  return inside_s + cost(Collective::all_reduce, algorithm, bytes / per_node, nodes, between);
}

Result<LinkFit> fit_between(const std::vector<Row>& rows, int per_node, const WithinNode& within_s) {
  std::vector<Row> left;
  for (const auto& row : rows) {
    const auto& place = row.out_of_place ? row.out_of_place : row.in_place;
    if (row.counts.bytes < per_node || !place || place->samples_s.empty()) continue;
    const double inside_s = per_node > 1 ? within_s(static_cast<double>(row.counts.bytes)) : 0;
    const double between_s = stats::median(place->samples_s) - inside_s;
    if (between_s <= 0) continue;
    Row part = row;
    part.ranks = (row.ranks + per_node - 1) / per_node;
    part.counts.bytes /= per_node;
    part.out_of_place = Placement{};
    part.out_of_place->samples_s = {between_s};
    left.push_back(std::move(part));
  }
  const auto fit = fit_link(left);
  if (fit.ok()) return fit;
  return data_error(
      "the sweep over several hosts takes no longer than one within a host, so it does not measure the network",
      "sweep at least 6 sizes over the hosts, and as many ranks of one host; or give --between");
}

}  // namespace warpmark::collectives
