#include "validate/compare/schedule.h"

#include <numeric>
#include <utility>

#include "base/check.h"
#include "stats/random.h"

namespace warpmark::validate {
namespace {

std::int64_t runs_per_round(Interleave interleave) { return interleave == Interleave::block ? 4 : 2; }

/// Fisher and Yates, by hand: std::shuffle may differ between libraries, and a resumed comparison must not.
void shuffle(std::vector<int>& order, std::uint64_t seed, std::int64_t round) {
  const auto stream = stats::derive_seed(seed, static_cast<std::uint64_t>(round));
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    std::swap(order[i], order[static_cast<std::size_t>(stats::random_unit(stream, i) * static_cast<double>(i + 1))]);
  }
}

}  // namespace

std::vector<int> round_order(Interleave interleave, std::uint64_t seed, std::int64_t round) {
  std::vector<int> order = interleave == Interleave::block ? std::vector<int>{0, 0, 1, 1} : std::vector<int>{0, 1};
  shuffle(order, seed, round);
  return order;
}

std::vector<int> shuffled(int n, std::uint64_t seed, std::int64_t round) {
  WM_CHECK(n >= 1);
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, seed, round);
  return order;
}

std::int64_t Schedule::slots() const { return rounds * runs_per_round(interleave); }

Slot Schedule::slot(std::int64_t index) const {
  WM_CHECK(index >= 0 && index < slots());
  if (interleave == Interleave::none) {
    return {.variant = index < rounds ? 0 : 1, .round = index % rounds, .ends_round = index >= rounds};
  }
  const std::int64_t size = runs_per_round(interleave);
  const std::int64_t round = index / size, place = index % size;
  return {.variant = round_order(interleave, seed, round)[static_cast<std::size_t>(place)],
          .round = round,
          .ends_round = place == size - 1};
}

}  // namespace warpmark::validate
