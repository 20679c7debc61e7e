// What verdicts promise, counted over simulated comparisons: false positives, power in the rounds asked for, coverage.
// Prints a markdown table. Arguments: trials (default 2000).
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "validate/simulation.h"

namespace {

using namespace warpmark::validate;
using warpmark::Interleave;

void print_false_positives(int trials) {
  fmt::print("Equal arms called better or worse (effect 1 %, spread of a run 3 %, {} trials):\n\n", trials);
  fmt::print("| noise | pair, stopped when decided (40) | pair, fixed (20) | block (20) | not interleaved (20) |\n");
  fmt::print("| --- | --- | --- | --- | --- |\n");
  for (const Noise noise : kNoises) {
    const SimulationOptions base{.noise = noise, .cv = 0.03, .effect = 0.01, .rounds = 40, .trials = trials};
    auto fixed = base, block = base, none = base;
    fixed.rounds = block.rounds = none.rounds = 20;
    fixed.stop_early = false;
    block.interleave = Interleave::block;
    none.interleave = Interleave::none;
    fmt::print("| {} |", name_of(noise));
    for (const auto& options : {base, fixed, block, none}) {
      const auto found = simulate(options);
      fmt::print(" {:.1f} % |", (found.better + found.worse) * 100);
    }
    fmt::print("\n");
  }
}

void print_power(int trials) {
  constexpr double kEffect = 0.02;
  fmt::print("\nVerdicts in the rounds asked for (effect 2 %, spread of a run 2 %):\n\n");
  fmt::print("| noise | rounds asked for | B 2 % slower: worse | rounds used | equal: same | rounds used |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- |\n");
  for (const Noise noise : kNoises) {
    const double spread = round_spread(noise, 0.02, Interleave::pair);
    const auto rounds = rounds_needed(spread, std::log1p(kEffect), {.effect = kEffect});
    SimulationOptions options{.noise = noise, .cv = 0.02, .effect = kEffect, .rounds = rounds, .trials = trials};
    const auto equal = simulate(options);
    options.true_ratio = 1 + kEffect;
    const auto slower = simulate(options);
    fmt::print("| {} | {} | {:.1f} % | {:.1f} | {:.1f} % | {:.1f} |\n", name_of(noise), rounds, slower.worse * 100,
               slower.mean_rounds, equal.same * 100, equal.mean_rounds);
  }
}

void print_coverage(int trials) {
  fmt::print(
      "\nIntervals of 95 % that hold the true ratio (B 3 % slower, spread of a run 3 %, at most 25 rounds):\n\n");
  fmt::print("| noise | stopped when decided | fixed |\n| --- | --- | --- |\n");
  for (const Noise noise : kNoises) {
    SimulationOptions options{
        .noise = noise, .cv = 0.03, .true_ratio = 1.03, .effect = 0.01, .rounds = 25, .trials = trials};
    const auto sequential = simulate(options);
    options.stop_early = false;
    const auto fixed = simulate(options);
    fmt::print("| {} | {:.1f} % | {:.1f} % |\n", name_of(noise), sequential.covered * 100, fixed.covered * 100);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int trials = argc > 1 ? std::atoi(argv[1]) : 2000;
  if (trials < 1) {
    fmt::print(stderr, "usage: verdict_simulation [TRIALS]\n");
    return 2;
  }
  print_false_positives(trials);
  print_power(trials);
  print_coverage(trials);
  return 0;
}
