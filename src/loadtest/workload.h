// LoadGen's scenarios against the inference of a built-in network in the user's PyTorch, without a server between.
#pragma once

#include "base/result.h"
#include "loadtest/outputs.h"

namespace warpmark::loadtest {

/// The one load of such a request; kept in `outputs`.
[[nodiscard]] Status measure_workload(const Surroundings& around, const PreparedLoad& request, LoadOutputs& outputs);

}  // namespace warpmark::loadtest
