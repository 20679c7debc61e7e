// Comparison: what changed between two variants, A (the baseline) and B (the candidate), metric by metric, with
// everything needed to trust and repeat it. JSON: "warpmark.compare/1" (docs/schema/compare.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "model/fields/names.h"
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
inline constexpr auto kVerdictNames =
    in_order(Verdict::unreliable, "better", "same", "worse", "different", "inconclusive", "unreliable");
constexpr Names names_of(Verdict) { return kVerdictNames; }

/// How the runs of the variants were ordered.
enum class Interleave { pair, block, none };
inline constexpr auto kInterleaveNames = in_order(Interleave::none, "pair", "block", "none");
constexpr Names names_of(Interleave) { return kInterleaveNames; }

/// A further look at the same samples, for people who trust another test more.
struct TestResult {
  std::string name;
  double p = 1;
  std::optional<double> estimate;
  std::optional<Interval> interval;
};

struct MetricVerdict {
  std::string id;
  std::string unit;
  Better better = Better::lower;
  std::vector<double> a;
  std::vector<double> b;
  double median_a = 0;
  double median_b = 0;
  std::optional<double> ratio;
  std::optional<Interval> interval;  ///< of the ratio; holds at any time where the comparison is sequential
  std::optional<double> p;
  std::optional<double> adjusted_p;
  Verdict verdict = Verdict::inconclusive;
  std::string reason;
  std::optional<std::int64_t> more_rounds;
  std::optional<double> decidable_effect;
  bool auxiliary = false;
  std::vector<TestResult> tests;
};

enum class AccuracyOutcome {
  accepted,      ///< B is not worse than A by the margin or more
  rejected,      ///< it is, or its outputs are wrong: however fast, it is no gain
  inconclusive,  ///< the data cannot tell
};
inline constexpr auto kAccuracyOutcomeNames =
    in_order(AccuracyOutcome::inconclusive, "accepted", "rejected", "inconclusive");
constexpr Names names_of(AccuracyOutcome) { return kAccuracyOutcomeNames; }

/// Whether B is still as right as A, by one gate.
struct AccuracyVerdict {
  std::string name;
  bool command = false;  ///< judged by its exit status; then only outcome, reason, n and difference (of shares) count
  std::string unit;
  Better better = Better::higher;
  double margin = 0;
  bool relative = false;
  double median_a = 0;
  double median_b = 0;
  double difference = 0;
  std::optional<Interval> interval;  ///< of it, at confidence 1 - 2 alpha: each side holds at alpha
  std::int64_t n = 0;
  AccuracyOutcome outcome = AccuracyOutcome::inconclusive;
  std::string reason;
};

/// What an A/A comparison tells about a metric on this machine.
struct MetricCalibration {
  std::string id;
  double spread = 0;
  double false_positive_rate = 0;
  double detectable = 0;
  std::int64_t rounds_for_effect = 0;
  std::optional<double> autocorrelation;
};

/// One run of one variant, in the order taken.
struct VariantSample {
  int variant = 0;  ///< 0 is A, 1 is B
  std::int64_t round = 0;
  std::string started;
  std::vector<double> values;
  std::optional<double> disturbance;  ///< of the run, in shares of its time; absent where nothing is known of it
};

struct Comparison {
  std::string id;
  std::string started;
  std::string command;
  std::string name_a;
  std::string name_b;
  std::string session_a, session_b;  ///< where the runs are stored, the newest part of several; else empty
  double effect = 0.01;
  double alpha = 0.05;
  bool paired = true;
  bool sequential = true;
  Interleave interleave = Interleave::pair;
  std::uint64_t seed = 0;
  std::int64_t rounds = 0;
  std::string stopped_because;
  bool decided = false;  ///< by the sequential test, before all rounds were run
  std::vector<MetricVerdict> metrics;
  std::vector<AccuracyVerdict> accuracy;  ///< gates; their metrics are not among `metrics`
  std::vector<Disturbance> disturbances;
  std::vector<VariantSample> samples;
  std::vector<MetricCalibration> calibration;  ///< of an A/A comparison; else empty
  Machine machine;
  Build build;
  std::string machine_a, machine_b;        ///< short names, where the machine is what differs; else empty
  std::optional<double> price_a, price_b;  ///< of an hour on them, both or none
  std::optional<double> monthly_cost;      ///< of running A
};

/// The first gate that rejects B, whatever its speed; null if none does, or if the verdict is unreliable.
[[nodiscard]] const AccuracyVerdict* rejecting_gate(const Comparison& comparison);

/// The gravest verdict of all metrics that decide: unreliable, worse, inconclusive, different, better, same.
/// Inconclusive for none, and where nothing is worse but a gate cannot tell.
[[nodiscard]] Verdict overall(const Comparison& comparison);

[[nodiscard]] Json to_json(const Comparison& comparison);
[[nodiscard]] Result<Comparison> comparison_from_json(const Json& json);  ///< data error that names the place

}  // namespace warpmark
