// What a worker is asked to make: the network and the knobs of a case, in the words of the worker's protocol.
#pragma once

#include <cstdint>
#include <string>

#include "base/json_fwd.h"
#include "model/params.h"
#include "workloads/models/model_shape.h"

namespace warpmark::workloads {

/// The question "prepare", but for what differs between ranks (ModelWorkers::prepare).
[[nodiscard]] Json prepare_question(const std::string& model, const Params& params, const ModelShape& shape,
                                    std::uint64_t seed);

}  // namespace warpmark::workloads
