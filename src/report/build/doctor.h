// What `doctor` shows: the machine, then its checks, what needs a hand first.
#pragma once

#include <span>

#include "model/health.h"
#include "model/machine.h"
#include "model/report.h"

namespace warpmark::report {

[[nodiscard]] Report doctor_report(const Machine& machine, std::span<const HealthCheck> checks);

}  // namespace warpmark::report
