// What a person reads of how a program scales.
#pragma once

#include "model/report.h"
#include "model/scaling.h"

namespace warpmark::report {

[[nodiscard]] Report build_report(const Scaling& scaling);

/// Of `scale --power-cap-sweep`.
[[nodiscard]] Report build_report(const PowerCaps& caps);

}  // namespace warpmark::report
