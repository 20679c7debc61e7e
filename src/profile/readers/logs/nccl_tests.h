// Output of NVIDIA's nccl-tests (all_reduce_perf and its siblings; rccl-tests print the same).
#pragma once

#include "profile/readers/logs/nccl_log.h"
#include "profile/trace_reader.h"

namespace warpmark::profile {

extern const TraceReader kNcclTestsReader;

/// All tables of the log, with what it says of versions, hosts and GPUs; empty if it has no row.
[[nodiscard]] Result<NcclLog> read_nccl_log(ByteSource& source);

}  // namespace warpmark::profile
