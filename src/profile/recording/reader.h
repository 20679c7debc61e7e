// Reads warpmark's own recordings: a timeline for each process that used a GPU, and counters.
#pragma once

#include "profile/trace_reader.h"

namespace warpmark::profile {

extern const TraceReader kRecordingReader;

}  // namespace warpmark::profile
