#include "validate/guard/bisect_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/clock.h"
#include "stats/random.h"
#include "validate/judge/verdict.h"

namespace warpmark::validate {
namespace {

/// A commit that is built when it first runs, and may fail now and then: a run is repeated, but three failures in a
/// row, or three that are a tenth of all runs, are the commit's nature.
class PatientExperiment final : public measure::Experiment {
 public:
  PatientExperiment(Revisions& revisions, std::size_t index, const std::atomic<bool>* interrupted)
      : revisions_(revisions), index_(index), interrupted_(interrupted) {}

  Result<Run> run(const measure::Config& config) override {
    WM_ASSIGN(auto* const experiment, revisions_.prepare(index_));
    for (std::int64_t in_a_row = 1;; ++in_a_row) {
      auto run = experiment->run(config);
      ++runs_;
      if (run.ok() || run.error().kind != ErrorKind::data) return run;  // a hang would hang again
      if (interrupted_ != nullptr && interrupted_->load()) return run;
      ++failures_;
      if (in_a_row < kMost && (failures_ < kMost || failures_ * 10 < runs_)) continue;
      if (failures_ == runs_) return run;
      return data_error(
          fmt::format("flaky: {} of {} runs failed, the last one as {}", failures_, runs_, run.error().what),
          run.error().hint);
    }
  }

 private:
  static constexpr std::int64_t kMost = 3;
  Revisions& revisions_;
  std::size_t index_;
  const std::atomic<bool>* interrupted_;
  std::int64_t runs_ = 0;
  std::int64_t failures_ = 0;
};

bool increased(const MetricVerdict& metric) { return metric.ratio.value_or(1) > 1; }

ProbeAnswer answer_of(const ProbeEvidence& evidence) {
  if (!evidence.decided) return ProbeAnswer::undecided;
  return evidence.bad_probability > 0.5 ? ProbeAnswer::bad : ProbeAnswer::good;
}

class Bisector {
 public:
  Bisector(const BisectRequest& request, Revisions& revisions, BisectLog& log)
      : request_(request),
        revisions_(revisions),
        log_(log),
        search_(request.commits.size() - 1, std::max(request.alpha / 2, 0.005), request.prior),
        good_(revisions, 0, request.interrupted),
        bad_(revisions, request.commits.size() - 1, request.interrupted) {}

  Result<Bisection> run() {
    begin_s_ = now_s();
    fill_header();
    WM_TRY(check_range());
    if (!result_.stopped_because.empty()) return std::move(result_);
    while (result_.stopped_because.empty()) WM_TRY(step());
    conclude();
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::size_t last() const { return request_.commits.size() - 1; }
  [[nodiscard]] const std::string& sha(std::size_t index) const { return request_.commits[index].sha; }
  [[nodiscard]] double now_s() const {
    return request_.clock_s ? request_.clock_s() : static_cast<double>(monotonic_ns()) * 1e-9;
  }
  [[nodiscard]] bool interrupted() const { return request_.interrupted != nullptr && request_.interrupted->load(); }
  [[nodiscard]] double left_s() const { return request_.budget_s - (now_s() - begin_s_); }
  [[nodiscard]] bool must_stop() const { return interrupted() || (request_.budget_s > 0 && left_s() <= 0); }
  [[nodiscard]] std::string why_stopped() const {
    return interrupted() ? "interrupted" : fmt::format("the budget of {:.3g} s was used up", request_.budget_s);
  }

  void fill_header() {
    result_.good = request_.commits.front();
    result_.bad = request_.commits.back();
    result_.commits = static_cast<std::int64_t>(last());
    result_.effect = request_.effect;
    result_.alpha = request_.alpha;
    result_.confidence = request_.confidence;
    result_.seed = request_.seed;
    result_.builds = 2;
  }

  /// B against A by pairs; the verdict is against `effect`. Empty if it had to stop.
  Result<std::optional<MetricVerdict>> compare(const std::string& step, const Variant& a, const Variant& b,
                                               double effect) {
    WM_ASSIGN(auto known, log_.begin(step));
    AbOptions options{.schedule = {.rounds = request_.rounds, .seed = seed_of(step)},
                      .effect = effect,
                      .alpha = request_.alpha,
                      .budget_s = request_.budget_s > 0 ? std::max(left_s(), 1e-3) : 0,
                      .warmup_runs = request_.warmup_runs,
                      .further_tests = false,
                      .interrupted = request_.interrupted};
    const AbEvents events{.sample_done = [&](const AbSample& sample) { return log_.append(sample); },
                          .progress = [&](std::int64_t runs, std::int64_t) { report(step, runs); },
                          .clock_s = request_.clock_s};
    WM_ASSIGN(auto outcome, run_ab(a, b, options, std::move(known), events));
    result_.runs += static_cast<std::int64_t>(outcome.samples.size());
    result_.disturbances = outcome.comparison.disturbances;
    if (must_stop() && !outcome.comparison.decided) return std::optional<MetricVerdict>{};
    return std::optional(std::move(outcome.comparison.metrics.front()));
  }

  void report(const std::string& step, std::int64_t runs) const {
    if (request_.progress) request_.progress(step, runs);
  }

  /// A step's order must not depend on which steps went before.
  [[nodiscard]] std::uint64_t seed_of(const std::string& step) const {
    std::uint64_t seed = request_.seed;
    for (const char c : step) seed = stats::derive_seed(seed, static_cast<unsigned char>(c));
    return seed;
  }

  Status check_range() {
    WM_ASSIGN(auto range, compare("range", {&good_, {}, "good"}, {&bad_, {}, "bad"}, request_.effect));
    if (!range) {
      result_.stopped_because = why_stopped();
      return {};
    }
    if (!range->ratio) return data_error("the good and the bad revision have no ratio: " + range->reason);
    // The machine's treatment of this pair matters little: every later round has both of them again.
    judge({&*range, 1}, {.effect = request_.effect, .alpha = request_.alpha}, false);
    result_.disturbances.clear();
    result_.range = std::move(*range);
    if (result_.range.verdict == Verdict::same) {
      result_.outcome = BisectOutcome::no_difference;
      result_.stopped_because = "the bad revision does not differ from the good one";
    } else if (result_.range.verdict == Verdict::inconclusive) {
      result_.stopped_because = "it is not certain that the bad revision differs from the good one";
    }
    return {};
  }

  Status step() {
    const Suspects best = search_.best();
    const bool confirmed = confirmed_.contains({best.first, best.last});
    const bool both_known = search_.asked(best.first - 1) && search_.asked(best.last);
    if (must_stop()) {
      result_.stopped_because = why_stopped();
    } else if (!confirmed && both_known && best.probability >= 0.5) {
      return confirm(best);
    } else if (confirmed && best.probability >= request_.confidence) {
      result_.stopped_because = "the culprit is certain enough";
    } else if (const auto next = search_.next(); !next) {
      result_.stopped_because = "no commit is left to test";
    } else if (result_.builds >= request_.builds) {
      result_.stopped_because = fmt::format("{} builds were made", result_.builds);
    } else {
      return probe(*next);
    }
    return {};
  }

  Status probe(std::size_t index) {
    ++result_.builds;
    BisectProbe record{.index = static_cast<std::int64_t>(index), .commit = request_.commits[index]};
    WM_ASSIGN(const auto known_reason, log_.skipped(sha(index)));
    if (known_reason) return skip(index, record, *known_reason);
    const std::string step = "probe-" + sha(index);
    WM_ASSIGN(auto known, log_.begin(step));
    auto runs = static_cast<std::int64_t>(known.size());
    PatientExperiment candidate(revisions_, index, request_.interrupted);
    const ProbeOptions options{.alpha = request_.alpha,
                               .rounds = request_.rounds,
                               .seed = seed_of(step),
                               .bad_is_higher = increased(result_.range),
                               .warmup_runs = request_.warmup_runs,
                               .must_stop = [this] { return must_stop(); }};
    WM_ASSIGN(const auto outcome, run_probe({&good_, {}, "good"}, {&bad_, {}, "bad"}, {&candidate, {}, "candidate"},
                                            options, std::move(known), [&](const AbSample& sample) {
                                              report(step, ++runs);
                                              return log_.append(sample);
                                            }));
    result_.runs += outcome.runs;
    if (outcome.unmeasurable) {
      WM_TRY(log_.skip(sha(index), outcome.unmeasurable->what));
      return skip(index, record, outcome.unmeasurable->what);
    }
    if (!outcome.complete) return {};
    search_.answer(index, outcome.evidence.bad_probability);
    record.answer = answer_of(outcome.evidence);
    record.rounds = outcome.evidence.rounds;
    record.bad_probability = outcome.evidence.bad_probability;
    record.ratio_to_good = outcome.evidence.ratio_to_good;
    result_.probes.push_back(std::move(record));
    return {};
  }

  Status skip(std::size_t index, BisectProbe& record, const std::string& reason) {
    search_.skip(index);
    record.answer = ProbeAnswer::skipped;
    record.reason = reason;
    result_.probes.push_back(std::move(record));
    return {};
  }

  /// The suspect against what stands before it: evidence of its own, without a build.
  Status confirm(const Suspects& suspects) {
    const std::size_t before = suspects.first - 1, after = suspects.last;
    std::optional<MetricVerdict> change;
    if (before == 0 && after == last()) {
      change = result_.range;
    } else {
      PatientExperiment a(revisions_, before, request_.interrupted), b(revisions_, after, request_.interrupted);
      // Half of the whole difference is enough to tell: who made it, made all of it.
      const double half = std::expm1(std::fabs(std::log(*result_.range.ratio)) / 2);
      WM_ASSIGN(change, compare("confirm-" + sha(before) + "-" + sha(after), {&a, {}, sha(before).substr(0, 10)},
                                {&b, {}, sha(after).substr(0, 10)}, std::max(request_.effect, half)));
      if (!change) return {};
    }
    confirmed_.insert({suspects.first, suspects.last});
    if (change->verdict == result_.range.verdict) {
      search_.confirm(suspects, true);
    } else if (change->verdict != Verdict::inconclusive && change->verdict != Verdict::unreliable) {
      search_.confirm(suspects, false);
    }
    changes_[{before, after}] = std::move(*change);
    return {};
  }

  void conclude() {
    const Suspects best = search_.best();
    const bool certain = best.probability >= request_.confidence && confirmed_.contains({best.first, best.last});
    const Suspects shown = certain ? best : search_.credible(request_.confidence);
    result_.outcome = !certain                    ? BisectOutcome::inconclusive
                      : shown.first == shown.last ? BisectOutcome::found
                                                  : BisectOutcome::range;
    result_.probability = std::min(shown.probability, 1.0);
    for (std::size_t k = shown.first; k <= shown.last; ++k) result_.candidates.push_back(request_.commits[k]);
    const auto found = changes_.find({best.first - 1, best.last});
    if (found == changes_.end()) {
      result_.disturbances.clear();
      return;
    }
    result_.change = found->second;
    result_.change_a = sha(best.first - 1);
    result_.change_b = sha(best.last);
  }

  const BisectRequest& request_;
  Revisions& revisions_;
  BisectLog& log_;
  CulpritSearch search_;
  PatientExperiment good_, bad_;
  std::set<std::pair<std::size_t, std::size_t>> confirmed_;
  std::map<std::pair<std::size_t, std::size_t>, MetricVerdict> changes_;
  Bisection result_;
  double begin_s_ = 0;
};

}  // namespace

std::int64_t default_builds(std::size_t candidates) {
  return 6 + static_cast<std::int64_t>(std::ceil(std::log2(static_cast<double>(std::max<std::size_t>(candidates, 1)))));
}

Result<Bisection> run_bisect(const BisectRequest& request, Revisions& revisions, BisectLog& log) {
  WM_CHECK(request.commits.size() >= 2 && request.rounds >= 1 && request.confidence < 1);
  return Bisector(request, revisions, log).run();
}

}  // namespace warpmark::validate
