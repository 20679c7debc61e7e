// The acceptance report: result, identity of the machine, the table of criteria, what is behind each limit, and room
// for signatures.
#pragma once

#include "model/acceptance.h"
#include "model/report.h"

namespace warpmark::report {

[[nodiscard]] Report build_report(const Acceptance& acceptance);

/// "ACCEPTED", "NOT ACCEPTED: 2 of 14 criteria failed", ...; one line without a full stop.
[[nodiscard]] std::string result_sentence(const Acceptance& acceptance);

}  // namespace warpmark::report
