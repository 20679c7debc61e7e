// The SQLite file that `nsys export --type sqlite` makes of an Nsight Systems report.
#pragma once

#include "profile/trace_reader.h"

namespace warpmark::profile {

extern const TraceReader kNsysSqliteReader;

}  // namespace warpmark::profile
