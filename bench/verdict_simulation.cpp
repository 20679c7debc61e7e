// What verdicts promise, counted over simulated comparisons: false positives, power in the rounds asked for, coverage.
// Prints a markdown table. Arguments: trials (default 2000).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "arguments.h"
#include "validate/simulation.h"

namespace {

using namespace warpmark::validate;
using warpmark::Interleave;
using warpmark::name_of;

constexpr int kMoreTrials = 10;  // of comparisons that are judged once, at the end

void print_false_positives(int trials) {
  fmt::print(
      "Equal variants called better or worse (effect 1 %, spread of a run 3 %, {} trials, {} of a fixed number):\n\n",
      trials, kMoreTrials * trials);
  fmt::print("| noise | pair, stopped when decided (40) | pair, fixed (20) | block (20) | not interleaved (20) |\n");
  fmt::print("| --- | --- | --- | --- | --- |\n");
  for (const Noise noise : kNoises) {
    const SimulationOptions base{.noise = noise, .cv = 0.03, .effect = 0.01, .rounds = 40, .trials = trials};
    auto fixed = base, block = base, none = base;
    fixed.rounds = block.rounds = none.rounds = 20;
    fixed.stop_early = false;
    fixed.trials = none.trials = kMoreTrials * trials;
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

constexpr double kEffect = 0.02;

/// What both variants being equal, and B being worse by what matters, end in.
template <typename Simulate>
void print_both(SimulationOptions options, const Simulate& simulate_one) {
  options.true_ratio = 1 + kEffect;
  const auto slower = simulate_one(options);
  options.true_ratio = 1;
  const auto equal = simulate_one(options);
  fmt::print(" {:.1f} % | {:.1f} | {:.1f} % | {:.1f} |", slower.worse * 100, slower.mean_rounds, equal.same * 100,
             equal.mean_rounds);
}

void print_power(int trials) {
  fmt::print("\nVerdicts in the rounds that a known spread needs (effect 2 %, spread of a run 2 %):\n\n");
  fmt::print("| noise | rounds | B 2 % slower: worse | rounds used | equal: same | rounds used |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- |\n");
  for (const Noise noise : kNoises) {
    const auto rounds = rounds_needed(spread_of_pairs(noise, 0.02), std::log1p(kEffect), {.effect = kEffect});
    fmt::print("| {} | {} |", name_of(noise), rounds);
    print_both({.noise = noise, .cv = 0.02, .effect = kEffect, .rounds = rounds, .trials = trials}, simulate);
    fmt::print("\n");
  }
}

void print_asking(int trials) {
  fmt::print(
      "\nThe same after a comparison of few rounds and, where it was inconclusive, one of as many as it asked for:");
  fmt::print(
      "\n\n| noise | first rounds | inconclusive | rounds asked for, in all | B 2 % slower: worse | rounds used "
      "| equal: same | rounds used |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  const auto print_row = [](const std::string& name, const SimulationOptions& options) {
    const auto asking = simulate_asking(options);
    fmt::print("| {} | {} | {:.1f} % | {:.0f} |", name, options.rounds, asking.asked * 100, asking.mean_asked);
    print_both(options, simulate_asking);
    fmt::print("\n");
  };
  for (const Noise noise : kNoises) {
    for (const std::int64_t rounds : {10, 30}) {
      print_row(name_of(noise), {.noise = noise, .cv = 0.02, .effect = kEffect, .rounds = rounds, .trials = trials});
    }
  }
  print_row("iid, spread 6 %", {.cv = 0.06, .effect = kEffect, .rounds = 10, .trials = std::max(1, trials / 20)});
}

void print_metrics(int trials) {
  fmt::print("\nOne of several metrics differs by 2 % (effect 2 %, spread of a run 2 %, iid, at most 100 rounds):\n\n");
  fmt::print("| metrics | it is called worse | rounds used | any other one is called better or worse |\n");
  fmt::print("| --- | --- | --- | --- |\n");
  for (const int metrics : {1, 3, 10, 30}) {
    const auto found = simulate({.noise = Noise::iid,
                                 .cv = 0.02,
                                 .true_ratio = 1 + kEffect,
                                 .effect = kEffect,
                                 .rounds = 100,
                                 .metrics = metrics,
                                 .trials = trials});
    fmt::print("| {} | {:.1f} % | {:.1f} | {:.1f} % |\n", metrics, found.worse * 100, found.mean_rounds,
               found.other_alarms * 100);
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
    options.trials *= kMoreTrials;
    const auto fixed = simulate(options);
    fmt::print("| {} | {:.1f} % | {:.1f} % |\n", name_of(noise), sequential.covered * 100, fixed.covered * 100);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "verdict_simulation [TRIALS]   prints its tables, of 2000 trials unless told otherwise";
  if (const auto code = warpmark::bench::end_with_usage(argc, argv, usage, 0, 1)) return *code;
  const auto wanted = warpmark::bench::count_at(1, argc, argv, 2000);
  if (!wanted) return 2;
  const int trials = static_cast<int>(*wanted);
  print_false_positives(trials);
  print_power(trials);
  print_asking(trials);
  print_metrics(std::max(1, trials / 10));
  print_coverage(trials);
  return 0;
}
