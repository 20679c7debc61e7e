// Searches over knobs that change nothing: how often does one end with a plan? Each run of the program is a random time
// (logarithms normal or with bursts), tests are those of `optimize`, and so is the search. Prints a markdown table.
// Arguments: optimizations (default 400).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "arguments.h"
#include "measure/experiment.h"
#include "optimize/outcome.h"
#include "optimize/search.h"
#include "stats/summary.h"
#include "validate/compare/compare_run.h"

namespace {

using namespace warpmark;
using namespace warpmark::optimize;

struct Noise {
  const char* name;
  double cv;
  double burst_chance;  ///< of a run that other load makes a half slower
  double drift;         ///< a run, of a random walk of the logarithm that both variants share
};

class RandomProgram {
 public:
  RandomProgram(const Noise& noise, unsigned seed) : noise_(noise), random_(seed) {}
  double time_s() {
    std::normal_distribution<double> normal;
    level_ += noise_.drift * normal(random_);
    const bool burst = std::uniform_real_distribution<double>(0, 1)(random_) < noise_.burst_chance;
    return std::exp(level_ + noise_.cv * normal(random_)) * (burst ? 1.5 : 1);
  }

 private:
  Noise noise_;
  std::mt19937_64 random_;
  double level_ = 0;
};

class Variant final : public measure::Experiment {
 public:
  Variant(RandomProgram& program, double factor) : program_(program), factor_(factor) {}
  Result<Run> run(const measure::Config& /*config*/) override {
    const double time = program_.time_s() * factor_;
    times.push_back(time);
    Metric metric{.id = "time", .unit = "s", .better = Better::lower, .samples = {time}, .round_sizes = {1}};
    metric.summary = stats::summarize(metric.samples);
    Run run{.workload = "program", .device = "host", .outcome = Outcome::passed};
    run.metrics = {std::move(metric)};
    return run;
  }
  std::vector<double> times;

 private:
  RandomProgram& program_;
  double factor_;
};

/// Settings change nothing but "real=on", which takes a tenth less.
class RandomTrials final : public Trials {
 public:
  RandomTrials(RandomProgram& program, std::uint64_t seed) : program_(program), seed_(seed) {}
  Result<TrialResult> screen(const Settings& /*from*/, const Settings& /*to*/, Numerics /*numerics*/) override {
    return TrialResult{};
  }
  Result<TrialResult> compare(const Settings& from, const Settings& to, Numerics /*numerics*/,
                              bool /*decide*/) override {
    Variant a(program_, factor_of(from)), b(program_, factor_of(to));
    validate::AbOptions test{.effect = 0.01, .alpha = 0.05, .warmup_runs = 0};
    test.schedule.rounds = 12;
    test.schedule.seed = seed_ + 7919 * ++tests_;
    test.further_tests = false;
    WM_ASSIGN(const auto outcome, validate::run_ab({&a, {}, "without"}, {&b, {}, "with"}, test, {}, {}));
    const auto& metric = outcome.comparison.metrics.front();
    TrialResult result;
    result.verdict = metric.verdict;
    if (metric.ratio) result.speedup = SpeedUp{1 / *metric.ratio, 1 / *metric.ratio, 1 / *metric.ratio};
    return result;
  }

 private:
  static double factor_of(const Settings& settings) { return value_of(settings, "real").empty() ? 1 : 0.9; }
  RandomProgram& program_;
  std::uint64_t seed_;
  std::uint64_t tests_ = 0;
};

struct Counts {
  int kept_one = 0;  ///< a knob was kept on the way
  int claimed = 0;   ///< and stood the last test: the optimization claims a gain
  int found_real = 0;
};

Counts simulate(const Noise& noise, int knobs, bool real, int optimizations) {
  Counts counts;
  for (int i = 0; i < optimizations; ++i) {
    RandomProgram program(noise, static_cast<unsigned>(1000 + i));
    RandomTrials trials(program, static_cast<std::uint64_t>(i));
    SearchOptions options;
    options.propose = [&](const ProgramFacts&, const Settings&) {
      std::vector<Proposal> proposals;
      for (int k = 0; k < knobs; ++k) {
        proposals.push_back({.setting = {fmt::format("nothing{}", k), "on"}, .predicted = {1, 1.5, ""}});
      }
      if (real) proposals.push_back({.setting = {"real", "on"}, .predicted = {1, 1.4, ""}});
      return proposals;
    };
    Optimization optimization;
    optimization.baseline.seconds_per_step = 1;
    if (!search(trials, {}, options, optimization).ok()) continue;
    const bool noop = std::any_of(optimization.plan.begin(), optimization.plan.end(),
                                  [](const auto& setting) { return setting.first != "real"; });
    counts.claimed += optimization.optimized && noop ? 1 : 0;
    counts.kept_one += std::any_of(optimization.decisions.begin(), optimization.decisions.end(),
                                   [](const auto& text) {
                                     return text.find("nothing") == 0 && text.find(": kept") != std::string::npos;
                                   })
                           ? 1
                           : 0;
    counts.found_real += std::any_of(optimization.plan.begin(), optimization.plan.end(),
                                     [](const auto& setting) { return setting.first == "real"; })
                             ? 1
                             : 0;
  }
  return counts;
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = warpmark::bench::end_with_usage(argc, argv, "optimization_simulation [JOURNEYS]", 0, 1))
    return *code;
  const auto wanted = warpmark::bench::count_at(1, argc, argv, 400);
  if (!wanted) return 2;
  const int optimizations = static_cast<int>(*wanted);
  const double percent = 100.0 / optimizations;
  fmt::print(
      "| noise of a run | knobs that change nothing | kept on the way | claimed in the end |"
      " beside one that gains 11 %: it is in the plan | with one of the others |\n| --- | --- | --- | --- | --- | --- "
      "|\n");
  for (const Noise& noise : {Noise{"1 %", 0.01, 0, 0}, Noise{"5 %", 0.05, 0, 0}, Noise{"2 %, bursts", 0.02, 0.1, 0},
                             Noise{"2 %, drift", 0.02, 0, 0.01}}) {
    for (const int knobs : {1, 5, 20}) {
      const auto none = simulate(noise, knobs, false, optimizations);
      const auto one = simulate(noise, knobs, true, optimizations);
      fmt::print("| {} | {} | {:.1f} % | {:.1f} % | {:.1f} % | {:.1f} % |\n", noise.name, knobs,
                 none.kept_one * percent, none.claimed * percent, one.found_real * percent, one.claimed * percent);
      std::fflush(stdout);
    }
  }
}
