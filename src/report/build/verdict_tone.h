// How verdicts look, in every report that has them.
#pragma once

#include "model/comparison.h"
#include "model/report.h"

namespace warpmark::report {

[[nodiscard]] constexpr Tone tone_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::better: return Tone::good;
    case Verdict::worse: return Tone::bad;
    case Verdict::inconclusive:
    case Verdict::unreliable: return Tone::warning;
    case Verdict::same:
    case Verdict::different: return Tone::plain;
  }
  return Tone::plain;
}

[[nodiscard]] constexpr Tone tone_of(AccuracyOutcome outcome) {
  switch (outcome) {
    case AccuracyOutcome::accepted: return Tone::good;
    case AccuracyOutcome::rejected: return Tone::bad;
    case AccuracyOutcome::inconclusive: return Tone::warning;
  }
  return Tone::plain;
}

}  // namespace warpmark::report
