// The Chrome trace that XLA's profiler writes beside its .xplane.pb: jax.profiler, TensorFlow's profiler, PyTorch/XLA.
#pragma once

#include "profile/trace_reader.h"

namespace warpmark::profile {

extern const TraceReader kXlaTraceReader;

}  // namespace warpmark::profile
