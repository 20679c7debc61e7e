// Reads what `nvidia-smi --query-gpu=... --format=csv -l 1` prints.
#pragma once

#include "profile/trace_reader.h"

namespace warpmark::profile {

extern const TraceReader kNvidiaSmiQueryReader;

}  // namespace warpmark::profile
