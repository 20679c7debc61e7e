// Chrome traces (JSON), above all those of the PyTorch profiler and its library Kineto: old and new schema, and lists
// of events without anything around them.
#pragma once

#include "profile/trace_reader.h"

namespace warpmark::profile {

class XlaRows;

extern const TraceReader kKinetoReader;

/// With `xla` the events are those of XLA's profiler: the rows are named in it first.
[[nodiscard]] Status read_chrome_trace(ByteSource& source, const ReadOptions& options, ProfileSession& session,
                                       XlaRows* xla = nullptr);

}  // namespace warpmark::profile
