#include "collectives/alpha_beta.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/fields/names.h"
#include "stats/summary.h"

namespace warpmark::collectives {
namespace {

struct Timed {
  double bytes = 0;
  double seconds = 0;
};

std::vector<Timed> timed_sizes(const std::vector<Row>& rows) {
  std::vector<Timed> sizes;
  for (const auto& row : rows) {
    const auto& place = row.out_of_place ? row.out_of_place : row.in_place;
    if (row.counts.bytes <= 0 || !place || place->samples_s.empty()) continue;
    // The median: what a plan builds on is what usually happens.
    sizes.push_back({static_cast<double>(row.counts.bytes), stats::median(place->samples_s)});
  }
  std::sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  return sizes;
}

/// Least squares of (steps alpha + bytes beta) / seconds = 1, neither below 0.
Link fitted(Collective kind, Algorithm algorithm, int ranks, const std::vector<Timed>& sizes) {
  double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
  for (const auto& size : sizes) {
    const auto volume = volume_of(kind, algorithm, size.bytes, ranks);
    const double a = volume.steps / size.seconds, b = volume.bytes / size.seconds;
    aa += a * a, ab += a * b, bb += b * b, a1 += a, b1 += b;
  }
  const double determinant = aa * bb - ab * ab;
  Link link;
  if (determinant > 1e-12 * aa * bb) {
    link.alpha_s = (a1 * bb - b1 * ab) / determinant;
    link.beta_s_per_byte = (b1 * aa - a1 * ab) / determinant;
  }
  if (link.beta_s_per_byte <= 0) link = {aa > 0 ? a1 / aa : 0, 0};
  if (link.alpha_s < 0) link = {0, bb > 0 ? b1 / bb : 0};
  return link;
}

}  // namespace

constexpr auto kAlgorithmNames = in_order(Algorithm::hierarchical, "ring", "tree", "hierarchical");
const char* name_of(Algorithm algorithm) { return name_in(kAlgorithmNames, static_cast<std::int64_t>(algorithm)); }

Volume volume_of(Collective kind, Algorithm algorithm, double bytes, int ranks) {
  const double n = ranks;
  if (ranks < 2) return {};
  const double levels = std::ceil(std::log2(n));
  const bool tree = algorithm == Algorithm::tree;
  switch (kind) {
    case Collective::all_reduce:
      return tree ? Volume{2 * levels, 2 * bytes} : Volume{2 * (n - 1), 2 * bytes * (n - 1) / n};
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::alltoall:
    case Collective::gather:
    case Collective::scatter: return {tree ? levels : n - 1, bytes * (n - 1) / n};
    case Collective::broadcast:
    case Collective::reduce: return {tree ? levels : n - 1, bytes};
    case Collective::sendrecv: return {1, bytes};
  }
  return {};
}

double cost(Collective kind, Algorithm algorithm, double bytes, int ranks, const Link& link) {
  const auto volume = volume_of(kind, algorithm, bytes, ranks);
  return volume.steps * link.alpha_s + volume.bytes * link.beta_s_per_byte;
}

double hierarchical_cost(Collective kind, double bytes, int ranks, int per_node, const Link& within,
                         const Link& between) {
  const int inside = std::min(ranks, std::max(per_node, 1));
  const int nodes = (ranks + inside - 1) / inside;
  if (nodes == 1) return cost(kind, Algorithm::ring, bytes, ranks, within);
  if (kind != Collective::all_reduce || inside == 1) return cost(kind, Algorithm::ring, bytes, ranks, between);
  // A ring's all_reduce within the node is its reduce_scatter before and its all_gather behind that between nodes.
  return two_level_cost(
      bytes, nodes, inside,
      [&](double size) { return cost(Collective::all_reduce, Algorithm::ring, size, inside, within); }, Algorithm::ring,
      between);
}

Result<LinkFit> fit_link(const std::vector<Row>& rows, Algorithm algorithm) {
  const auto sizes = timed_sizes(rows);
  if (sizes.size() < 6 || rows.front().ranks < 2) {
    return data_error("a sweep of at least 6 sizes over 2 ranks or more is needed to fit a link",
                      "such as: warpmark collective all_reduce -b 1K -e 256M -f 4 --json sweep.json");
  }
  std::vector<Timed> used, held_back;
  for (std::size_t i = 0; i < sizes.size(); ++i) (i % 3 == 1 ? held_back : used).push_back(sizes[i]);
  const Collective kind = rows.front().kind;
  const int ranks = rows.front().ranks;
  LinkFit fit{fitted(kind, algorithm, ranks, used), algorithm, 0, 0, static_cast<int>(held_back.size())};
  std::vector<double> errors;
  for (const auto& size : held_back) {
    errors.push_back(std::fabs(cost(kind, algorithm, size.bytes, ranks, fit.link) / size.seconds - 1));
  }
  fit.median_error = stats::median(errors);
  fit.largest_error = *std::max_element(errors.begin(), errors.end());
  return fit;
}

Result<LinkFit> fit_link(const std::vector<Row>& rows) {
  WM_ASSIGN(const auto ring, fit_link(rows, Algorithm::ring));
  WM_ASSIGN(const auto tree, fit_link(rows, Algorithm::tree));
  constexpr double kRounding = 1e-9;
  return tree.median_error < ring.median_error - kRounding ? tree : ring;
}

double measured_cost(const std::vector<Row>& rows, const LinkFit& fit, double bytes) {
  const auto sizes = timed_sizes(rows);
  if (sizes.empty() || bytes <= 0) return 0;
  const int ranks = rows.front().ranks;
  if (bytes < sizes.front().bytes) return sizes.front().seconds;
  if (bytes > sizes.back().bytes) {
    const double anchor = cost(rows.front().kind, fit.algorithm, sizes.back().bytes, ranks, fit.link);
    const double there = cost(rows.front().kind, fit.algorithm, bytes, ranks, fit.link);
    return anchor > 0 ? sizes.back().seconds * there / anchor : there;
  }
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    if (bytes > sizes[i].bytes) continue;
    const double share = std::log(bytes / sizes[i - 1].bytes) / std::log(sizes[i].bytes / sizes[i - 1].bytes);
    return std::exp((1 - share) * std::log(sizes[i - 1].seconds) + share * std::log(sizes[i].seconds));
  }
  return sizes.back().seconds;
}

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
