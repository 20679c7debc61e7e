// How much a value resembles the one before, and what that does to certainty.
#pragma once

#include <cstdint>
#include <span>

namespace warpmark::stats {

/// Lag-1 autocorrelation of a series whose level may shift, from differences: those over two values vary 1 + rho times
/// as much as those over one. `breaks` are indices of values that may start a new level; no difference over one is
/// used. No mean is estimated, so levels bias nothing (Tecuapetla-Gomez, Munk, Scand. J. Stat. 44, 2017). In
/// [-0.95, 0.95]; standard error about 1 / sqrt(n); 0 where there is too little data.
[[nodiscard]] double lag_one(std::span<const double> series, std::span<const std::int64_t> breaks);

/// Factor by which the variance of a mean grows under AR(1) noise: (1 + rho) / (1 - rho); 1 for rho <= 0, as nobody
/// should become more certain by it.
[[nodiscard]] double variance_inflation(double rho);

}  // namespace warpmark::stats
