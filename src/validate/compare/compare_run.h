// An A/B test: runs of two variants in a random order until every metric is decided, the rounds are over or the budget
// is used up; then the verdicts. The world comes in through the experiments, the clock and the events.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/lines/line_file.h"
#include "base/result.h"
#include "measure/experiment.h"
#include "model/comparison.h"
#include "validate/judge/gates.h"
#include "validate/judge/verdict.h"

namespace warpmark::validate {

struct Slot {
  int variant = 0;  ///< 0 is A, 1 is B
  std::int64_t round = 0;
  bool ends_round = false;  ///< both variants of the round are complete after it
};

struct Schedule {
  Interleave interleave = Interleave::pair;
  std::int64_t rounds = 30;  ///< at most
  std::uint64_t seed = 1;

  /// Number of runs of both variants.
  [[nodiscard]] std::int64_t slots() const;
  [[nodiscard]] Slot slot(std::int64_t index) const;
};

/// The variants of one round in order: {0, 1} shuffled, or {0, 0, 1, 1} shuffled for blocks.
[[nodiscard]] std::vector<int> round_order(Interleave interleave, std::uint64_t seed, std::int64_t round);

/// 0 .. n-1 in random order, the same for the same seed and round.
[[nodiscard]] std::vector<int> shuffled(int n, std::uint64_t seed, std::int64_t round);

struct Variant {
  measure::Experiment* experiment = nullptr;
  measure::Config config;
  std::string name;
};

struct AbOptions {
  Schedule schedule;
  double effect = 0.01;
  double alpha = 0.05;
  double budget_s = 0;           ///< of this invocation; 0 is without limit
  std::int64_t warmup_runs = 1;  ///< of each variant, discarded
  bool stop_early = true;        ///< paired schedules only; else all rounds are run and judged by a fixed-size test
  std::vector<AccuracyGate> accuracy;
  /// Quantities that are measured anyway (model/auxiliary.h) and that shall decide, as somebody declared them.
  std::vector<std::string> declared;
  std::int64_t affordable_rounds = 0;  ///< that a budget allows; 0: as many as the schedule has. Set by run_ab.
  bool further_tests = true;           ///< also those that do not decide
  const std::atomic<bool>* interrupted = nullptr;
};

/// One run of one variant. `run.metrics` hold one sample each.
struct AbSample {
  Slot slot;
  Run run;
};

struct AbEvents {
  std::function<Status(const AbSample&)> sample_done;  ///< a failure ends the test
  std::function<void(std::int64_t runs, std::int64_t most_runs)> progress;
  std::function<double()> clock_s;  ///< seconds from any origin; the monotonic clock if empty
};

struct AbOutcome {
  Comparison comparison;
  std::vector<AbSample> samples;  ///< known ones first
  bool complete = false;          ///< false when interrupted
};

/// `known` are the samples of an interrupted test of the same schedule, in order; data error if they are not its
/// beginning. The first error of an experiment ends the test. Runs without a common metric are a data error.
[[nodiscard]] Result<AbOutcome> run_ab(const Variant& a, const Variant& b, const AbOptions& options,
                                       std::vector<AbSample> known, const AbEvents& events);

/// Verdicts of complete rounds; of a final look also the further tests, the samples and the differences between the
/// variants' environments. Pure.
[[nodiscard]] Comparison judge_samples(const std::vector<AbSample>& samples, const AbOptions& options, bool final);

/// The verdicts on the same rounds for another smallest effect or probability of error; gates stay as they are. Pure.
void judge_again(Comparison& comparison, double effect, double alpha);

// The journal of a comparison: one JSON object a line, each appended and synced when its run has ended, so that a
// killed comparison goes on where it was and no run is lost or counted twice. A last line cut short by a crash is
// dropped. Held by one process at a time.

class Journal {
 public:
  /// Opens or creates. An incomplete journal of the same request is taken up; a complete one, or one of another
  /// request, is started anew, as is any with `fresh`. Environment error if another process holds it or it cannot be
  /// written; data error if a complete line cannot be read.
  [[nodiscard]] static Result<Journal> open(const std::string& path, const std::string& request, const std::string& id,
                                            bool fresh);

  [[nodiscard]] const std::string& id() const { return id_; }  ///< of the comparison, that of the first start
  /// Samples found at opening, in order; empties the list.
  [[nodiscard]] std::vector<AbSample> take_samples() { return std::move(samples_); }
  [[nodiscard]] Status append(const AbSample& sample);
  /// Says that the samples so far go into the history, those after an earlier call's as a piece of their own. Written
  /// before they are stored, so that after a kill between both the next process knows what to store (again).
  [[nodiscard]] Status end_piece();
  /// How many samples there were at each end of a piece.
  [[nodiscard]] const std::vector<std::size_t>& pieces() const { return pieces_; }
  [[nodiscard]] Status complete();

 private:
  explicit Journal(LineFile file) : file_(std::move(file)) {}
  Status read(const std::string& request);

  LineFile file_;
  std::string id_;
  std::vector<AbSample> samples_;
  std::size_t count_ = 0;  ///< samples in the file
  std::vector<std::size_t> pieces_;
};

/// Of each metric with a ratio and at least 7 rounds; `comparison` must be paired with equal variants. The
/// false-positive rate is that of the whole procedure, looks after every round included, over 2000 random exchanges of
/// A and B within rounds: under equality each is as likely as what was measured.
[[nodiscard]] std::vector<MetricCalibration> calibrate(const Comparison& comparison, const VerdictOptions& options);

}  // namespace warpmark::validate
