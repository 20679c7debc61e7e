#include "accuracy/ratings/ratings.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "stats/summary.h"

namespace warpmark::accuracy {
namespace {

/// Squared distance of two values by their places among the sorted ones; `totals` is how often each occurs.
double rating_distance(std::span<const double> values, std::span<const double> totals, std::size_t a, std::size_t b,
                       Measurement measurement) {
  if (a == b) return 0;
  switch (measurement) {
    case Measurement::nominal: return 1;
    case Measurement::interval: return (values[a] - values[b]) * (values[a] - values[b]);
    case Measurement::ratio: {
      const double sum = values[a] + values[b];
      const double share = sum == 0 ? 0 : (values[a] - values[b]) / sum;
      return share * share;
    }
    case Measurement::ordinal: {
      double between = 0;
      for (std::size_t i = std::min(a, b); i <= std::max(a, b); ++i) between += totals[i];
      between -= (totals[a] + totals[b]) / 2;
      return between * between;
    }
  }
  return 0;
}

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

std::vector<std::size_t> sorted_order(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
  return order;
}

double pairs_of(double n) { return n * (n - 1) / 2; }

/// Pairs within runs of equal items.
template <typename Equal>
double tied_pairs(std::size_t n, Equal equal) {
  double pairs = 0, run = 1;
  for (std::size_t i = 1; i <= n; ++i) {
    if (i < n && equal(i - 1, i)) {
      run += 1;
    } else {
      pairs += pairs_of(run);
      run = 1;
    }
  }
  return pairs;
}

/// Sorts and counts how many neighbours had to be exchanged.
double exchanges(std::vector<double>& values, std::vector<double>& space, std::size_t begin, std::size_t end) {
  if (end - begin < 2) return 0;
  const std::size_t middle = begin + (end - begin) / 2;
  double count = exchanges(values, space, begin, middle) + exchanges(values, space, middle, end);
  std::size_t i = begin, j = middle, out = begin;
  while (i < middle || j < end) {
    if (j == end || (i < middle && values[i] <= values[j])) {
      space[out++] = values[i++];
    } else {
      count += static_cast<double>(middle - i);
      space[out++] = values[j++];
    }
  }
  std::copy(space.begin() + static_cast<std::ptrdiff_t>(begin), space.begin() + static_cast<std::ptrdiff_t>(end),
            values.begin() + static_cast<std::ptrdiff_t>(begin));
  return count;
}

constexpr double kEloScale = 400, kEloMean = 1000;

/// Games and wins of each ordered pair.
struct PairTable {
  explicit PairTable(std::size_t players) : n(players), wins(players * players, 0) {}
  double& won(std::size_t winner, std::size_t loser) { return wins[winner * n + loser]; }
  [[nodiscard]] double won(std::size_t winner, std::size_t loser) const { return wins[winner * n + loser]; }
  std::size_t n;
  std::vector<double> wins;
};

PairTable table_of_duels(std::span<const Duel> duels, std::size_t players) {
  PairTable table(players);
  for (const auto& duel : duels) {
    table.won(duel.first, duel.second) += duel.win;
    table.won(duel.second, duel.first) += 1 - duel.win;
  }
  return table;
}

std::vector<bool> reached(const PairTable& table, bool by_wins) {
  std::vector<bool> seen(table.n, false);
  std::vector<std::size_t> open{0};
  seen[0] = true;
  while (!open.empty()) {
    const std::size_t from = open.back();
    open.pop_back();
    for (std::size_t to = 0; to < table.n; ++to) {
      const double wins = by_wins ? table.won(from, to) : table.won(to, from);
      if (seen[to] || wins == 0) continue;
      seen[to] = true;
      open.push_back(to);
    }
  }
  return seen;
}

}  // namespace

Result<Measurement> measurement_from(std::string_view name) {
  if (name == "nominal") return Measurement::nominal;
  if (name == "ordinal") return Measurement::ordinal;
  if (name == "interval") return Measurement::interval;
  if (name == "ratio") return Measurement::ratio;
  return usage_error("there is no level of measurement '" + std::string(name) + "'",
                     "levels: nominal, ordinal, interval, ratio");
}

double krippendorff_alpha(std::span<const ItemRatings> items, Measurement measurement) {
  std::vector<double> values;
  for (const auto& item : items) {
    if (item.size() >= 2) values.insert(values.end(), item.begin(), item.end());
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  const std::size_t k = values.size();
  const auto place_of = [&](double value) {
    return static_cast<std::size_t>(std::lower_bound(values.begin(), values.end(), value) - values.begin());
  };
  std::vector<double> coincidences(k * k, 0), totals(k, 0), counts(k);
  for (const auto& item : items) {
    if (item.size() < 2) continue;
    std::fill(counts.begin(), counts.end(), 0);
    for (const double rating : item) counts[place_of(rating)] += 1;
    const double weight = 1 / (static_cast<double>(item.size()) - 1);
    for (std::size_t a = 0; a < k; ++a) {
      totals[a] += counts[a];
      for (std::size_t b = 0; b < k; ++b) {
        coincidences[a * k + b] += weight * counts[a] * (a == b ? counts[a] - 1 : counts[b]);
      }
    }
  }
  double n = 0, observed = 0, expected = 0;
  for (const double total : totals) n += total;
  for (std::size_t a = 0; a < k; ++a) {
    for (std::size_t b = 0; b < k; ++b) {
      const double distance = rating_distance(values, totals, a, b, measurement);
      observed += coincidences[a * k + b] * distance;
      expected += totals[a] * totals[b] * distance;
    }
  }
  return expected > 0 ? 1 - (n - 1) * observed / expected : 1;
}

double pearson(std::span<const double> a, std::span<const double> b) {
  const auto first = stats::moments_of(a), second = stats::moments_of(b);
  if (!(first.squares > 0) || !(second.squares > 0)) return kUndefined;
  double products = 0;
  for (std::size_t i = 0; i < a.size(); ++i) products += (a[i] - first.mean) * (b[i] - second.mean);
  return std::clamp(products / std::sqrt(first.squares) / std::sqrt(second.squares), -1.0, 1.0);
}

std::vector<double> mean_ranks(std::span<const double> values) {
  const auto order = sorted_order(values);
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) ranks[order[j]] = static_cast<double>(i + end + 1) / 2;
    i = end;
  }
  return ranks;
}

double spearman(std::span<const double> a, std::span<const double> b) { return pearson(mean_ranks(a), mean_ranks(b)); }

double kendall_tau_b(std::span<const double> a, std::span<const double> b) {
  std::vector<std::size_t> order(a.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto i, auto j) { return a[i] != a[j] ? a[i] < a[j] : b[i] < b[j]; });
  const double all = pairs_of(static_cast<double>(a.size()));
  const double tied_a = tied_pairs(a.size(), [&](auto i, auto j) { return a[order[i]] == a[order[j]]; });
  const double tied_both =
      tied_pairs(a.size(), [&](auto i, auto j) { return a[order[i]] == a[order[j]] && b[order[i]] == b[order[j]]; });
  std::vector<double> values, space(a.size());
  for (const auto i : order) values.push_back(b[i]);
  const double discordant = exchanges(values, space, 0, values.size());
  const double tied_b = tied_pairs(values.size(), [&](auto i, auto j) { return values[i] == values[j]; });
  const double denominator = std::sqrt(all - tied_a) * std::sqrt(all - tied_b);
  if (!(denominator > 0)) return kUndefined;
  const double concordant_less_discordant = all - tied_a - tied_b + tied_both - 2 * discordant;
  return std::clamp(concordant_less_discordant / denominator, -1.0, 1.0);
}

PairwiseAccuracy pairwise_accuracy(std::span<const double> metric, std::span<const double> human) {
  struct Pair {
    double distance = 0;  ///< of the metric's values
    int gain = 0;         ///< in right pairs, where it is called tied
  };
  std::vector<Pair> pairs;
  std::int64_t right = 0;
  for (std::size_t i = 0; i < metric.size(); ++i) {
    for (std::size_t j = i + 1; j < metric.size(); ++j) {
      const double ours = metric[i] - metric[j], theirs = human[i] - human[j];
      const bool same_order = (ours > 0 && theirs > 0) || (ours < 0 && theirs < 0);
      right += same_order;
      pairs.push_back({std::fabs(ours), (theirs == 0 ? 1 : 0) - (same_order ? 1 : 0)});
    }
  }
  if (pairs.empty()) return {};
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.distance < b.distance; });
  std::int64_t best = -1;
  double epsilon = 0;
  for (std::size_t i = 0; i < pairs.size();) {
    if (i == 0 && pairs[0].distance > 0) best = right;  // no pair is called tied
    const double distance = pairs[i].distance;
    for (; i < pairs.size() && pairs[i].distance == distance; ++i) right += pairs[i].gain;
    if (right > best) {
      best = right;
      epsilon = distance;
    }
  }
  return {static_cast<double>(best) / static_cast<double>(pairs.size()), epsilon};
}

std::vector<PlayerShare> win_shares(std::span<const Duel> duels, std::size_t players) {
  std::vector<PlayerShare> shares(players);
  for (const auto& duel : duels) {
    shares[duel.first].wins += duel.win;
    shares[duel.second].wins += 1 - duel.win;
    shares[duel.first].games += 1;
    shares[duel.second].games += 1;
  }
  return shares;
}

bool is_connected_by_wins(std::span<const Duel> duels, std::size_t players) {
  if (players == 0) return true;
  const PairTable table = table_of_duels(duels, players);
  const auto down = reached(table, true), up = reached(table, false);
  return std::find(down.begin(), down.end(), false) == down.end() && std::find(up.begin(), up.end(), false) == up.end();
}

std::vector<double> bradley_terry(std::span<const Duel> duels, std::size_t players, double prior) {
  PairTable table = table_of_duels(duels, players);
  for (std::size_t i = 0; i < players; ++i) {
    for (std::size_t j = i + 1; j < players; ++j) {
      if (table.won(i, j) + table.won(j, i) == 0) continue;
      table.won(i, j) += prior / 2;
      table.won(j, i) += prior / 2;
    }
  }
  constexpr int kMostSteps = 10'000;
  constexpr double kSettled = 1e-10, kLeastStrength = 1e-12;
  std::vector<double> strengths(players, 1), next(players);
  for (int step = 0; step < kMostSteps; ++step) {
    double moved = 0, logs = 0;
    for (std::size_t i = 0; i < players; ++i) {
      double wins = 0, expected = 0;
      for (std::size_t j = 0; j < players; ++j) {
        const double games = table.won(i, j) + table.won(j, i);
        if (i == j || games == 0) continue;
        wins += table.won(i, j);
        expected += games / (strengths[i] + strengths[j]);
      }
      next[i] = expected > 0 ? std::max(wins / expected, kLeastStrength) : strengths[i];
      logs += std::log(next[i]);
    }
    const double scale = std::exp(logs / static_cast<double>(std::max<std::size_t>(players, 1)));
    for (std::size_t i = 0; i < players; ++i) {
      next[i] /= scale;
      moved = std::max(moved, std::fabs(std::log(next[i] / strengths[i])));
    }
    strengths.swap(next);
    if (moved < kSettled) break;
  }
  for (double& strength : strengths) strength = kEloMean + kEloScale * std::log10(strength);
  return strengths;
}

std::vector<double> elo(std::span<const Duel> duels, std::size_t players, const EloOptions& options) {
  std::vector<double> ratings(players, options.start);
  for (const auto& duel : duels) {
    const double expected = 1 / (1 + std::pow(10, (ratings[duel.second] - ratings[duel.first]) / kEloScale));
    const double change = options.k * (duel.win - expected);
    ratings[duel.first] += change;
    ratings[duel.second] -= change;
  }
  return ratings;
}

}  // namespace warpmark::accuracy
