#include "optimize/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/units.h"
#include "stats/distributions.h"
#include "stats/summary.h"

namespace warpmark::optimize {
namespace {

using workers::ProgramReport;

constexpr double kNoiseFactor = 3;    // of what a few repeated baselines happened to differ by
constexpr double kMostChance = 0.05;  // that a difference of means may be put down to
constexpr double kLeast = 1e-30;      // a scale of 0 would make every difference infinite
/// Differences that the original makes by itself are allowed up to here. A larger one proves nothing: it is reported as
/// not checked.
constexpr double kMostOutputs = 0.1, kMostGradients = 0.5, kMostLoss = 0.1;

struct Limits {
  double first = 0;  ///< of each of the first steps; infinite: not judged
  double trend = 0;  ///< of the mean over the last third
};

/// Small ones with their digits: limits of exact settings are below what a table shows.
std::string percent(double ratio) {
  return ratio > 0 && ratio < 0.001 ? fmt::format("{:.2g} %", 100 * ratio) : format_percent(ratio);
}

Limits limits_of(Numerics numerics, double margin) {
  constexpr double kNotJudged = std::numeric_limits<double>::infinity();
  switch (numerics) {
    case Numerics::exact: return {1e-6, 1e-4};
    case Numerics::rounding: return {1e-3, margin};
    case Numerics::rounding_of_16_bits: return {1e-2, margin};
    case Numerics::precision: return {2e-2, margin};
    case Numerics::random_streams:
    case Numerics::semantic: return {kNotJudged, margin};
  }
  return {1e-6, 1e-4};
}

/// Of several the widest, each for itself.
Limits limits_of(const NumericsSet& set, double margin) {
  Limits widest;
  for (const auto one : kAllNumerics) {
    if (!set.has(one)) continue;
    const Limits limits = limits_of(one, margin);
    widest.first = std::max(widest.first, limits.first);
    widest.trend = std::max(widest.trend, limits.trend);
  }
  return widest;
}

std::size_t first_of_last_third(std::size_t n) { return n - std::max<std::size_t>(1, n / 3); }

double mean_of_last_third(const std::vector<double>& values, std::size_t n) {
  const auto first = first_of_last_third(n);
  double sum = 0;
  for (std::size_t i = first; i < n; ++i) sum += values[i];
  return sum / static_cast<double>(n - first);
}

double scale_of(const std::vector<double>& values, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += std::fabs(values[i]);
  return std::max(sum / static_cast<double>(n), kLeast);
}

/// The largest of the first losses. Before the very first nothing was updated; the next two show whether a setting that
/// was not compared at the same state trains on the same samples.
double first_difference(const std::vector<double>& a, const std::vector<double>& b, std::size_t steps) {
  double most = 0;
  for (std::size_t i = 0; i < std::min({steps, a.size(), b.size()}); ++i) {
    most = std::max(most, std::fabs(a[i] - b[i]) / std::max(std::fabs(a[i]), kLeast));
  }
  return most;
}

double trend_difference(const std::vector<double>& a, const std::vector<double>& b, std::size_t n) {
  return std::fabs(mean_of_last_third(a, n) - mean_of_last_third(b, n)) / scale_of(a, n);
}

/// What the means of the last third may differ by in another draw of the same data, as a ratio, with 99 % confidence.
/// Losses of successive steps resemble each other (those of a GAN wander), so the larger of the value of independent
/// steps and that of the means of five batches (Schmeiser 1982, Oper. Res. 30(3):556).
double chance_difference(const std::vector<double>& a, const std::vector<double>& b, std::size_t n) {
  constexpr std::size_t kBatches = 5;
  constexpr double kTail = 0.005;
  std::vector<double> differences;
  for (std::size_t i = first_of_last_third(n); i < n; ++i) differences.push_back(b[i] - a[i]);
  const auto error_of_means = [&](std::size_t size) {
    std::vector<double> means;
    for (std::size_t i = 0; i + size <= differences.size(); i += size) {
      const auto batch = std::span(differences).subspan(i, size);
      means.push_back(std::accumulate(batch.begin(), batch.end(), 0.0) / static_cast<double>(size));
    }
    const auto [count, mean, squares] = stats::moments_of(means);
    return count < 2 ? 0 : std::sqrt(squares / (count - 1) / count);
  };
  double chance = kNoiseFactor * error_of_means(1);
  if (const auto size = differences.size() / kBatches; size > 1) {
    chance = std::max(chance, stats::t_quantile_of_tail(kTail, kBatches - 1) * error_of_means(size));
  }
  return chance / scale_of(a, n);
}

std::size_t first_not_finite(const std::vector<double>& values) {
  const auto found = std::find_if(values.begin(), values.end(), [](double v) { return !std::isfinite(v); });
  return static_cast<std::size_t>(found - values.begin());
}

AnswerVerdict refused(std::string kind, std::string text) {
  return {.same = false, .check = {.kind = std::move(kind), .difference = 0, .allowed = 0, .text = std::move(text)}};
}

AnswerVerdict not_checked(std::string why) {
  return {.same = true, .check = {.kind = "none", .difference = 0, .allowed = 0, .text = std::move(why)}};
}

/// As of a GAN: several optimizers, and more losses than steps. Its losses are no measure of what was learned.
bool has_opponents(const ProgramReport& report) {
  return report.optimizers.size() > 1 && report.losses.size() > report.steps.size() + report.steps.size() / 2;
}

AnswerVerdict judge_losses(std::span<const ProgramReport> baselines, const ProgramReport& candidate,
                           const NumericsSet& numerics, const AnswerOptions& options) {
  const auto& b = candidate.losses;
  std::size_t n = b.size(), finite = std::numeric_limits<std::size_t>::max();
  for (const auto& baseline : baselines) {
    n = std::min(n, baseline.losses.size());
    finite = std::min(finite, first_not_finite(baseline.losses));
  }
  if (const auto broken = first_not_finite(b); broken < n && broken < finite) {
    return refused("losses", fmt::format("the loss of step {} is no number any more", broken + 1));
  }
  n = std::min(n, std::min(finite, first_not_finite(b)));
  if (n == 0) return refused("losses", "no step has a loss that can be compared");
  const auto& a = baselines.front().losses;
  const std::size_t first_steps = options.state_checked ? 1 : 3;
  double first_noise = 0, trend_noise = 0;
  for (std::size_t i = 0; i < baselines.size(); ++i) {
    for (std::size_t j = i + 1; j < baselines.size(); ++j) {
      first_noise = std::max(first_noise, first_difference(baselines[i].losses, baselines[j].losses, first_steps));
      trend_noise = std::max(trend_noise, trend_difference(baselines[i].losses, baselines[j].losses, n));
    }
  }
  const Limits limits = limits_of(numerics, options.margin);
  const double first = first_difference(a, b, first_steps), first_allowed = limits.first + kNoiseFactor * first_noise;
  if (first > first_allowed) {
    return {.same = false,
            .check = {.kind = "losses",
                      .difference = first,
                      .allowed = first_allowed,
                      .text = fmt::format("the first losses differ by {} (allowed: {})", percent(first),
                                          percent(first_allowed))}};
  }
  if (options.state_checked && has_opponents(baselines.front())) {
    return {.same = true,
            .check = {.kind = "losses",
                      .difference = first,
                      .allowed = first_allowed,
                      .text = fmt::format("the losses of {} backward passes are finite (not compared further: the "
                                          "program has several optimizers, as a GAN)",
                                          n)}};
  }
  double allowed = limits.trend + kNoiseFactor * trend_noise;
  if (!numerics.only_exact()) {
    const double chance = chance_difference(a, b, n);
    allowed += options.state_checked ? chance : std::min(kMostChance, chance);
  }
  double difference = trend_difference(a, b, n);
  const double most = std::max(kMostLoss, limits.trend);
  // A lower loss is as suspicious as a higher one, but of a training that was meant to become another.
  if (numerics.has(Numerics::semantic) && mean_of_last_third(b, n) < mean_of_last_third(a, n)) difference = 0;
  if (difference > most && difference <= allowed) {
    return not_checked(
        fmt::format("the mean loss of the last third of {} steps differs by {}, and the original may "
                    "differ as much by chance (up to {} would be compared)",
                    n, percent(difference), percent(most)));
  }
  allowed = std::min(allowed, most);
  return {
      .same = difference <= allowed,
      .check = {.kind = "losses",
                .difference = difference,
                .allowed = allowed,
                .text = fmt::format("the mean loss of the last third of {} steps differs by {} (allowed: {}; repeated "
                                    "runs of the original differ by {})",
                                    n, percent(difference), percent(allowed), percent(trend_noise))}};
}

/// Relative error of all values of an output together.
double output_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    error += (a[i] - b[i]) * (a[i] - b[i]);
    norm += a[i] * a[i];
  }
  return std::sqrt(error / std::max(norm, kLeast));
}

/// bf16 has 8 bits: sums in another order differ by that in each layer.
double output_limit(const NumericsSet& numerics, bool half) {
  if (numerics.has(Numerics::precision)) return 3e-2;
  const bool rounds = numerics.has(Numerics::rounding) || numerics.has(Numerics::rounding_of_16_bits);
  if (rounds) return half ? 1e-2 : 1e-3;
  return 1e-6;
}

AnswerVerdict judge_outputs(std::span<const ProgramReport> baselines, const ProgramReport& candidate,
                            const NumericsSet& numerics) {
  const auto& a = baselines.front().outputs;
  const auto& b = candidate.outputs;
  const std::size_t n = std::min(a.size(), b.size());
  if (n == 0) return refused("outputs", "there is no output to compare");
  double most = 0, noise = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (a[i].size() != b[i].size()) return refused("outputs", fmt::format("output {} has another size", i + 1));
    if (first_not_finite(b[i]) < first_not_finite(a[i])) {
      return refused("outputs", fmt::format("output {} has values that are no numbers", i + 1));
    }
    if (first_not_finite(a[i]) < a[i].size()) continue;
    most = std::max(most, output_difference(a[i], b[i]));
    for (const auto& other : baselines.subspan(1)) {
      if (i < other.outputs.size() && other.outputs[i].size() == a[i].size()) {
        noise = std::max(noise, output_difference(a[i], other.outputs[i]));
      }
    }
  }
  const double limit = output_limit(numerics, baselines.front().half_outputs);
  const double allowed = limit + kNoiseFactor * noise;
  return {.same = most <= allowed,
          .check = {.kind = "outputs",
                    .difference = most,
                    .allowed = allowed,
                    .text = fmt::format("outputs differ by {}, allowed are {}", percent(most), percent(allowed))}};
}

struct StateLimits {
  Difference difference;
  double cosine = 1;  ///< of the gradients, at least
};

StateLimits state_limits(const NumericsSet& numerics) {
  if (numerics.has(Numerics::precision)) return {{5e-2, 0.3}, 0.95};
  if (numerics.has(Numerics::rounding_of_16_bits)) return {{1e-2, 0.1}, 0.99};
  if (numerics.has(Numerics::rounding)) return {{1e-3, 1e-2}, 0.999};
  return {{1e-6, 1e-5}, 0.99999};
}

/// The median, as the last batch of an epoch may be smaller.
double samples_per_step(const ProgramReport& report) {
  std::vector<double> samples;
  for (const auto& step : report.steps) samples.push_back(static_cast<double>(step.samples));
  return samples.empty() ? 0 : stats::median(samples);
}

}  // namespace

AnswerVerdict judge_state(const StateCheck& check, const NumericsSet& numerics) {
  if (!check.finite_before) {
    return {.same = true, .check = {.kind = kAtSameState, .text = "the original's own outputs are not all finite"}};
  }
  if (!check.finite) return refused(kAtSameState, "outputs or gradients are not finite any more");
  const auto limits = state_limits(numerics);
  // Where random numbers may be drawn in another order, another draw of the original is as far away.
  const bool draws = numerics.has(Numerics::random_streams), rounds = !numerics.only_exact();
  const auto noise_of = [&](double Difference::*part) {
    return std::max(check.noise.*part, rounds ? check.rounding.*part : 0.0);
  };
  const auto allowed = [&](double limit, double noise, double spread) {
    return std::max(limit + kNoiseFactor * noise, draws ? 1.5 * spread : 0.0);
  };
  double outputs = allowed(limits.difference.outputs, noise_of(&Difference::outputs), check.spread.outputs);
  double gradients = allowed(limits.difference.gradients, noise_of(&Difference::gradients), check.spread.gradients);
  const auto passes = [&] {
    const bool direction = check.cosine >= limits.cosine || check.difference.gradients <= gradients;
    return check.difference.outputs <= outputs && (!check.trains || direction);
  };
  const bool by_itself = passes();
  outputs = std::min(outputs, kMostOutputs), gradients = std::min(gradients, kMostGradients);
  const bool same = passes();
  if (by_itself && !same) {
    return not_checked(
        fmt::format("not comparable at the same state: outputs differ by {}, and the original's own "
                    "change as much by another draw or by rounding (up to {} would be compared)",
                    percent(check.difference.outputs), percent(kMostOutputs)));
  }
  std::string text = fmt::format("at the same state outputs differ by {} (allowed: {})",
                                 percent(check.difference.outputs), percent(outputs));
  if (check.trains) {
    text += fmt::format(", gradients by {} (allowed: {}, or a cosine of {:.3g}; it is {:.4f})",
                        percent(check.difference.gradients), percent(gradients), limits.cosine, check.cosine);
  }
  return {
      .same = same,
      .check = {
          .kind = kAtSameState, .difference = check.difference.outputs, .allowed = outputs, .text = std::move(text)}};
}

AnswerVerdict judge_answers(std::span<const ProgramReport> baselines, const ProgramReport& candidate,
                            NumericsSet numerics, const AnswerOptions& options) {
  WM_CHECK(!baselines.empty());
  const auto& a = baselines.front();
  if (!numerics.has(Numerics::semantic)) {
    const double before = samples_per_step(a), after = samples_per_step(candidate);
    if (std::fabs(before - after) > 1e-9 * std::max(before, after)) {
      return refused("samples", fmt::format("a step has {:.4g} samples instead of {:.4g}", after, before));
    }
    if (candidate.ended == "exit" && candidate.steps.size() < a.steps.size()) {
      return refused("samples", fmt::format("it took {} steps instead of {}", candidate.steps.size(), a.steps.size()));
    }
  }
  // Which algorithm a convolution got is chance, and adds up in its own order; few baselines may have drawn the same.
  // What two runs of the original differ by, a single one does not show.
  const bool one_alone = baselines.size() < 2 && !a.losses.empty();
  if (a.benchmarks || candidate.benchmarks || one_alone) numerics.add(Numerics::rounding);
  if (!a.losses.empty()) return judge_losses(baselines, candidate, numerics, options);
  if (!a.outputs.empty()) return judge_outputs(baselines, candidate, numerics);
  return not_checked("the program shows neither losses nor outputs");
}

}  // namespace warpmark::optimize
