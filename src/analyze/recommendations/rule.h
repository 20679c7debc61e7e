// A rule asks one question about the evidence. It is pure: the same evidence gives the same findings.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "analyze/evidence/evidence.h"
#include "analyze/evidence/severity.h"
#include "analyze/evidence/what_ifs.h"
#include "model/finding.h"

namespace warpmark::analyze {

/// What a rule cannot do without.
enum class Need { gpu_work, several_ranks, kernel_profiles, counters };

struct Rule {
  const char* id;
  const char* kind;
  const char* question;
  Need needs;
  /// Gains that it leaves open are filled in by the caller where `change` is given.
  std::vector<Finding> (*apply)(const Evidence&);
  /// Multiplies the fix into `change`, `success` of it. Null: the rule states its gain itself.
  void (*change)(const Evidence&, double success, Change& change) = nullptr;
  /// Speedup predicted where the replay of `change` alone does not tell it. Null: it does.
  double (*predict)(const Evidence&) = nullptr;
};

// A predicted speedup is an interval that its evidence supports: from half of the cause removed to all of it. What a
// recording alone cannot tell is a bound. Amdahl's law bounds both.
/// `all`: the speedup if nothing of the cause is left. Below 1 counts as 1.
[[nodiscard]] Gain gain_up_to(double all, std::string method);
/// Nothing but the bound is known.
[[nodiscard]] Gain at_most(double bound, std::string method);

/// True if the evidence has what the rule needs.
[[nodiscard]] bool can_apply(const Rule& rule, const Evidence& evidence);

/// Speedup of the step with `removed` of the rule's cause removed.
[[nodiscard]] double replayed(const Rule& rule, const Evidence& evidence, double removed);
/// The `predict` of causes that keep the GPU idle while nothing else does: all of that time goes, also what lies before
/// the first launch of a single step or is no part of the replay.
template <AttributedTo by>
[[nodiscard]] double without(const Evidence& evidence) {
  const double step = evidence.rank().undisturbed_step_ns();
  return amdahl(evidence.attribution.lost_ns(by), step);
}
/// The interval for a rule with a `change`.
[[nodiscard]] Gain estimate_gain(const Rule& rule, const Evidence& evidence);
/// All these rules' fixes at once: overlapping gains are not counted twice, and no single finding gains more.
[[nodiscard]] Gain combined_gain(const std::vector<const Rule*>& applied, const std::vector<Finding>& findings,
                                 const Evidence& evidence);
}  // namespace warpmark::analyze
