// Rounds until a comparison on a shared machine is decided, beside a Wilcoxon signed-rank test that was told before how
// many rounds it needs: simulated comparisons with bursts of load, two modes, heavy tails and autocorrelation, looked
// at after every round. Prints a markdown table. Arguments: trials (default 2000).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "arguments.h"
#include "stats/random.h"
#include "stats/tests/rank_and_t_tests.h"
#include "stats/tests/sequential.h"
#include "validate/judge/verdict.h"
#include "validate/noise_models.h"

namespace {

using namespace warpmark;
using validate::Noise;

constexpr double kAlpha = 0.05, kPower = 0.9;
constexpr std::int64_t kMostRounds = 600;

struct Setting {
  Noise noise;
  double cv;
  double effect;  ///< the true difference where there is one, and the smallest that matters
};

/// The rounds of one comparison, in random order within each.
struct Rounds {
  std::vector<double> a, b;
};
Rounds rounds_of(const Setting& setting, double ratio, std::uint64_t trial, std::size_t n) {
  const auto seed = stats::derive_seed(20260, trial);
  const auto noise = validate::noise_of(setting.noise, seed, 2 * n, setting.cv);
  Rounds rounds;
  for (std::size_t i = 0; i < n; ++i) {
    const bool b_first = stats::random_bits(seed ^ 0x5bd1e995, i) % 2 == 1;
    rounds.a.push_back(noise[2 * i + (b_first ? 1 : 0)]);
    rounds.b.push_back(ratio * noise[2 * i + (b_first ? 0 : 1)]);
  }
  return rounds;
}

std::vector<double> log_ratios(const Rounds& rounds, std::size_t n) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < n; ++i) logs.push_back(std::log(rounds.b[i] / rounds.a[i]));
  return logs;
}

/// The fewest rounds with which the test finds the effect in 90 % of the comparisons.
std::int64_t fixed_rounds(const Setting& setting, int trials) {
  std::vector<Rounds> made;
  for (int trial = 0; trial < trials; ++trial) {
    made.push_back(rounds_of(setting, 1 + setting.effect, static_cast<std::uint64_t>(trial), kMostRounds));
  }
  std::int64_t low = 6, high = kMostRounds;
  while (low < high) {
    const std::int64_t n = low + (high - low) / 2;
    int found = 0;
    for (const auto& rounds : made) {
      found += stats::wilcoxon_signed_rank(log_ratios(rounds, static_cast<std::size_t>(n))).p <= kAlpha ? 1 : 0;
    }
    if (found >= kPower * trials) {
      high = n;
    } else {
      low = n + 1;
    }
  }
  return low;
}

struct Found {
  double decided = 0, wrong = 0, mean = 0;
  std::int64_t nine_tenths = 0;  ///< rounds by which 90 % had a verdict
};

/// `robust` as compare judges; else the sequential t test alone, by the same rules.
Found sequential(const Setting& setting, double ratio, bool robust, int trials, std::int64_t most) {
  Found found;
  std::vector<std::int64_t> taken;
  for (int trial = 0; trial < trials; ++trial) {
    const auto rounds = rounds_of(setting, ratio, static_cast<std::uint64_t>(trial), static_cast<std::size_t>(most));
    std::int64_t used = most;
    Verdict verdict = Verdict::inconclusive;
    const validate::VerdictOptions options{.effect = setting.effect, .alpha = kAlpha};
    for (std::int64_t n = 7; n <= most; ++n) {
      const auto count = static_cast<std::size_t>(n);
      validate::Effect effect;
      if (robust) {
        effect = validate::effect_of(std::span(rounds.a).first(count), std::span(rounds.b).first(count), options);
      } else {
        const auto test = stats::sequential_t(log_ratios(rounds, count), {.alpha = kAlpha});
        effect = {.n = n,
                  .log_ratio = test.mean,
                  .stdev = test.stdev,
                  .interval = test.interval,
                  .p = test.p,
                  .undefined = {}};
      }
      verdict = validate::verdict_of(effect, effect.p.value_or(1), Better::lower, options);
      used = n;
      if (verdict != Verdict::inconclusive) break;
    }
    taken.push_back(used);
    found.decided += (verdict == (ratio > 1 ? Verdict::worse : Verdict::same)) / static_cast<double>(trials);
    const bool wrong = ratio > 1 ? verdict == Verdict::better || verdict == Verdict::same
                                 : verdict == Verdict::better || verdict == Verdict::worse;
    found.wrong += wrong / static_cast<double>(trials);
    found.mean += static_cast<double>(used) / trials;
  }
  std::sort(taken.begin(), taken.end());
  found.nine_tenths = taken[taken.size() * 9 / 10];
  return found;
}

void print_row(const Setting& setting, int trials) {
  const auto fixed = fixed_rounds(setting, trials);
  fmt::print("| {}, {:.0f} % | {:.0f} % | {} |", name_of(setting.noise), setting.cv * 100,
             setting.effect * 100, fixed);
  for (const bool robust : {false, true}) {
    const auto slower = sequential(setting, 1 + setting.effect, robust, trials, 6 * fixed);
    fmt::print(" {:.1f} | {} | {:.1f} % |", slower.mean, slower.nine_tenths, slower.decided * 100);
    if (robust) fmt::print(" {:.2f} |", slower.mean / static_cast<double>(fixed));
  }
  for (const bool robust : {false, true}) {
    const auto equal = sequential(setting, 1, robust, trials, 4 * fixed);
    fmt::print(" {:.1f} % | {:.1f} |", equal.wrong * 100, equal.mean);
  }
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const char* usage = "robust_simulation [TRIALS]   prints its table, of 2000 trials unless told otherwise";
  if (const auto code = warpmark::bench::end_with_usage(argc, argv, usage, 0, 1)) return *code;
  const auto wanted = warpmark::bench::count_at(1, argc, argv, 2000);
  if (!wanted) return 2;
  const int trials = static_cast<int>(*wanted);
  fmt::print(
      "Rounds to a verdict, looked at after every round (alpha 5 %; B slower by the smallest effect that matters, then "
      "equal).\nFixed: what Wilcoxon's signed ranks need for a power of 90 %, had they known the noise. {} trials.\n\n"
      "| noise of a run, sd | effect | fixed | t: mean | t: 90 % by | t: worse | robust: mean | robust: 90 % by "
      "| robust: worse | robust mean / fixed | t: false alarms | t: rounds, equal | robust: false alarms | robust: "
      "rounds, equal |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
      trials);
  for (const Setting setting :
       {Setting{Noise::iid, 0.02, 0.02}, Setting{Noise::iid, 0.02, 0.01}, Setting{Noise::ar1, 0.05, 0.03},
        Setting{Noise::bimodal, 0.05, 0.05}, Setting{Noise::bimodal, 0.1, 0.05}, Setting{Noise::heavy_tail, 0.05, 0.03},
        Setting{Noise::bursts, 0.12, 0.1}, Setting{Noise::bursts, 0.12, 0.05}, Setting{Noise::bursts, 0.12, 0.03}}) {
    print_row(setting, trials);
  }
  return 0;
}
