// Chrome traces (JSON), above all those of the PyTorch profiler and its library Kineto: old and new schema, and lists
// of events without anything around them.
#pragma once

#include "profile/trace_reader.h"

namespace warpmark::profile {

extern const TraceReader kKinetoReader;

}  // namespace warpmark::profile
