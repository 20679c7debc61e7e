// What a person wants to read about a session, in that order: what is wrong, what the machine can do, how near each
// result is to that, then plots, and for each workload everything else folded away. Pure.
#pragma once

#include "model/report.h"
#include "model/run.h"

namespace warpmark::report {

[[nodiscard]] Report build_report(const Session& session);

/// The number of the headline for a list of sessions: "time 54.20 ms", "86.4 % of peak"; empty without results.
[[nodiscard]] std::string headline_value(const Session& session);

}  // namespace warpmark::report
