#include "serving/results/load_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/json.h"
#include "model/json/json_parts.h"
#include "stats/distributions.h"
#include "stats/random.h"
#include "stats/summary.h"
#include "stats/tests/compare.h"

namespace warpmark::serving {
namespace {

constexpr std::size_t kResampledBlocks = 20, kLeastBlocks = 5, kResamples = 400, kMostCompared = 10'000;
constexpr double kSame = 0.02;  // a smaller difference is none that anybody would act on
constexpr std::uint64_t kComparisonSeed = 20231103;

constexpr double kMean = -1, kStdev = -2;

struct Statistic {
  ComparedNumber number;
  double p;  ///< quantile, kMean or kStdev
};

const std::vector<Statistic>& statistics() {
  static const std::vector<Statistic> kStatistics{
      {{"request_throughput", "mean", "requests/s", Better::higher}, kMean},
      {{"output_throughput", "mean", "tokens/s", Better::higher}, kMean},
      {{"goodput", "mean", "requests/s", Better::higher}, kMean},
      {{"ttft", "p50", "s", Better::lower}, 0.5},
      {{"ttft", "p95", "s", Better::lower}, 0.95},
      {{"ttft", "p99", "s", Better::lower}, 0.99},
      {{"ttft", "sd", "s", Better::neither}, kStdev},
      {{"tpot", "p50", "s", Better::lower}, 0.5},
      {{"tpot", "p95", "s", Better::lower}, 0.95},
      {{"tpot", "p99", "s", Better::lower}, 0.99},
      {{"tpot", "sd", "s", Better::neither}, kStdev},
      {{"e2e", "p50", "s", Better::lower}, 0.5},
      {{"e2e", "p95", "s", Better::lower}, 0.95},
      {{"e2e", "p99", "s", Better::lower}, 0.99},
      {{"e2e", "sd", "s", Better::neither}, kStdev},
      {{"output_tokens", "mean", "tokens", Better::neither}, kMean},
      {{"gpu_memory", "mean", "B", Better::lower}, kMean},
      {{"tokens_per_joule", "mean", "tokens/J", Better::higher}, kMean},
      {{"cost_per_request", "mean", "1", Better::lower}, kMean},
      {{"cost_per_million_output_tokens", "mean", "1", Better::lower}, kMean},
  };
  return kStatistics;
}

std::vector<double> thinned_to(const std::vector<double>& samples, std::size_t most) {
  const std::size_t step = samples.size() / most + 1;
  std::vector<double> kept;
  for (std::size_t i = 0; i < samples.size(); i += step) kept.push_back(samples[i]);
  return kept;
}

double value_of_samples(std::vector<double>& samples, double p) {
  const auto n = static_cast<double>(samples.size());
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / n;
  if (p == kMean) return mean;
  if (p == kStdev) {
    double squares = 0;
    for (const double sample : samples) squares += (sample - mean) * (sample - mean);
    return samples.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
  }
  std::sort(samples.begin(), samples.end());
  return stats::quantile_of_sorted(samples, p);
}

/// The variance of the logarithm of the statistic, over resampled blocks; nothing with too few of them.
std::optional<double> log_variance(const std::vector<double>& samples, double p, std::uint64_t seed) {
  const std::size_t blocks = std::min(kResampledBlocks, samples.size());
  if (blocks < kLeastBlocks) return std::nullopt;
  stats::Random random(seed);
  double sum = 0, squares = 0;
  std::vector<double> drawn;
  for (std::size_t k = 0; k < kResamples; ++k) {
    drawn.clear();
    for (std::size_t b = 0; b < blocks; ++b) {
      const auto block = static_cast<std::size_t>(random() % blocks);
      const auto from = static_cast<std::ptrdiff_t>(block * samples.size() / blocks),
                 to = static_cast<std::ptrdiff_t>((block + 1) * samples.size() / blocks);
      drawn.insert(drawn.end(), samples.begin() + from, samples.begin() + to);
    }
    const double value = value_of_samples(drawn, p);
    if (!(value > 0)) return std::nullopt;
    const double logarithm = std::log(value);
    sum += logarithm;
    squares += logarithm * logarithm;
  }
  const auto n = static_cast<double>(kResamples);
  return std::max(squares / n - (sum / n) * (sum / n), 0.0);
}

bool same_load(const LoadCell& a, const LoadCell& b) { return a.scenario == b.scenario && a.level == b.level; }

/// The same load; where a variant has measured one several times, the first is compared with the first, and so on.
const LoadCell* cell_of(const LoadVariant& variant, const LoadVariant& first, const LoadCell& like) {
  auto before =
      std::count_if(&*first.cells.begin(), &like, [&](const LoadCell& cell) { return same_load(cell, like); });
  for (const auto& cell : variant.cells) {
    if (same_load(cell, like) && before-- == 0) return &cell;
  }
  return nullptr;
}

/// "ttft_turn_2" and so on: the steps of sessions, which both have.
std::vector<Statistic> statistics_of(const LoadCell& cell) {
  std::vector<Statistic> all = statistics();
  for (const auto& [id, samples] : cell.samples) {
    if (id.find("_turn_") == std::string::npos) continue;
    all.push_back({{id, "p50", "s", Better::lower}, 0.5});
    all.push_back({{id, "p95", "s", Better::lower}, 0.95});
  }
  return all;
}

std::optional<double> point_value(const LoadCell& cell, const Statistic& statistic) {
  if (const auto found = cell.samples.find(statistic.number.metric);
      found != cell.samples.end() && !found->second.empty()) {
    std::vector<double> copy = found->second;
    return value_of_samples(copy, statistic.p);
  }
  const auto found = cell.values.find(statistic.number.metric);
  return found == cell.values.end() ? std::nullopt : std::optional(found->second);
}

/// How many requests the number needs, where the cell has fewer; 0 where it has enough.
std::int64_t requests_missing(const LoadCell& cell, const Statistic& statistic) {
  const auto found = cell.samples.find(statistic.number.metric);
  if (statistic.p <= 0.9 || found == cell.samples.end()) return 0;
  const std::int64_t needed = stats::samples_needed(statistic.p, 0.95);
  return static_cast<std::int64_t>(found->second.size()) < needed ? needed : 0;
}

/// The ratio of `other` to `base` with its interval and p.
LoadDifference difference(const LoadCell& base, const LoadCell& other, const Statistic& statistic, double confidence) {
  LoadDifference result{.value = point_value(other, statistic)};
  const auto first = point_value(base, statistic);
  if (!result.value || !first) {
    result.reason = "not measured";
    return result;
  }
  for (const LoadCell* cell : {&base, &other}) {
    if (const std::int64_t needed = requests_missing(*cell, statistic); needed > 0) {
      result.few_requests = true;
      result.reason = fmt::format("needs {} requests", needed);
      return result;
    }
  }
  if (!(*result.value > 0) || !(*first > 0)) {
    result.reason = "not above 0";
    return result;
  }
  result.ratio = *result.value / *first;
  const auto samples = [&](const LoadCell& cell) {
    const auto found = cell.samples.find(statistic.number.metric);
    return found == cell.samples.end() ? std::vector<double>() : thinned_to(found->second, kMostCompared);
  };
  const auto a = samples(base), b = samples(other);
  const auto va = log_variance(a, statistic.p, kComparisonSeed), vb = log_variance(b, statistic.p, kComparisonSeed + 1);
  if (!va || !vb) {
    result.reason = "its spread is unknown";
    return result;
  }
  const double error = std::sqrt(*va + *vb);
  const auto degrees = static_cast<double>(std::min({kResampledBlocks, a.size(), b.size()}) - 1);
  const double center = std::log(*result.ratio),
               half = stats::t_quantile_of_tail((1 - confidence) / 2, degrees) * error;
  result.interval = Interval{std::exp(center - half), std::exp(center + half), confidence};
  result.p = error > 0 ? std::min(1.0, 2 * stats::t_tail(std::abs(center) / error, degrees)) : center == 0 ? 1.0 : 0.0;
  return result;
}

void decide(LoadComparison& comparison, double confidence) {
  std::vector<LoadDifference*> tested;
  std::vector<double> p;
  for (auto& row : comparison.rows) {
    for (auto& variant : row.variants) {
      if (!variant.p || variant.verdict == "unreliable" || row.number.better == Better::neither) continue;
      tested.push_back(&variant);
      p.push_back(*variant.p);
    }
  }
  const auto holm = stats::holm(p, 1 - confidence);
  for (std::size_t i = 0; i < tested.size(); ++i) tested[i]->adjusted_p = holm.adjusted[i];
  for (auto& row : comparison.rows) {
    for (auto& variant : row.variants) {
      if (!variant.adjusted_p) continue;
      const bool within = variant.interval->low > 1 - kSame && variant.interval->high < 1 + kSame;
      if (within) {
        variant.verdict = "same";
      } else if (*variant.adjusted_p > 1 - confidence) {
        variant.verdict = "inconclusive";
      } else {
        variant.verdict = (*variant.ratio > 1) == (row.number.better == Better::higher) ? "better" : "worse";
      }
    }
  }
}

constexpr Field kLoadDifferenceFields[] = {
    field<&LoadDifference::value>("value", "Of this variant."),
    field<&LoadDifference::ratio>("ratio", "To the first variant."),
    field<&LoadDifference::interval>("interval", "Of the ratio.", kInterval),
    field<&LoadDifference::p>("p"),
    field<&LoadDifference::adjusted_p>("adjusted_p"),
    field<&LoadDifference::verdict>("verdict",
                                    "Same: within 2 %. Unreliable: the client of one of the two was. Absent for the "
                                    "first variant.")
        .ruled(R"({"enum": ["better", "worse", "same", "inconclusive", "unreliable"]})")
        .unless_empty(),
    field<&LoadDifference::reason>("reason", "Why there is no verdict.").unless_empty(),
};
constexpr RecordOf<LoadDifference> kLoadDifference{"variant", "", kLoadDifferenceFields};

using Row = LoadComparisonRow;
constexpr Field kRowFields[] = {
    field<&Row::scenario>("scenario"),
    field<&Row::level>("load", "All that makes a load: 8 users, 2 turns; 25 requests/s, poisson."),
    field<&Row::number, &ComparedNumber::metric>("metric"),
    field<&Row::number, &ComparedNumber::statistic>("statistic")
        .ruled(R"({"enum": ["mean", "sd", "p50", "p95", "p99"]})"),
    field<&Row::number, &ComparedNumber::unit>("unit"),
    field<&Row::variants>("variants", "", kLoadDifference),
};
constexpr RecordOf<Row> kRow{"row", "", kRowFields};

constexpr Field kLoadComparisonFields[] = {
    field<&LoadComparison::names>("variants").ruled(R"({"minItems": 2})"),
    field<&LoadComparison::rows>("rows", "", kRow),
    field<&LoadComparison::notes>("notes", "Loads that only some have."),
    field<&LoadComparison::unreliable>("unreliable", "Variants whose client was unreliable at a load.").unless_empty(),
};

}  // namespace

Result<LoadComparison> compare_loads(const std::vector<LoadVariant>& variants, double confidence) {
  WM_CHECK(variants.size() >= 2);
  LoadComparison comparison;
  for (const auto& variant : variants) comparison.names.push_back(variant.name);
  for (const auto& base : variants.front().cells) {
    std::vector<const LoadCell*> cells;
    for (const auto& variant : variants) {
      const LoadCell* cell = &variant == &variants.front() ? &base : cell_of(variant, variants.front(), base);
      if (cell == nullptr) {
        comparison.notes.push_back(fmt::format("{} has no load {}, {}", variant.name, base.scenario, base.level));
        break;
      }
      auto& late = comparison.unreliable;
      if (!cell->trusted && std::ranges::find(late, variant.name) == late.end()) late.push_back(variant.name);
      cells.push_back(cell);
    }
    if (cells.size() < variants.size()) continue;
    for (const auto& statistic : statistics_of(base)) {
      LoadComparisonRow row{base.scenario, base.level, statistic.number, {}};
      row.variants.push_back({.value = point_value(base, statistic)});
      if (const std::int64_t needed = requests_missing(base, statistic); needed > 0) {
        row.variants.front().few_requests = true;
        row.variants.front().reason = fmt::format("needs {} requests", needed);
      }
      bool any = row.variants.front().value.has_value();
      for (std::size_t i = 1; i < cells.size(); ++i) {
        row.variants.push_back(difference(base, *cells[i], statistic, confidence));
        const bool judged = row.variants.back().p && statistic.number.better != Better::neither;
        if (judged && (!base.trusted || !cells[i]->trusted)) row.variants.back().verdict = "unreliable";
        any = any || row.variants.back().value.has_value();
      }
      if (any) comparison.rows.push_back(std::move(row));
    }
  }
  if (comparison.rows.empty()) {
    return usage_error("the results have no scenario and load in common",
                       comparison.notes.empty() ? "" : comparison.notes.front());
  }
  decide(comparison, confidence);
  return comparison;
}

constexpr RecordOf<LoadComparison> kLoadComparison{
    "load_comparison",
    "What `warpmark load compare --json` writes. The ratio is to the first variant. An absent key is unknown.",
    kLoadComparisonFields, "warpmark.load_comparison/1"};

Json to_json(const LoadComparison& comparison) { return write(kLoadComparison, comparison); }

}  // namespace warpmark::serving
