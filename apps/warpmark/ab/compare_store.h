// The variants of a comparison as stored results: each a session of its own, as each may be of another commit, with one
// Run of all its samples. They belong to the same series as what `warpmark run -- CMD` stores.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "base/options.h"
#include "base/result.h"
#include "model/comparison.h"
#include "validate/compare/compare_run.h"
#include "warpmark/ab/compare_variants.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Stores both variants once: doing it again for the same comparison, as after a crash, adds nothing. `ends` says how
/// many samples there were each time that the comparison ended, by its rounds or by its budget: what lies between two
/// ends is a pair of sessions of its own, so that no sample is there twice. Returns the ids of the newest pair, A and
/// B; empty without any complete sample of both.
[[nodiscard]] Result<std::pair<std::string, std::string>> store_variants(
    const Context& context, const ParsedOptions& options, const Variants& variants,
    std::span<const validate::AbSample> samples, std::span<const std::size_t> ends, const Comparison& comparison);

}  // namespace warpmark::apps
