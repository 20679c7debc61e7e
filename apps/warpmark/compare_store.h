// The arms of a comparison as stored results: each a session of its own, as each may be of another commit, with one Run
// of all its samples. They belong to the same series as what `warpmark run -- CMD` stores.
#pragma once

#include <string>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "model/comparison.h"
#include "validate/ab_test.h"
#include "warpmark/command.h"
#include "warpmark/compare_arms.h"

namespace warpmark::apps {

/// Stores both arms once: doing it again for the same comparison, as after a crash, adds nothing. Returns the ids of
/// the runs, of A and of B; none without any complete sample of both.
[[nodiscard]] Result<std::vector<std::string>> store_arms(const Context& context, const ParsedOptions& options,
                                                          const Arms& arms,
                                                          const std::vector<validate::AbSample>& samples,
                                                          const Comparison& comparison);

}  // namespace warpmark::apps
