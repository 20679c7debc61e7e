// What cures communication that computation does not hide, and what the cure gains.
#pragma once

#include "analyze/cures/gain.h"
#include "analyze/evidence/evidence.h"
#include "model/finding.h"

namespace warpmark::analyze {

/// Of replays without communication.
inline constexpr Calibration kWithoutCommunication = {.bias = -0.03, .small = kSmallOfRanks};

/// Adds the recommendations to multi_gpu_comm's finding, of the rank whose communication is exposed most, the evidence
/// that they rest on, and the gain where the replay without communication does not tell it. `overlap`: share of the
/// collectives' time that computation hides. `mostly_over_host`: most of what is lost is lost there.
void add_comm_cures(const Evidence& evidence, const RankEvidence& rank, double overlap, bool mostly_over_host,
                    Finding& finding);

}  // namespace warpmark::analyze
