// Bisection: which commit of a range changed a metric, with the evidence for it. JSON: "warpmark.bisect/1"
// (docs/schema/bisect.schema.json).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "model/comparison.h"
#include "model/machine.h"

namespace warpmark {

inline constexpr const char* kBisectSchema = "warpmark.bisect/1";

/// One commit, as git tells it.
struct Commit {
  std::string sha;
  std::string author;
  std::string date;  ///< ISO 8601, of the commit
  std::string subject;
  std::string merged;  ///< of a merge, its second parent; else empty
};

enum class BisectOutcome {
  found,          ///< one commit, as certain as was asked for
  range,          ///< certain that it is one of several, between which nothing could be measured
  no_difference,  ///< the bad revision differs from the good one by less than what matters
  inconclusive,   ///< the budget ended before it was certain
};
[[nodiscard]] const char* name_of(BisectOutcome outcome);

enum class ProbeAnswer { good, bad, undecided, skipped };
[[nodiscard]] const char* name_of(ProbeAnswer answer);

/// What was learnt of one commit within the range.
struct BisectProbe {
  std::int64_t index = 0;  ///< in the range: 0 is the good revision
  Commit commit;
  ProbeAnswer answer = ProbeAnswer::undecided;
  std::int64_t rounds = 0;
  double bad_probability = 0.5;         ///< by these rounds alone, bounded by the error a probe may have
  std::optional<double> ratio_to_good;  ///< of the medians
  std::string reason;                   ///< why it was skipped
};

struct Bisection {
  std::string started;  ///< UTC
  std::string command;
  Commit good;
  Commit bad;
  std::int64_t commits = 0;  ///< candidates: those after the good one, the bad one included
  double effect = 0.01;
  double alpha = 0.02;       ///< of each decision
  double confidence = 0.95;  ///< asked for
  std::uint64_t seed = 0;
  BisectOutcome outcome = BisectOutcome::inconclusive;
  std::vector<Commit> candidates;  ///< the culprit; several, oldest first, if not found; none without a difference
  double probability = 0;          ///< that it is one of them
  MetricVerdict range;             ///< the bad revision (B) against the good one (A)
  /// The first commit known to be bad (B) against the last one before it that could be measured (A).
  std::optional<MetricVerdict> change;
  std::string change_a;  ///< sha of A
  std::string change_b;
  std::vector<BisectProbe> probes;        ///< in the order taken
  std::vector<Disturbance> disturbances;  ///< differences in how the machine treated the variants of `change`
  std::int64_t builds = 0;                ///< attempts, the good and the bad revision included
  std::int64_t runs = 0;                  ///< of the command, in all, earlier invocations included, without warm-ups
  std::int64_t history_points = 0;        ///< stored results that narrowed the range
  std::string stopped_because;
  Machine machine;
  Build build;
};

[[nodiscard]] Json to_json(const Commit& commit);
[[nodiscard]] Json to_json(const Bisection& bisection);

}  // namespace warpmark
