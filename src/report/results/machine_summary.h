// What a machine did while it was watched, as a report.
#pragma once

#include "model/machine_state.h"
#include "model/report.h"

namespace warpmark::report {

[[nodiscard]] Report build_report(const MachineSummary& summary);

}  // namespace warpmark::report
