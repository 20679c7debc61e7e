// Who wins? Win rates, the Bradley-Terry model (Biometrika 39, 1952; fitted by Hunter's MM algorithm, Ann. Stat. 32,
// 2004) on Elo's scale, and Elo's sequential rating for those who publish it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace warpmark::accuracy {

/// One comparison: the share of the win that `first` got, 1, 0, or 0.5 for a tie.
struct Duel {
  std::size_t first = 0;
  std::size_t second = 0;
  double win = 0;
};

struct PlayerShare {
  double wins = 0;  ///< ties count half
  double games = 0;
};
[[nodiscard]] std::vector<PlayerShare> win_shares(std::span<const Duel> duels, std::size_t players);

/// On Elo's scale: 400 points are odds of ten to one; their mean is 1000. Ties are half a win each. A player who won or
/// lost all would be infinitely far: each pair that met counts `prior` games drawn beside theirs.
[[nodiscard]] std::vector<double> bradley_terry(std::span<const Duel> duels, std::size_t players, double prior = 0);

struct EloOptions {
  double k = 32;
  double start = 1000;
};
/// In the order of the duels, on which it depends.
[[nodiscard]] std::vector<double> elo(std::span<const Duel> duels, std::size_t players, const EloOptions& options = {});

/// Whether the model has finite ratings: every player can be reached from every other by a chain of wins (Ford, 1957).
[[nodiscard]] bool is_connected_by_wins(std::span<const Duel> duels, std::size_t players);

}  // namespace warpmark::accuracy
