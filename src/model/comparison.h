// Comparison: what changed between two variants, A (the baseline) and B (the candidate), metric by metric, with
// everything needed to trust and repeat it. JSON: "warpmark.compare/1" (docs/schema/compare.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "model/machine.h"
#include "model/metric.h"
#include "model/run.h"

namespace warpmark {

inline constexpr const char* kCompareSchema = "warpmark.compare/1";

/// What B is against A. docs/validate.md tells the exact conditions.
enum class Verdict {
  better,
  same,  ///< no difference as large as the smallest effect that matters
  worse,
  different,     ///< a metric without direction changed
  inconclusive,  ///< the data cannot tell; `more_rounds` says what would
  unreliable,    ///< the machine treated the variants differently
};
[[nodiscard]] const char* name_of(Verdict verdict);

/// How the runs of the variants were ordered.
enum class Interleave {
  pair,   ///< each round runs each variant once, in random order
  block,  ///< each round runs each variant twice, in random order
  none,   ///< all of A, then all of B: cannot tell a drift of the machine from a difference
};
[[nodiscard]] const char* name_of(Interleave interleave);

/// A further look at the same samples, for people who trust another test more.
struct TestResult {
  std::string name;                ///< "mann_whitney", "welch_t_log", ...
  double p = 1;                    ///< two-sided; of an equivalence test the p of "no difference that matters"
  std::optional<double> estimate;  ///< a ratio B / A where the test has one
  std::optional<Interval> interval;
};

struct MetricVerdict {
  std::string id;
  std::string unit;
  Better better = Better::lower;
  std::vector<double> a;  ///< one value a round, in order
  std::vector<double> b;
  double median_a = 0;
  double median_b = 0;
  /// B / A: pseudo-median of the rounds' ratios (of logarithms) in a sequential comparison, else their geometric mean;
  /// absent where it is undefined.
  std::optional<double> ratio;
  std::optional<Interval> interval;  ///< of the ratio; holds at any time where the comparison is sequential
  std::optional<double> p;           ///< of "no difference", two-sided
  std::optional<double> adjusted_p;  ///< over all metrics of the comparison (Holm)
  Verdict verdict = Verdict::inconclusive;
  std::string reason;                       ///< why it is inconclusive or unreliable
  std::optional<std::int64_t> more_rounds;  ///< of an inconclusive one: about how many more would decide
  /// Where those are beyond reach: the smallest effect that would be decided within it (a ratio).
  std::optional<double> decidable_effect;
  bool beside = false;  ///< measured beside what was asked for: shown, and part of no decision
  std::vector<TestResult> tests;
};

enum class AccuracyOutcome {
  accepted,      ///< B is not worse than A by the margin or more
  rejected,      ///< it is, or its outputs are wrong: however fast, it is no gain
  inconclusive,  ///< the data cannot tell
};
[[nodiscard]] const char* name_of(AccuracyOutcome outcome);

/// Whether B is still as right as A, by one gate.
struct AccuracyVerdict {
  std::string name;      ///< the metric, or the command
  bool command = false;  ///< judged by its exit status; then only outcome, reason, n and difference (of shares) count
  std::string unit;
  Better better = Better::higher;
  double margin = 0;  ///< by how much B may be worse: in `unit`, or a ratio of A
  bool relative = false;
  double median_a = 0;
  double median_b = 0;
  double difference = 0;             ///< B - A, of means
  std::optional<Interval> interval;  ///< of it, at confidence 1 - 2 alpha: each side holds at alpha
  std::int64_t n = 0;                ///< rounds; of a command the runs of B
  AccuracyOutcome outcome = AccuracyOutcome::inconclusive;
  std::string reason;
};

/// What an A/A comparison tells about a metric on this machine.
struct MetricCalibration {
  std::string id;
  double spread = 0;                   ///< standard deviation of the rounds' log ratios: about a ratio
  double false_positive_rate = 0;      ///< share of random relabelings of these rounds that were called better or worse
  double detectable = 0;               ///< smallest relative difference found with 90 % in as many rounds
  std::int64_t rounds_for_effect = 0;  ///< rounds for the smallest effect that matters
  std::optional<double> autocorrelation;  ///< lag 1, of the runs in the order taken
};

/// One run of one variant, in the order taken.
struct VariantSample {
  int variant = 0;  ///< 0 is A, 1 is B
  std::int64_t round = 0;
  std::string started;         ///< UTC
  std::vector<double> values;  ///< of the metrics, in their order
};

struct Comparison {
  std::string id;
  std::string started;  ///< UTC
  std::string command;
  std::string name_a;  ///< what A is: a command, a revision, a configuration
  std::string name_b;
  double effect = 0.01;  ///< smallest relative difference that matters
  double alpha = 0.05;
  bool paired = true;
  bool sequential = true;  ///< p and intervals are valid at any time, so stopping early is fine
  Interleave interleave = Interleave::pair;
  std::uint64_t seed = 0;
  std::int64_t rounds = 0;
  std::string stopped_because;
  bool decided = false;  ///< by the sequential test, before all rounds were run
  std::vector<MetricVerdict> metrics;
  std::vector<AccuracyVerdict> accuracy;  ///< gates; their metrics are not among `metrics`
  std::vector<Disturbance> disturbances;  ///< differences in how the machine treated the variants
  std::vector<VariantSample> samples;
  std::vector<MetricCalibration> calibration;  ///< of an A/A comparison; else empty
  Machine machine;
  Build build;
  std::string machine_a, machine_b;        ///< short names, where the machine is what differs; else empty
  std::optional<double> price_a, price_b;  ///< of an hour on them, both or none
  std::optional<double> monthly_cost;      ///< of running A
};

/// Whether a gate says that B is less right than A. It counts above all but distrust: a wrong result has no speed.
[[nodiscard]] bool accuracy_rejected(const Comparison& comparison);

/// The gravest verdict of all metrics that decide: unreliable, worse, inconclusive, different, better, same.
/// Inconclusive for none, and where nothing is worse but a gate cannot tell.
[[nodiscard]] Verdict overall(const Comparison& comparison);

[[nodiscard]] Json to_json(const Comparison& comparison);

}  // namespace warpmark
