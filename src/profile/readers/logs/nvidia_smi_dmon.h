// The table that `nvidia-smi dmon` prints, with or without -o DT and --format csv.
#pragma once

#include "profile/trace_reader.h"

namespace warpmark::profile {

extern const TraceReader kNvidiaSmiDmonReader;

}  // namespace warpmark::profile
