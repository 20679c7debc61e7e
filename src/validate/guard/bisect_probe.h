// One question of a bisection: is this commit like the good revision or like the bad one? Rounds of good, bad and twice
// the candidate in random order, until the answer is clear.
//
// A round's contrast is y = (log c1 + log c2) / 2 - (log good + log bad) / 2, turned so that it is positive near the
// bad revision. The runs of a round are taken within moments, so a drift of the machine cancels; there are as many runs
// on one side as on the other, so y is symmetric about its mean whatever the noise. Whether y is 0 is tested by the
// mean of two e-values, each valid under peeking (Ville): that of the sequential t test (stats/sequential.h), and that
// of the signs with a Beta(1/2, 1/2) mixture (Krichevsky, Trofimov, 1981; Ramdas et al., Statist. Sci. 38, 2023), which
// does not mind outliers. A mean of e-values is one again. Decided when it reaches 1 / alpha and mean and majority
// agree on the side.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "validate/compare/compare_run.h"

namespace warpmark::validate {

/// Variants of a probe's samples, as Slot::variant.
enum ProbeVariant : int { kGoodVariant = 0, kBadVariant = 1, kCandidateVariant = 2 };

struct ProbeOptions {
  double alpha = 0.02;
  std::int64_t rounds = 200;  ///< at most
  std::uint64_t seed = 1;
  bool bad_is_higher = true;
  std::int64_t warmup_runs = 1;     ///< of the candidate
  std::function<bool()> must_stop;  ///< asked between runs: Ctrl-C, a budget; empty: never
};

/// Four runs a round: variant and round of run `index`.
[[nodiscard]] Slot probe_slot(std::uint64_t seed, std::int64_t index);

struct ProbeEvidence {
  std::int64_t rounds = 0;
  double mean = 0;     ///< of y
  double e_value = 1;  ///< against "y is 0"
  bool decided = false;
  double bad_probability = 0.5;         ///< by the t distribution around the mean; not yet bounded
  std::optional<double> ratio_to_good;  ///< of medians
};

/// Of complete rounds. Data error for a value that has no logarithm.
[[nodiscard]] Result<ProbeEvidence> judge_probe(std::span<const AbSample> samples, const ProbeOptions& options);

struct ProbeOutcome {
  ProbeEvidence evidence;
  std::int64_t runs = 0;
  bool complete = false;              ///< false when it had to stop
  std::optional<Error> unmeasurable;  ///< why the candidate cannot be measured
};

/// `known` are the samples of an interrupted probe. An error of the good or the bad variant is the result's error; one
/// of the candidate makes it unmeasurable.
[[nodiscard]] Result<ProbeOutcome> run_probe(const Variant& good, const Variant& bad, const Variant& candidate,
                                             const ProbeOptions& options, std::vector<AbSample> known,
                                             const std::function<Status(const AbSample&)>& sample_done);

}  // namespace warpmark::validate
