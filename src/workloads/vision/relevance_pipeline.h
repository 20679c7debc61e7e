// The stages of relevance_pipeline, one behind the other.
#pragma once

#include <memory>

#include "measure/workload.h"

namespace warpmark::workloads {

/// With parameters of `relevance_pipeline`. Each stage reads where the one before it writes; handed_on() is what the
/// last one puts out: indices of the patches that are kept, int32 [batch, k].
[[nodiscard]] Result<std::unique_ptr<measure::Prepared>> prepare_relevance_pipeline(
    const measure::PrepareOptions& options);

}  // namespace warpmark::workloads
