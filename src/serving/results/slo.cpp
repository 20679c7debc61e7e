#include "serving/results/slo.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace warpmark::serving {
namespace {

constexpr const char* kSloGrammar =
    "METRIC:STATISTIC<LIMIT, separated by commas, such as ttft:p99<500ms,tpot:p99<50ms,errors<1%; metrics: ttft, tpot, "
    "itl, e2e, ttfb, queue_delay; statistics: mean, p50 .. p99.9";

const std::vector<std::string>& metrics() {
  static const std::vector<std::string> kMetrics{"ttft", "tpot", "itl", "e2e", "ttfb", "queue_delay"};
  return kMetrics;
}

Error no_slo(std::string_view text) { return usage_error("'" + std::string(text) + "' is no objective", kSloGrammar); }

Result<SloClause> parse_clause(const std::string& text) {
  const auto less = text.find('<');
  if (less == std::string::npos) return no_slo(text);
  SloClause clause{.metric = std::string(trim(text.substr(0, less))), .text = text};
  const std::string limit(trim(text.substr(less + 1)));
  if (clause.metric == "errors") {
    const auto share = parse_ratio(limit);
    if (!share.ok() || *share < 0 || *share > 1) return no_slo(text);
    clause.limit = *share;
    return clause;
  }
  const auto colon = clause.metric.find(':');
  const std::string statistic = colon == std::string::npos ? "p99" : clause.metric.substr(colon + 1);
  clause.metric = clause.metric.substr(0, colon);
  if (std::find(metrics().begin(), metrics().end(), clause.metric) == metrics().end()) return no_slo(text);
  if (statistic != "mean") {
    const auto p = statistic.starts_with('p') ? parse_number(statistic.substr(1)) : Result<double>(usage_error(""));
    if (!p.ok() || !(*p > 0) || !(*p < 100)) return no_slo(text);
    clause.p = *p / 100;
  }
  if (const auto bare = parse_number(limit); bare.ok() && *bare > 0) {
    return usage_error("'" + text + "' has no unit: milliseconds or seconds?",
                       fmt::format("--slo '{0}ms' or --slo '{0}s'", text));
  }
  const auto seconds = parse_duration_s(limit);
  if (!seconds.ok() || !(*seconds > 0)) return no_slo(text);
  clause.limit = *seconds;
  return clause;
}

/// "ttft:500" in milliseconds, as vLLM's --goodput has it, or with a unit.
Result<SloClause> parse_limit(const std::string& text) {
  const auto colon = text.find(':');
  SloClause clause{.metric = text.substr(0, colon), .text = text};
  if (clause.metric == "e2el") clause.metric = "e2e";
  const bool known = std::find(metrics().begin(), metrics().end(), clause.metric) != metrics().end();
  const std::string limit = colon == std::string::npos ? "" : text.substr(colon + 1);
  const auto bare = parse_number(limit);
  const auto seconds = bare.ok() ? Result<double>(*bare / 1000) : parse_duration_s(limit);
  if (!known || !seconds.ok() || !(*seconds > 0)) {
    return usage_error("'" + text + "' is no limit of a good request",
                       "METRIC:MILLISECONDS, such as --goodput ttft:500 tpot:50; metrics: ttft, tpot, itl, e2el");
  }
  clause.limit = *seconds;
  return clause;
}

}  // namespace

Result<Slo> parse_goodput(std::span<const std::string> texts) {
  Slo slo;
  for (const auto& text : texts) {
    for (const auto& part : split(text, ' ')) {
      if (part.empty()) continue;
      WM_ASSIGN(auto clause, parse_limit(part));
      slo.push_back(std::move(clause));
    }
  }
  return slo;
}

const std::vector<SloPreset>& slo_presets() {
  static const std::vector<SloPreset> kPresets{
      {"mlperf-llama2-70b", "ttft:p99<2s,tpot:p99<200ms"},
      {"mlperf-llama2-70b-interactive", "ttft:p99<450ms,tpot:p99<40ms"},
      {"mlperf-llama3.1-8b", "ttft:p99<2s,tpot:p99<100ms"},
      {"mlperf-llama3.1-8b-interactive", "ttft:p99<500ms,tpot:p99<30ms"},
      {"mlperf-llama3.1-405b", "ttft:p99<6s,tpot:p99<175ms"},
      {"mlperf-llama3.1-405b-interactive", "ttft:p99<4500ms,tpot:p99<80ms"},
      {"mlperf-mixtral-8x7b", "ttft:p99<2s,tpot:p99<200ms"},
      {"mlperf-deepseek-r1", "ttft:p99<2s,tpot:p99<80ms"},
      {"mlperf-deepseek-r1-interactive", "ttft:p99<1500ms,tpot:p99<15ms"},
      {"mlperf-gpt-oss-120b", "ttft:p99<3s,tpot:p99<80ms"},
      {"mlperf-gpt-oss-120b-interactive", "ttft:p99<2s,tpot:p99<20ms"},
  };
  return kPresets;
}

Result<Slo> parse_slo(std::string_view text) {
  const auto preset = std::find_if(slo_presets().begin(), slo_presets().end(),
                                   [&](const SloPreset& item) { return item.name == text; });
  if (preset != slo_presets().end()) return parse_slo(preset->text);
  Slo slo;
  for (const auto& part : split(text, ',')) {
    WM_ASSIGN(auto clause, parse_clause(part));
    slo.push_back(std::move(clause));
  }
  if (slo.empty()) return no_slo(text);
  return slo;
}

}  // namespace warpmark::serving
