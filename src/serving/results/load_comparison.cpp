#include "serving/results/load_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/json.h"
#include "stats/distributions.h"
#include "stats/order_statistics.h"
#include "stats/random.h"
#include "stats/tests/compare.h"

namespace warpmark::serving {
namespace {

constexpr std::size_t kResampledBlocks = 20, kLeastBlocks = 5, kResamples = 400, kMostCompared = 10'000;
constexpr double kSame = 0.02;  // a smaller difference is none that anybody would act on
constexpr std::uint64_t kComparisonSeed = 20231103;

struct Statistic {
  ComparedNumber number;
  double p;  ///< quantile; below 0 the mean
};

const std::vector<Statistic>& statistics() {
  static const std::vector<Statistic> kStatistics{
      {{"request_throughput", "mean", "1/s", Better::higher}, -1},
      {{"output_throughput", "mean", "1/s", Better::higher}, -1},
      {{"goodput", "mean", "1/s", Better::higher}, -1},
      {{"ttft", "p50", "s", Better::lower}, 0.5},
      {{"ttft", "p99", "s", Better::lower}, 0.99},
      {{"tpot", "p50", "s", Better::lower}, 0.5},
      {{"tpot", "p99", "s", Better::lower}, 0.99},
      {{"e2e", "p50", "s", Better::lower}, 0.5},
      {{"e2e", "p99", "s", Better::lower}, 0.99},
      {{"output_tokens", "mean", "1", Better::neither}, -1},
      {{"gpu_memory", "mean", "B", Better::lower}, -1},
      {{"tokens_per_joule", "mean", "1/J", Better::higher}, -1},
      {{"cost_per_request", "mean", "1", Better::lower}, -1},
      {{"cost_per_million_output_tokens", "mean", "1", Better::lower}, -1},
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
  if (p < 0) return std::accumulate(samples.begin(), samples.end(), 0.0) / n;
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

const LoadCell* cell_of(const LoadArm& arm, const LoadCell& like) {
  const auto found = std::find_if(arm.cells.begin(), arm.cells.end(), [&](const LoadCell& cell) {
    return cell.scenario == like.scenario && cell.level == like.level;
  });
  return found == arm.cells.end() ? nullptr : &*found;
}

std::optional<double> point_value(const LoadCell& cell, const Statistic& statistic) {
  if (const auto found = cell.samples.find(statistic.number.metric);
      found != cell.samples.end() && !found->second.empty()) {
    const auto n = static_cast<std::int64_t>(found->second.size());
    if (statistic.p > 0.9 && n < stats::samples_needed(statistic.p, 0.95)) return std::nullopt;
    std::vector<double> copy = found->second;
    return value_of_samples(copy, statistic.p);
  }
  const auto found = cell.values.find(statistic.number.metric);
  return found == cell.values.end() ? std::nullopt : std::optional(found->second);
}

/// The ratio of `other` to `base` with its interval and p.
LoadDifference difference(const LoadCell& base, const LoadCell& other, const Statistic& statistic, double confidence) {
  LoadDifference result{.value = point_value(other, statistic)};
  const auto first = point_value(base, statistic);
  if (!result.value || !first) {
    result.reason = "too few requests";
    return result;
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
    result.reason = "its spread is not known";
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
    for (auto& arm : row.arms) {
      if (!arm.p || row.number.better == Better::neither) continue;
      tested.push_back(&arm);
      p.push_back(*arm.p);
    }
  }
  const auto holm = stats::holm(p, 1 - confidence);
  for (std::size_t i = 0; i < tested.size(); ++i) tested[i]->adjusted_p = holm.adjusted[i];
  for (auto& row : comparison.rows) {
    for (auto& arm : row.arms) {
      if (!arm.adjusted_p) continue;
      const bool within = arm.interval->low > 1 - kSame && arm.interval->high < 1 + kSame;
      if (within) {
        arm.verdict = "same";
      } else if (*arm.adjusted_p > 1 - confidence) {
        arm.verdict = "inconclusive";
      } else {
        arm.verdict = (*arm.ratio > 1) == (row.number.better == Better::higher) ? "better" : "worse";
      }
    }
  }
}

}  // namespace

Result<LoadComparison> compare_loads(const std::vector<LoadArm>& arms, double confidence) {
  WM_CHECK(arms.size() >= 2);
  LoadComparison comparison;
  for (const auto& arm : arms) comparison.names.push_back(arm.name);
  for (const auto& base : arms.front().cells) {
    std::vector<const LoadCell*> cells;
    for (const auto& arm : arms) {
      const LoadCell* cell = &arm == &arms.front() ? &base : cell_of(arm, base);
      if (cell == nullptr) {
        comparison.notes.push_back(fmt::format("{} has no load {}, {}", arm.name, base.scenario, base.level));
        break;
      }
      if (!cell->trusted) {
        comparison.notes.push_back(
            fmt::format("{} at {}, {} is mistrusted: the client was its limit", arm.name, base.scenario, base.level));
      }
      cells.push_back(cell);
    }
    if (cells.size() < arms.size()) continue;
    for (const auto& statistic : statistics()) {
      LoadComparisonRow row{base.scenario, base.level, statistic.number, {}};
      row.arms.push_back({.value = point_value(base, statistic)});
      bool any = row.arms.front().value.has_value();
      for (std::size_t i = 1; i < cells.size(); ++i) {
        row.arms.push_back(difference(base, *cells[i], statistic, confidence));
        any = any || row.arms.back().value.has_value();
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

Json to_json(const LoadComparison& comparison) {
  Json json{{"schema", "warpmark.load_comparison/1"}, {"arms", comparison.names}, {"rows", Json::array()}};
  for (const auto& row : comparison.rows) {
    Json arms = Json::array();
    for (const auto& arm : row.arms) {
      Json entry = Json::object();
      if (arm.value) entry["value"] = *arm.value;
      if (arm.ratio) entry["ratio"] = *arm.ratio;
      if (arm.interval) {
        entry["interval"] = {
            {"low", arm.interval->low}, {"high", arm.interval->high}, {"confidence", arm.interval->confidence}};
      }
      if (arm.p) entry["p"] = *arm.p;
      if (arm.adjusted_p) entry["adjusted_p"] = *arm.adjusted_p;
      if (!arm.verdict.empty()) entry["verdict"] = arm.verdict;
      if (!arm.reason.empty()) entry["reason"] = arm.reason;
      arms.push_back(std::move(entry));
    }
    json["rows"].push_back({{"scenario", row.scenario},
                            {"load", row.level},
                            {"metric", row.number.metric},
                            {"statistic", row.number.statistic},
                            {"unit", row.number.unit},
                            {"arms", std::move(arms)}});
  }
  json["notes"] = comparison.notes;
  return json;
}

}  // namespace warpmark::serving
