// A machine's states as a table in a text file, a row for the host and one for each GPU at every moment: what
// spreadsheets and pandas read. Units are those of docs/metrics.md; unknown values are empty.
#pragma once

#include <string>

#include "model/machine_state.h"

namespace warpmark::monitor {

/// With a newline, as the rows.
[[nodiscard]] std::string csv_header();
[[nodiscard]] std::string csv_rows(const MachineState& state);

}  // namespace warpmark::monitor
