#include "validate/guard/bisect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/run_query.h"
#include "stats/distributions.h"
#include "stats/random.h"
#include "stats/summary.h"
#include "stats/tests/compare.h"
#include "stats/tests/sequential.h"

namespace warpmark::validate {
namespace {

/// Bits that a yes or no of this probability tells.
double entropy(double p) {
  if (p <= 0 || p >= 1) return 0;
  return -p * std::log2(p) - (1 - p) * std::log2(1 - p);
}

/// Squared deviations from the mean of the points on one side of a step.
double squares_of(std::span<const CommitResult> points, std::size_t step, bool after) {
  double n = 0, sum = 0, squares = 0;
  for (const auto& point : points) {
    if ((point.index >= step) != after) continue;
    const double value = std::log(point.value);
    n += 1;
    sum += value;
    squares += value * value;
  }
  return n > 0 ? std::max(0.0, squares - sum * sum / n) : 0;
}

constexpr std::int64_t kRunsPerRound = 4;

/// E-value of `positive` of n signs against "both are as likely": the Beta(1/2, 1/2) mixture of biased coins.
double sign_e_value(std::int64_t positive, std::int64_t n) {
  const auto p = static_cast<double>(positive), q = static_cast<double>(n - positive), count = static_cast<double>(n);
  const double log_mixture = std::lgamma(p + 0.5) + std::lgamma(q + 0.5) - std::lgamma(count + 1) - std::log(M_PI);
  return std::exp(std::min(log_mixture + count * M_LN2, 700.0));
}

/// Chance that the true mean is above 0, by the t distribution around the mean found.
double chance_above_zero(const stats::SequentialTest& test) {
  if (test.n < 3) return 0.5;
  if (test.stdev == 0) return test.mean > 0 ? 1 : test.mean < 0 ? 0 : 0.5;
  const double t = test.mean / test.stdev * std::sqrt(static_cast<double>(test.n));
  const double tail = stats::t_tail(std::fabs(t), static_cast<double>(test.n - 1));
  return t > 0 ? 1 - tail : tail;
}

Result<double> log_of(const Run& run, const std::string& variant) {
  WM_CHECK(!run.metrics.empty());
  const double value = stats::median(run.metrics.front().samples);
  if (value > 0 && std::isfinite(value)) return std::log(value);
  return data_error(
      fmt::format("{}: {} is {:g}; a ratio needs values above 0", variant, run.metrics.front().id, value));
}

class ProbeRunner {
 public:
  ProbeRunner(const Variant& good, const Variant& bad, const Variant& candidate, const ProbeOptions& options,
              const std::function<Status(const AbSample&)>& sample_done)
      : variants_{&good, &bad, &candidate}, options_(options), sample_done_(sample_done) {}

  Result<ProbeOutcome> run(std::vector<AbSample> known) {
    samples_ = std::move(known);
    WM_TRY(check_known());
    WM_ASSIGN(bool more, goes_on());
    if (more) WM_TRY(warm_up());
    while (more && !outcome_.unmeasurable && !must_stop()) {
      WM_TRY(run_slot());
      WM_ASSIGN(more, goes_on());
    }
    outcome_.runs = static_cast<std::int64_t>(samples_.size());
    outcome_.complete = !more || outcome_.unmeasurable.has_value();
    return std::move(outcome_);
  }

 private:
  [[nodiscard]] bool must_stop() const { return options_.must_stop && options_.must_stop(); }
  [[nodiscard]] std::int64_t next_slot() const { return static_cast<std::int64_t>(samples_.size()); }

  [[nodiscard]] Status check_known() const {
    for (std::int64_t i = 0; i < next_slot(); ++i) {
      const Slot planned = probe_slot(options_.seed, i), found = samples_[static_cast<std::size_t>(i)].slot;
      if (planned.variant == found.variant && planned.round == found.round) continue;
      return data_error(fmt::format("sample {} is of another schedule", i), "start over with --fresh");
    }
    return {};
  }

  Result<bool> goes_on() {
    const auto done = next_slot();
    if (done % kRunsPerRound != 0) return true;
    WM_ASSIGN(outcome_.evidence, judge_probe(samples_, options_));
    return !outcome_.evidence.decided && done < options_.rounds * kRunsPerRound;
  }

  Status warm_up() {
    for (std::int64_t i = 0; i < options_.warmup_runs && !must_stop() && !outcome_.unmeasurable; ++i) {
      WM_ASSIGN([[maybe_unused]] const auto discarded, run_variant(kCandidateVariant));
    }
    return {};
  }

  /// Nothing where it was stopped or the candidate failed.
  Result<std::optional<Run>> run_variant(int number) {
    const Variant& variant = *variants_[number];
    auto run = variant.experiment->run(variant.config);
    if (run.ok() && is_measured(run->outcome)) return std::optional(*run);
    if (must_stop()) return std::optional<Run>{};
    Error error = run.ok() ? data_error(run->reason, run->hint) : run.error();
    // A wrong setting or our own bug is not the commit's fault.
    const bool of_commit = error.kind == ErrorKind::data || error.kind == ErrorKind::environment;
    if (number == kCandidateVariant && of_commit) {
      outcome_.unmeasurable = std::move(error);
      return std::optional<Run>{};
    }
    error.what = variant.name + ": " + error.what;
    return error;
  }

  Status run_slot() {
    const Slot slot = probe_slot(options_.seed, next_slot());
    WM_ASSIGN(auto run, run_variant(slot.variant));
    if (!run) return {};
    AbSample sample{slot, std::move(*run)};
    if (sample_done_) WM_TRY(sample_done_(sample));
    samples_.push_back(std::move(sample));
    return {};
  }

  const Variant* variants_[3];
  const ProbeOptions& options_;
  const std::function<Status(const AbSample&)>& sample_done_;
  std::vector<AbSample> samples_;
  ProbeOutcome outcome_;
};

}  // namespace

CulpritSearch::CulpritSearch(std::size_t n, double error, std::span<const double> prior)
    : error_(error), weights_(n + 1, 0), state_(n + 1, State::unknown) {
  WM_CHECK(n >= 1 && error > 0 && error < 0.5 && (prior.empty() || prior.size() == n));
  for (std::size_t k = 1; k <= n; ++k) weights_[k] = prior.empty() ? 1 : prior[k - 1];
  state_.front() = state_.back() = State::asked;
  normalize();
}

void CulpritSearch::normalize() {
  double sum = 0;
  for (const double weight : weights_) sum += weight;
  WM_CHECK(sum > 0);
  for (double& weight : weights_) weight /= sum;
}

void CulpritSearch::answer(std::size_t index, double bad_probability) {
  WM_CHECK(index > 0 && index + 1 < state_.size());
  state_[index] = State::asked;
  const double bad = std::clamp(bad_probability, error_, 1 - error_);
  for (std::size_t k = 1; k < weights_.size(); ++k) weights_[k] *= k <= index ? bad : 1 - bad;
  normalize();
}

void CulpritSearch::skip(std::size_t index) {
  WM_CHECK(index > 0 && index + 1 < state_.size());
  state_[index] = State::skipped;
}

void CulpritSearch::confirm(const Suspects& suspects, bool differs) {
  for (std::size_t k = 1; k < weights_.size(); ++k) {
    const bool suspect = k >= suspects.first && k <= suspects.last;
    weights_[k] *= suspect == differs ? 1 - error_ : error_;
  }
  normalize();
}

Suspects CulpritSearch::best() const {
  Suspects best, current{.first = 1, .last = 1};
  for (std::size_t k = 1; k < weights_.size(); ++k) {
    if (k == 1 || !skipped(k - 1)) current = {.first = k, .last = k};
    current.last = k;
    current.probability += weights_[k];
    const bool complete = k + 1 == weights_.size() || !skipped(k);
    if (complete && current.probability > best.probability) best = current;
  }
  return best;
}

Suspects CulpritSearch::credible(double probability) const {
  Suspects set = best();
  while (set.probability < probability) {
    const double before = set.first > 1 ? weights_[set.first - 1] : -1;
    const double after = set.last + 1 < weights_.size() ? weights_[set.last + 1] : -1;
    if (before < 0 && after < 0) break;
    if (before > after) {
      --set.first;
      set.probability += before;
    } else {
      ++set.last;
      set.probability += after;
    }
  }
  return set;
}

double CulpritSearch::chance_to_work(std::size_t index) const {
  // The gap between the nearest measured neighbours is the scale: near a broken commit most of a wide gap is left.
  std::size_t low = index, high = index, nearest = state_.size();
  while (state_[low] != State::asked) {
    if (skipped(low)) nearest = std::min(nearest, index - low);
    --low;
  }
  while (state_[high] != State::asked) {
    if (skipped(high)) nearest = std::min(nearest, high - index);
    ++high;
  }
  if (nearest == state_.size()) return 1;
  const double scale = std::max(1.0, static_cast<double>(high - low) / 8);
  return 1 - 0.75 * std::exp(-(static_cast<double>(nearest) - 1) / scale);
}

std::optional<std::size_t> CulpritSearch::next() const {
  std::optional<std::size_t> chosen;
  double most = 1e-9, bad = 0;
  for (std::size_t index = 1; index + 1 < weights_.size(); ++index) {
    bad += weights_[index];
    if (state_[index] != State::unknown) continue;
    const double use = entropy(bad) * chance_to_work(index);
    if (use <= most) continue;
    most = use;
    chosen = index;
  }
  return chosen;
}

std::vector<double> prior_from_history(std::size_t n, std::span<const CommitResult> points) {
  constexpr std::size_t kFewest = 4;
  constexpr double kAllAlike = 0.1;
  if (points.size() < kFewest || n < 2) return {};
  const double flat = squares_of(points, 0, true);
  if (!(flat > 0)) return {};
  std::vector<double> weights;
  double sum = 0;
  const auto count = static_cast<double>(points.size());
  for (std::size_t k = 1; k <= n; ++k) {
    // A floor under the rest: agreement to the last digit is no infinite certainty.
    const double rest = std::max(squares_of(points, k, false) + squares_of(points, k, true), flat * 1e-6);
    weights.push_back(std::pow(flat / rest, count / 2));
    sum += weights.back();
  }
  for (double& weight : weights) {
    weight = (1 - kAllAlike) * weight / sum + kAllAlike / static_cast<double>(n);
  }
  return weights;
}

Slot probe_slot(std::uint64_t seed, std::int64_t index) {
  const std::int64_t round = index / kRunsPerRound, place = index % kRunsPerRound;
  int order[] = {kGoodVariant, kBadVariant, kCandidateVariant, kCandidateVariant};
  const auto stream = stats::derive_seed(seed, static_cast<std::uint64_t>(round));
  for (std::size_t i = kRunsPerRound - 1; i > 0; --i) {
    std::swap(order[i], order[static_cast<std::size_t>(stats::random_unit(stream, i) * static_cast<double>(i + 1))]);
  }
  return {.variant = order[place], .round = round, .ends_round = place == kRunsPerRound - 1};
}

Result<ProbeEvidence> judge_probe(std::span<const AbSample> samples, const ProbeOptions& options) {
  ProbeEvidence evidence;
  std::vector<double> contrasts, good, candidate;
  double contrast = 0;
  std::int64_t positive = 0;
  for (const auto& sample : samples.first(samples.size() - samples.size() % kRunsPerRound)) {
    const bool is_candidate = sample.slot.variant == kCandidateVariant;
    WM_ASSIGN(const double value, log_of(sample.run, is_candidate ? "the candidate" : "a reference"));
    if (is_candidate) candidate.push_back(value);
    if (sample.slot.variant == kGoodVariant) good.push_back(value);
    contrast += (is_candidate ? 0.5 : -0.5) * value;
    if (!sample.slot.ends_round) continue;
    contrasts.push_back(options.bad_is_higher ? contrast : -contrast);
    positive += contrasts.back() > 0 ? 1 : 0;
    contrast = 0;
  }
  const auto n = static_cast<std::int64_t>(contrasts.size());
  evidence.rounds = n;
  if (n == 0) return evidence;
  const auto test = stats::sequential_t(contrasts, {.alpha = options.alpha});
  evidence.mean = test.mean;
  evidence.bad_probability = chance_above_zero(test);
  evidence.ratio_to_good = stats::ratio_of_log(stats::median(candidate) - stats::median(good));
  // The t test's own e-value, or what it believes of it: p never falls below that of n equal signs.
  const double of_mean = std::min(test.e_value, 1 / test.p);
  evidence.e_value = (of_mean + sign_e_value(positive, n)) / 2;
  const bool agree = (test.mean > 0) == (2 * positive > n);
  evidence.decided = evidence.e_value >= 1 / options.alpha && agree && test.mean != 0;
  if (evidence.decided) evidence.bad_probability = test.mean > 0 ? 1 : 0;
  return evidence;
}

Result<ProbeOutcome> run_probe(const Variant& good, const Variant& bad, const Variant& candidate,
                               const ProbeOptions& options, std::vector<AbSample> known,
                               const std::function<Status(const AbSample&)>& sample_done) {
  return ProbeRunner(good, bad, candidate, options, sample_done).run(std::move(known));
}

}  // namespace warpmark::validate
