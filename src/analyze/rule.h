// A rule asks one question about the evidence. It is pure: the same evidence gives the same findings.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "analyze/evidence.h"
#include "analyze/replay.h"
#include "base/catalog.h"
#include "base/quantity.h"
#include "model/finding.h"

namespace warpmark::analyze {

/// What a rule cannot do without.
enum class Need { gpu_work, several_ranks, kernel_profiles, counters };

/// Calibration::small where ranks wait for one another: of 41 pairs foretold to gain below 1.6 lay 31 within half the
/// spread, 33 within this share, which is as often as larger gains do.
inline constexpr double kSmallOfRanks = 0.65;

/// How far the first recommendation goes and how well that was foretold, measured on before/after pairs
/// (docs/results/, "How often the analysis is right"; bench/score_analysis.py prints both).
struct Calibration {
  double removed = 1.0;   ///< of what `change` removes: 0 nothing, 1 all
  double bias = 0.0;      ///< middle of ln(measured / foretold) of the pairs
  double spread = 0.345;  ///< of ln(measured / foretold) about the bias: most of the pairs lie within
  /// Of the spread where next to nothing is foretold, growing to all of it at a gain of exp(1 - this): 19 of 20 pairs
  /// foretold to gain below 1.22 were off by less than 0.18, 60 from there to 2.7 by less than 0.24, 85 of larger gains
  /// by 0.3 in most cases.
  double small = 0.5;
};

/// A program change for the replay, one element a rank. Composable: rules multiply their factors into it.
struct Change {
  std::vector<WhatIf> ranks;
  explicit Change(const Evidence& evidence) : ranks(evidence.ranks.size()) {}
};

struct Rule {
  const char* id;
  const char* kind;
  const char* question;
  Need needs;
  /// Gains that it leaves open are filled in by the caller where `change` is given.
  std::vector<Finding> (*apply)(const Evidence&);
  /// Multiplies the cure into `change`, `success` of it. Null: the rule states its gain itself.
  void (*change)(const Evidence&, double success, Change& change);
  Calibration calibration;
  /// Speed-up foretold where the replay of `change` alone does not tell it. Null: it does.
  double (*foretell)(const Evidence&) = nullptr;
};

[[nodiscard]] Catalog<Rule> rules();

/// True if the evidence has what the rule needs.
[[nodiscard]] bool can_apply(const Rule& rule, const Evidence& evidence);

/// Speed-up of the step if all of `change` is done; 1 if nothing could be replayed.
[[nodiscard]] double speedup_of(const Evidence& evidence, const Change& change);
/// Speed-up of the step with `removed` of the rule's cause removed.
[[nodiscard]] double replayed(const Rule& rule, const Evidence& evidence, double removed);
/// The interval for a rule with a `change`. high / low is below 2.
[[nodiscard]] Gain estimate_gain(const Rule& rule, const Evidence& evidence);
/// A speed-up foretold and how well such ones were, as an interval. high / low is below 2; small gains are narrower, as
/// an error scales with what is removed.
[[nodiscard]] Gain gain_around(double foretold, const Calibration& calibration, std::string method);
/// All these rules' cures at once: overlapping gains are not counted twice, and no single finding gains more.
[[nodiscard]] Gain combined_gain(const std::vector<const Rule*>& applied, const std::vector<Finding>& findings,
                                 const Evidence& evidence);
/// Brings an interval into shape: ordered, at least 0.9, high / low below 2 around its middle.
[[nodiscard]] Gain shaped(double low, double high, std::string method);

// Helpers that rules share.

/// Severity of time lost a step: twice its share of the undisturbed step, at most 1.
[[nodiscard]] double severity_of(double lost_ns, double step_ns);
/// A finding with severity and lost time filled in.
[[nodiscard]] Finding make_finding(const Rule& rule, double lost_ns, double step_ns, std::string title);
[[nodiscard]] inline std::string time_text(double ns) { return format_seconds(ns * 1e-9); }
[[nodiscard]] Fact time_fact(std::string id, const std::string& label, double ns);
[[nodiscard]] Fact share_fact(std::string id, const std::string& label, double ratio);
[[nodiscard]] Fact count_fact(std::string id, const std::string& label, double count);
[[nodiscard]] EventReference reference(const RankEvidence& rank, EventIndex event);
/// The longest idle stretches of these parts as evidence: what the host did, else what the GPU did next.
void show_idle(const RankEvidence& rank, std::initializer_list<Part> parts, Finding& finding);
/// The longest works that `wanted` accepts.
void show_works(const RankEvidence& rank, const std::function<bool(std::size_t)>& wanted, Finding& finding);
/// Multiplies `factor` (left share) by how much of the cure succeeds.
[[nodiscard]] constexpr double scaled(double left, double success) { return 1.0 - success * (1.0 - left); }

/// Sum of duration * (1 - keep) a step over the works of one owner, ns.
[[nodiscard]] double avoidable_ns(const RankEvidence& rank, Owner owner);
[[nodiscard]] double owned_ns(const RankEvidence& rank, Owner owner);
/// The columns of a change, filled with 1 where they are empty.
void open_columns(const RankEvidence& rank, WhatIf& change);
/// Scales the durations of an owner's works in the replay of every rank.
void shrink_owned(const Evidence& evidence, Owner owner, double success, Change& change);

}  // namespace warpmark::analyze
