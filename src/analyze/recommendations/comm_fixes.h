// What helps against communication that nothing overlaps.
#pragma once

#include "analyze/evidence/evidence.h"
#include "model/finding.h"

namespace warpmark::analyze {

/// Adds advice for this rank's communication. `overlap`: share of the collectives' time that computation overlaps.
/// `mostly_over_host`: most of what is lost goes over the host.
void add_comm_fixes(const Evidence& evidence, const RankEvidence& rank, double overlap, bool mostly_over_host,
                    Finding& finding);

}  // namespace warpmark::analyze
