// The table of nccl-tests, column for column, so that what reads their output reads ours. Pure.
#pragma once

#include <string>

#include "collectives/calls/plan.h"
#include "collectives/results/row.h"

namespace warpmark::collectives {

[[nodiscard]] std::string nccl_table_head(const Plan& plan, const Head& head);
[[nodiscard]] std::string nccl_table_row(const Row& row);
/// "# Out of bounds values : 0 OK" and the average bus bandwidth.
[[nodiscard]] std::string nccl_table_foot(const Plan& plan, const Sweep& sweep);

/// Mean over sizes and placements, as nccl-tests gives it; says little of a sweep over small sizes. B/s.
[[nodiscard]] double average_bus_bandwidth(const Sweep& sweep);
/// Elements of all sizes and placements.
[[nodiscard]] std::int64_t wrong_elements(const Sweep& sweep);

}  // namespace warpmark::collectives
