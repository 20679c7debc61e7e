// The table that `dcgmi dmon` prints.
#pragma once

#include "profile/trace_reader.h"

namespace warpmark::profile {

extern const TraceReader kDcgmDmonReader;

}  // namespace warpmark::profile
