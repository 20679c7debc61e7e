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
  std::string date;
  std::string subject;
  std::string merged;
};

enum class BisectOutcome {
  found,          ///< one commit, as certain as was asked for
  range,          ///< certain that it is one of several, between which nothing could be measured
  no_difference,  ///< the bad revision differs from the good one by less than what matters
  inconclusive,   ///< the budget ended before it was certain
};
inline constexpr auto kBisectOutcomeNames =
    in_order(BisectOutcome::inconclusive, "found", "range", "no_difference", "inconclusive");
constexpr Names names_of(BisectOutcome) { return kBisectOutcomeNames; }

enum class ProbeAnswer { good, bad, undecided, skipped };
inline constexpr auto kProbeAnswerNames = in_order(ProbeAnswer::skipped, "good", "bad", "undecided", "skipped");
constexpr Names names_of(ProbeAnswer) { return kProbeAnswerNames; }

/// What was learnt of one commit within the range.
struct BisectProbe {
  std::int64_t index = 0;
  Commit commit;
  ProbeAnswer answer = ProbeAnswer::undecided;
  std::int64_t rounds = 0;
  double bad_probability = 0.5;
  std::optional<double> ratio_to_good;
  std::string reason;
};

struct Bisection {
  std::string started;
  std::string command;
  Commit good;
  Commit bad;
  std::int64_t commits = 0;
  double effect = 0.01;
  double alpha = 0.02;  ///< of each decision
  double confidence = 0.95;
  std::uint64_t seed = 0;
  BisectOutcome outcome = BisectOutcome::inconclusive;
  std::vector<Commit> candidates;
  double probability = 0;  ///< that it is one of them
  MetricVerdict range;     ///< the bad revision (B) against the good one (A)
  std::optional<MetricVerdict> change;
  std::string change_a;  ///< sha of A
  std::string change_b;
  std::vector<BisectProbe> probes;  ///< in the order taken
  std::vector<Disturbance> disturbances;
  std::int64_t builds = 0;
  std::int64_t runs = 0;
  std::int64_t history_points = 0;
  std::string stopped_because;
  Machine machine;
  Build build;
};

[[nodiscard]] Json to_json(const Bisection& bisection);

}  // namespace warpmark
