#include "accuracy/ratings/pairwise.h"

#include <algorithm>
#include <cmath>

namespace warpmark::accuracy {
namespace {

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
