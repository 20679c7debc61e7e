// Searches over settings that change nothing: how often does one end with a claim? Measurements are random
// (tests/optimize/random_trials.h), the search and its tests are those of `optimize`. Prints a markdown table.
// Arguments: searches per row (default 400).
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "arguments.h"
#include "optimize/random_trials.h"

namespace {

using namespace warpmark;
using namespace warpmark::optimize;

struct Counts {
  int claimed = 0;     ///< a speedup is reported
  int found_real = 0;  ///< "real" is in the plan
};

Counts simulate(const RandomNoise& noise, int settings, bool real, int searches) {
  Counts counts;
  for (int i = 0; i < searches; ++i) {
    RandomTrials trials(noise, static_cast<std::uint64_t>(1000 + i), {{"real", 0.9}});
    Optimization optimization;
    optimization.baseline.seconds_per_step = 1;
    const auto options =
        options_of_nothing(settings, real ? std::vector<std::string>{"real"} : std::vector<std::string>{});
    if (!search(trials, {}, options, optimization).ok()) continue;
    counts.claimed += optimization.measured_speedup ? 1 : 0;
    counts.found_real += std::ranges::any_of(optimization.plan, [](const auto& one) { return one.first == "real"; });
  }
  return counts;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = warpmark::bench::end_with_usage(argc, argv, "optimization_simulation [SEARCHES]", 0, 1))
    return *code;
  const auto wanted = warpmark::bench::count_at(1, argc, argv, 400);
  if (!wanted) return 2;
  const int searches = static_cast<int>(*wanted);
  const double percent = 100.0 / searches;
  fmt::print(
      "| blocks | processes | bursts | settings without effect | claims a speedup | finds one of 1.11x among them |\n");
  fmt::print("|---|---|---|---|---|---|\n");
  for (const RandomNoise& noise : {RandomNoise{0.01, 0.01}, RandomNoise{0.01, 0.03}, RandomNoise{0.03, 0.05},
                                   RandomNoise{0.02, 0.08}, RandomNoise{0.02, 0.03, 0.1}}) {
    for (const int settings : {1, 5, 10}) {
      const auto none = simulate(noise, settings, false, searches);
      const auto one = simulate(noise, settings, true, searches);
      fmt::print("| {:.0f} % | {:.0f} % | {:.0f} % | {} | {:.1f} % | {:.1f} % |\n", noise.block * 100, noise.run * 100,
                 noise.burst_chance * 100, 2 * settings, none.claimed * percent, one.found_real * percent);
      std::fflush(stdout);
    }
  }
}
