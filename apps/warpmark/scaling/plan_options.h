// Values of options that both kinds of `warpmark plan` look at, checked.
#pragma once

#include <optional>
#include <vector>

#include "base/options.h"
#include "base/result.h"
#include "validate/scaling/training_plan.h"
#include "warpmark/scaling/measured_links.h"

namespace warpmark::apps {

/// Above 0, and `most` at most. Usage error where it is needed and missing.
[[nodiscard]] Result<double> number_option(const ParsedOptions& options, const char* name, double otherwise,
                                           bool needed = false, double most = 1e9);

/// None and all of it are possible, too.
[[nodiscard]] Result<double> contention_of(const ParsedOptions& options, double otherwise);

struct CompressionChoice {
  validate::Compression kind = validate::Compression::half;
  int power_sgd_rank = 4;
};
[[nodiscard]] Result<CompressionChoice> compression_of(const ParsedOptions& options, const char* otherwise);

/// --per-node, --between and --between-alpha as far as they are given.
[[nodiscard]] Result<ToldLinks> told_links(const ParsedOptions& options);

/// "2,4,8", in this order; each from `least` up.
[[nodiscard]] Result<std::vector<int>> gpu_counts(const ParsedOptions& options, const char* name, const char* otherwise,
                                                  int least);

}  // namespace warpmark::apps
