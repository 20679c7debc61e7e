// The measured comparison of `compare` and `validate`: both variants in random order, a journal for an interrupted one
// to go on with, and the variants in the store.
#pragma once

#include <string>

#include "base/options.h"
#include "base/result.h"
#include "model/comparison.h"
#include "validate/compare/compare_run.h"
#include "warpmark/command.h"

namespace warpmark::apps {

struct CompareRequest {
  validate::AbOptions test;
  std::string format = "text";
};

/// --effect, --alpha, --rounds, --warmup, --seed, --budget, --interleave, --fixed, --calibrate, --format.
[[nodiscard]] Result<CompareRequest> compare_request_of(const ParsedOptions& options);

/// Makes the variants (compare_variants.h), measures and stores them. Without command and date. An interrupted
/// comparison is not complete and is taken up by the next call.
[[nodiscard]] Result<Comparison> measure_variants(Context& context, const ParsedOptions& options,
                                                  CompareRequest& request);

/// Keeps the comparison with the sessions of its variants, so that `compare` shows it again. Does nothing where they
/// are not stored.
void remember_comparison(const Context& context, const ParsedOptions& options, const Comparison& comparison);

/// Of its verdict: 4 where the accuracy rejects B, unless all of it is unreliable.
[[nodiscard]] int exit_code_of(const Comparison& comparison);

}  // namespace warpmark::apps
