// What `warpmark check` promises, counted over simulated histories: false alarms, regressions found with as many new
// sessions as it asks for, and what an accepted change of level does. Prints markdown. Arguments: trials (default
// 2000).
#include <fmt/format.h>

#include <algorithm>

#include "arguments.h"
#include "validate/history_simulation.h"

namespace {

using namespace warpmark::validate;
using warpmark::name_of;

void print_false_alarms(int trials) {
  fmt::print("Unchanged programs called worse ({} trials; the smallest threshold, so that noise alone decides):\n\n",
             trials);
  fmt::print("| noise | 12 sessions | 30 | 60 | 30, 3 new sessions | 30, any of 10 metrics | 30, threshold 5 % |\n");
  fmt::print("| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const Noise noise : kNoises) {
    const HistorySimulation base{.noise = noise, .cv = 0.03, .check = {.threshold = 0.001}, .trials = trials};
    auto few = base, many = base, three = base, ten = base, usual = base;
    few.history = 12;
    many.history = 60;
    three.fresh = 3;
    ten.metrics = 10;
    usual.check.threshold = 0.05;
    fmt::print("| {} |", name_of(noise));
    for (const auto& what : {few, base, many, three, ten, usual}) {
      fmt::print(" {:.1f} % |", simulate_history(what).worse * 100);
    }
    fmt::print("\n");
  }
}

void print_power(int trials) {
  fmt::print("\nWith the sessions asked for (threshold 5 %, spread of a session 2 %):\n\n");
  fmt::print("| noise | new sessions asked for | 10 % worse: worse | unchanged: same | 5 % worse: same (missed) |\n");
  fmt::print("| --- | --- | --- | --- | --- |\n");
  for (const Noise noise : kNoises) {
    const auto needed = sessions_asked_for(noise, 0.02);
    HistorySimulation what{.noise = noise, .cv = 0.02, .history = 60, .trials = trials};
    what.fresh = needed.value_or(1);
    what.history = std::max<std::int64_t>(60, 2 * history_needed(what.fresh));
    what.check.most_history = what.history;
    fmt::print("| {} | {} |", name_of(noise), needed ? std::to_string(*needed) : "none is enough");
    what.true_ratio = 1.1025;
    fmt::print(" {:.1f} % |", simulate_history(what).worse * 100);
    what.true_ratio = 1;
    fmt::print(" {:.1f} % |", simulate_history(what).same * 100);
    what.true_ratio = 1.05;
    fmt::print(" {:.1f} % |\n", simulate_history(what).same * 100);
  }
}

void print_accepted(int trials) {
  fmt::print(
      "\nAfter a slow-down of 20 % that was accepted ten sessions ago (threshold 5 %, spread 1 %, 40 sessions):\n\n");
  fmt::print("| noise | unchanged since: worse | same | inconclusive | 10 % worse since: worse |\n");
  fmt::print("| --- | --- | --- | --- | --- |\n");
  for (const Noise noise : kNoises) {
    HistorySimulation what{.noise = noise, .cv = 0.01, .history = 40, .accepted = 1.2, .trials = trials};
    const auto same = simulate_history(what);
    what.true_ratio = 1.1;
    const auto worse = simulate_history(what);
    fmt::print("| {} | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} % |\n", name_of(noise), same.worse * 100,
               same.same * 100, same.inconclusive * 100, worse.worse * 100);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "regression_simulation [TRIALS]   prints its tables, of 2000 trials unless told otherwise";
  if (const auto code = warpmark::bench::end_with_usage(argc, argv, usage, 0, 1)) return *code;
  const auto wanted = warpmark::bench::count_at(1, argc, argv, 2000);
  if (!wanted) return 2;
  const int trials = static_cast<int>(*wanted);
  print_false_alarms(trials);
  print_power(trials);
  print_accepted(trials);
  return 0;
}
