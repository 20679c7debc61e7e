// Service level objectives: "ttft:p99<500ms,tpot:p99<50ms,errors<1%". Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpmark::serving {

struct SloClause {
  std::string metric;  ///< id of a metric in seconds, or "errors"
  double p = -1;       ///< quantile, 0..1; -1: the mean, or the share of "errors"
  double limit = 0;    ///< s, or a ratio
  std::string text;    ///< as given
};
using Slo = std::vector<SloClause>;

/// Also a preset's name; slo_presets() lists them. Usage error that shows the grammar.
[[nodiscard]] Result<Slo> parse_slo(std::string_view text);

/// Limits of each request, "ttft:500", in milliseconds where no unit is given, as vLLM's --goodput has them.
[[nodiscard]] Result<Slo> parse_goodput(std::span<const std::string> texts);

struct SloPreset {
  const char* name;
  const char* text;
};
/// The limits of MLPerf Inference's server scenarios for language models, v5: p99 of TTFT and TPOT.
[[nodiscard]] const std::vector<SloPreset>& slo_presets();

}  // namespace warpmark::serving
