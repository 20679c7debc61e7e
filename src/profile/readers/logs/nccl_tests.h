// Output of NVIDIA's nccl-tests (all_reduce_perf and its siblings; rccl-tests print the same).
#pragma once

#include "profile/trace_reader.h"

namespace warpmark::profile {

extern const TraceReader kNcclTestsReader;

}  // namespace warpmark::profile
