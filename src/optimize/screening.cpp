#include "optimize/screening.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "stats/distributions.h"

namespace warpmark::optimize {
namespace {

constexpr std::int64_t kArmsWithoutKnob = 2;
constexpr std::int64_t kFewestRounds =
    5;  // that are judged; the first of all is for practice: kernels are chosen in it
constexpr std::int64_t kMostRounds = 20;
constexpr double kBlockTime = 0.1;  // seconds, of long steps a few
constexpr std::int64_t kFewestSteps = 3, kMostSteps = 200;

struct Mean {
  double value = 0;
  double error = 0;  ///< standard error
  std::size_t count = 0;
};

Mean mean_of(const std::vector<double>& values) {
  Mean mean{.count = values.size()};
  const auto n = static_cast<double>(values.size());
  for (const double value : values) mean.value += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean.value) * (value - mean.value);
  if (values.size() > 1) mean.error = std::sqrt(squares / (n - 1) / n);
  return mean;
}

/// Half of the interval that covers with the confidence, by Student's t.
double half_width(const Mean& mean, double confidence) {
  return stats::t_quantile_of_tail((1 - confidence) / 2, static_cast<double>(mean.count - 1)) * mean.error;
}

/// Logarithms of the time of a sample, or of a step where batches do not tell; by round, then by arm.
std::map<std::int64_t, std::map<std::int64_t, double>> times_of(const workers::ProgramReport& report) {
  const bool sampled =
      std::all_of(report.blocks.begin(), report.blocks.end(), [](const auto& b) { return b.samples > 0; });
  std::map<std::int64_t, std::map<std::int64_t, double>> times;
  for (const auto& block : report.blocks) {
    if (block.round < 1) continue;
    times[block.round][block.arm] =
        std::log(block.seconds / static_cast<double>(sampled ? block.samples : block.steps));
  }
  std::erase_if(times, [](const auto& round) { return !round.second.contains(0) || !round.second.contains(1); });
  return times;
}

/// Why the noise is more than the rounds show: the two arms without a knob are not the same. Empty: they are.
std::string disturbed(const std::map<std::int64_t, std::map<std::int64_t, double>>& times, double effect) {
  std::vector<double> differences;
  for (const auto& [round, arms] : times) differences.push_back(arms.at(1) - arms.at(0));
  const auto mean = mean_of(differences);
  constexpr double kSure = 0.99;
  if (std::fabs(mean.value) < std::log1p(effect) / 2 || std::fabs(mean.value) < half_width(mean, kSure)) return {};
  return fmt::format("blocks without a knob differ by {:.2g} %: nothing is discarded",
                     std::expm1(std::fabs(mean.value)) * 100);
}

void judge(Screened& screened, const std::vector<double>& gains, double effect, bool trusted) {
  constexpr double kConfidence = 0.95;
  const auto mean = mean_of(gains);
  const double half = half_width(mean, kConfidence);
  const SpeedUp gain{std::exp(mean.value), std::exp(mean.value - half), std::exp(mean.value + half), kConfidence};
  screened.gain = gain;
  screened.rounds = static_cast<std::int64_t>(gains.size());
  screened.discard = trusted && gain.high < 1 + effect;
  screened.text = fmt::format("{:.4g}x ({:.4g} to {:.4g}) in {} rounds", gain.ratio, gain.low, gain.high, gains.size());
}

}  // namespace

std::optional<workers::ScreeningPlan> plan_screening(std::vector<Setting> settings, const ScreeningLimits& limits,
                                                     std::uint64_t seed) {
  if (settings.empty() || !(limits.step_s > 0)) return std::nullopt;
  workers::ScreeningPlan plan{.seed = seed};
  plan.block_steps =
      std::clamp(static_cast<std::int64_t>(std::ceil(kBlockTime / limits.step_s)), kFewestSteps, kMostSteps);
  plan.wash_steps = std::max<std::int64_t>(2, plan.block_steps / 4);
  const auto arms = static_cast<std::int64_t>(settings.size()) + kArmsWithoutKnob;
  const auto steps_a_round = arms * (plan.block_steps + plan.wash_steps);
  const double round_s = static_cast<double>(steps_a_round) * limits.step_s;
  double rounds = limits.most_s / round_s;
  if (limits.most_steps > 0) {
    rounds = std::min(rounds, static_cast<double>(limits.most_steps) / static_cast<double>(steps_a_round));
  }
  constexpr double kFewest = kFewestRounds + 1;
  if (rounds < kFewest || limits.left_s < kFewest * round_s) return std::nullopt;
  const double wanted = std::clamp(limits.wanted_s / round_s, kFewest, static_cast<double>(kMostRounds));
  plan.rounds = static_cast<std::int64_t>(std::min(rounds, wanted));
  // Knobs may be many times slower, which is no reason to wait for them.
  if (!limits.several_ranks) {
    plan.most_s = std::min({limits.most_s, limits.left_s, 2 * static_cast<double>(plan.rounds) * round_s});
  }
  for (auto& setting : settings) plan.switches.emplace_back(std::move(setting.knob), std::move(setting.value));
  return plan;
}

double planned_s(const workers::ScreeningPlan& plan, double step_s) {
  const auto arms = static_cast<std::int64_t>(plan.switches.size()) + kArmsWithoutKnob;
  return static_cast<double>(plan.rounds * arms * (plan.block_steps + plan.wash_steps)) * step_s;
}

std::vector<Screened> judge_screening(const workers::ScreeningPlan& plan, const workers::ProgramReport& report,
                                      double effect, bool failed) {
  const auto times = times_of(report);
  const auto disturbance = times.size() < kFewestRounds ? std::string() : disturbed(times, effect);
  std::vector<Screened> all;
  for (std::size_t i = 0; i < plan.switches.size(); ++i) {
    const auto arm = static_cast<std::int64_t>(i) + kArmsWithoutKnob;
    Screened screened{.setting = {plan.switches[i].first, plan.switches[i].second}};
    std::vector<double> gains;
    for (const auto& [round, arms] : times) {
      const auto own = arms.find(arm);
      if (own != arms.end()) gains.push_back((arms.at(0) + arms.at(1)) / 2 - own->second);
    }
    for (const auto& state : report.switches) {
      if (state.arm == arm) screened.text = state.said;
    }
    if (screened.text.empty() && failed && report.switched_last == arm)
      screened.text = "the program failed while it was on";
    // Ranks that failed may have been out of step, so that the blocks of this one say nothing.
    if (screened.text.empty() && failed && report.world > 1)
      screened.text = "the program failed, which has several ranks";
    if (screened.text.empty() && gains.size() < kFewestRounds) {
      screened.text = fmt::format("only {} rounds were made", gains.size());
    }
    if (screened.text.empty()) {
      judge(screened, gains, effect, disturbance.empty());
      if (!disturbance.empty()) screened.text += "; " + disturbance;
    }
    all.push_back(std::move(screened));
  }
  return all;
}

}  // namespace warpmark::optimize
