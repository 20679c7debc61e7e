// The built-in workloads, in the order in which they are listed and run.
#pragma once

#include "base/catalog.h"
#include "measure/workload.h"

namespace warpmark::workloads {

[[nodiscard]] Catalog<measure::Workload> catalog();

}  // namespace warpmark::workloads
