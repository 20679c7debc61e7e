// Stages and sizes of users' commands, from what their runs hold. Pure.
#pragma once

#include <vector>

#include "model/run.h"
#include "model/stages.h"

namespace warpmark::report {

/// Of runs of commands that have times of stages (model/stages.h).
[[nodiscard]] std::vector<StagedRun> stages_of(const Session& session);

/// Whether a stage, or all together, certainly took longer than it may.
[[nodiscard]] bool misses_limit(const Session& session);

/// Of commands that were run with three or more values of one number, all else being equal.
[[nodiscard]] std::vector<SizeFit> size_fits_of(const Session& session);

}  // namespace warpmark::report
