// What `scale` stored, judged again: a session has one run for each number of workers.
#pragma once

#include <optional>

#include "model/run.h"
#include "model/scaling.h"

namespace warpmark::validate {

/// Nothing where the session has not two numbers of workers that `scale` measured. Pure.
[[nodiscard]] std::optional<Scaling> scaling_of(const Session& session);

}  // namespace warpmark::validate
