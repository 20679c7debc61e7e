#include <warpmark/compare.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "library/convert.h"
#include "validate/judge/verdict.h"

namespace warpmark::library {
namespace {

Status check_sets(std::span<const double> a, std::span<const double> b, const v0::CompareOptions& options) {
  constexpr std::size_t kFewest = 3;
  if (a.size() < kFewest || b.size() < kFewest)
    return usage_error("a comparison needs three values of either at least");
  if (options.paired && a.size() != b.size()) {
    return usage_error(fmt::format("pairs need as many values of A ({}) as of B ({})", a.size(), b.size()));
  }
  for (const auto set : {a, b}) {
    if (std::ranges::all_of(set, [](double value) { return std::isfinite(value) && value > 0; })) continue;
    return usage_error("values must be finite and above 0", "a ratio of others says nothing");
  }
  if (!(options.effect > 0 && options.effect < 1)) return usage_error("effect must be between 0 and 1");
  if (!(options.alpha > 0 && options.alpha < 1)) return usage_error("alpha must be between 0 and 1");
  return {};
}

v0::Verdict public_verdict(Verdict verdict) {
  switch (verdict) {
    case Verdict::better: return v0::Verdict::better;
    case Verdict::same: return v0::Verdict::same;
    case Verdict::worse: return v0::Verdict::worse;
    case Verdict::different:
    case Verdict::inconclusive:
    case Verdict::unreliable: return v0::Verdict::inconclusive;
  }
  return v0::Verdict::inconclusive;
}

}  // namespace
}  // namespace warpmark::library

namespace warpmark::v0 {

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::better: return "better";
    case Verdict::same: return "same";
    case Verdict::worse: return "worse";
    case Verdict::inconclusive: return "inconclusive";
  }
  return "inconclusive";
}

Result<Comparison> compare(std::span<const double> a, std::span<const double> b, const CompareOptions& options) {
  if (const auto checked = library::check_sets(a, b, options); !checked.ok()) {
    return library::to_public(checked.error());
  }
  std::array<MetricVerdict, 1> metrics{};
  metrics[0].id = "value";
  metrics[0].better = options.better == Better::lower ? warpmark::Better::lower : warpmark::Better::higher;
  metrics[0].a.assign(a.begin(), a.end());
  metrics[0].b.assign(b.begin(), b.end());
  validate::judge(metrics,
                  {.effect = options.effect, .alpha = options.alpha, .paired = options.paired, .sequential = false},
                  false);
  const auto& judged = metrics[0];
  Comparison comparison{.verdict = library::public_verdict(judged.verdict),
                        .ratio = {},
                        .p = judged.p,
                        .median_a = judged.median_a,
                        .median_b = judged.median_b,
                        .reason = judged.reason,
                        .more_values = judged.more_rounds};
  if (judged.ratio) comparison.ratio = library::to_public(*judged.ratio, judged.interval);
  return comparison;
}

std::string to_text(const Comparison& comparison, const CompareOptions& options) {
  std::string text = name_of(comparison.verdict);
  if (comparison.ratio) {
    const bool lower = options.better == Better::lower;
    const auto speed = [lower](double ratio) { return lower ? 1 / ratio : ratio; };
    const auto& ratio = *comparison.ratio;
    text += fmt::format(": {:.3g}x as {}", speed(ratio.value), lower ? "fast" : "much");
    if (!std::isnan(ratio.low)) {
      const double one = speed(ratio.low), other = speed(ratio.high);
      text += fmt::format(" [{:.3g}x, {:.3g}x]", std::min(one, other), std::max(one, other));
    }
  }
  if (!comparison.reason.empty()) text += "; " + comparison.reason;
  return text + "\n";
}

}  // namespace warpmark::v0
