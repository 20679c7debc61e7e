#include "validate/matrix/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/text.h"
#include "model/auxiliary.h"
#include "model/run_query.h"
#include "stats/summary.h"
#include "validate/commands/command_experiment.h"
#include "validate/compare/environment_guard.h"
#include "validate/judge/verdict.h"

namespace warpmark::validate {
namespace {

constexpr double kThousand = 1000;
constexpr double kSecondsPerHour = 3600;

std::optional<double> median_of(const Run& run, std::string_view id) {
  const auto* metric = metric_of(run, id);
  if (metric == nullptr || metric->samples.empty()) return std::nullopt;
  return stats::median(metric->samples);
}

/// What follows from a run's own metrics, the samples it processed and the price of its machine.
struct Derived {
  MatrixMetric metric;
  std::optional<double> (*value)(const Run& run, const VariantSpec& variant);
};

std::optional<double> throughput(const Run& run, const VariantSpec& variant) {
  if (const auto own = median_of(run, "throughput")) return own;
  const auto time = median_of(run, "time");
  if (!time || *time <= 0 || variant.samples <= 0) return std::nullopt;
  return variant.samples / *time;
}

std::optional<double> energy(const Run& run, const VariantSpec& variant) {
  const auto joules = median_of(run, "gpu_energy");
  if (!joules || variant.samples <= 0) return std::nullopt;
  return *joules / variant.samples * kThousand;
}

std::optional<double> cost(const Run& run, const VariantSpec& variant) {
  const auto rate = throughput(run, variant);
  if (!rate || *rate <= 0 || variant.price_per_hour <= 0) return std::nullopt;
  return variant.price_per_hour / kSecondsPerHour / *rate * kThousand;
}

class MatrixJudge {
 public:
  MatrixJudge(const MatrixSpec& spec, const std::vector<AbSample>& samples, const MatrixOptions& options)
      : spec_(spec), samples_(samples), options_(options) {}

  Result<Matrix> judged() {
    describe();
    find_metrics();
    for (std::size_t i = 0; i < spec_.variants.size(); ++i) add_variant(i);
    judge_against_baseline();
    WM_TRY(find_front());
    add_notes();
    return std::move(matrix_);
  }

 private:
  void describe() {
    matrix_.name = spec_.name;
    matrix_.summary = spec_.summary;
    matrix_.currency = spec_.currency;
    matrix_.rounds = options_.rounds;
    matrix_.seed = options_.seed;
    matrix_.effect = options_.effect;
    matrix_.alpha = options_.alpha;
    for (const auto& axis : spec_.axes) {
      matrix_.axes.push_back({axis.name, {}});
      for (const auto& value : axis.values) matrix_.axes.back().labels.push_back(value.label);
    }
  }

  /// Derived ones first, then those of the command in its order.
  void find_metrics() {
    const std::string cost_unit = spec_.currency.empty() ? "per 1000" : spec_.currency + " per 1000";
    derived_ = {{{"throughput", "1/s", Better::higher}, throughput},
                {{"energy", "J per 1000", Better::lower}, energy},
                {{"cost", cost_unit, Better::lower}, cost}};
    for (auto& derived : derived_) {
      for (const auto& sample : samples_) {
        if (!is_measured(sample.run.outcome) || !derived.value(sample.run, variant_of(sample))) continue;
        if (const auto* own = metric_of(sample.run, derived.metric.id)) derived.metric.unit = own->unit;
        matrix_.metrics.push_back(derived.metric);
        break;
      }
    }
    for (const auto& sample : samples_) {
      if (!is_measured(sample.run.outcome)) continue;
      for (const auto& metric : sample.run.metrics) {
        const bool known = std::any_of(matrix_.metrics.begin(), matrix_.metrics.end(),
                                       [&](const auto& item) { return item.id == metric.id; });
        if (!known) matrix_.metrics.push_back({metric.id, metric.unit, metric.better});
      }
    }
  }

  [[nodiscard]] const VariantSpec& variant_of(const AbSample& sample) const {
    return spec_.variants[static_cast<std::size_t>(sample.slot.variant)];
  }

  [[nodiscard]] std::optional<double> value(const AbSample& sample, const std::string& id) const {
    for (const auto& derived : derived_) {
      if (derived.metric.id == id) return derived.value(sample.run, variant_of(sample));
    }
    return median_of(sample.run, id);
  }

  void add_variant(std::size_t index) {
    const auto& spec = spec_.variants[index];
    MatrixVariant variant{.name = spec.name, .choice = spec.choice, .baseline = spec.baseline};
    variant.command = command_line(spec.command.run);
    for (const auto& [name, text] : spec.command.environment)
      variant.command = name + "=" + text + " " + variant.command;
    std::vector<std::vector<double>> values(matrix_.metrics.size());
    for (const auto& sample : samples_) {
      if (static_cast<std::size_t>(sample.slot.variant) != index) continue;
      if (!is_measured(sample.run.outcome)) {
        ++variant.failures;
        variant.reason = sample.run.reason;
        variant.hint = sample.run.hint;
        continue;
      }
      ++variant.runs;
      for (std::size_t m = 0; m < values.size(); ++m) {
        if (const auto found = value(sample, matrix_.metrics[m].id)) values[m].push_back(*found);
      }
    }
    variant.stopped_early = variant.failures >= kMostFailures;
    for (std::size_t m = 0; m < values.size(); ++m) {
      if (values[m].empty()) continue;
      MatrixCell cell{.metric = m, .values = values[m], .median = stats::median(values[m])};
      cell.interval = stats::median_interval(values[m]);
      variant.cells.push_back(std::move(cell));
    }
    matrix_.variants.push_back(std::move(variant));
  }

  /// Values of two variants from the rounds that both have.
  [[nodiscard]] std::pair<std::vector<double>, std::vector<double>> pairs(std::size_t baseline, std::size_t variant,
                                                                          const std::string& metric) const {
    std::map<std::int64_t, std::pair<std::optional<double>, std::optional<double>>> rounds;
    for (const auto& sample : samples_) {
      const auto at = static_cast<std::size_t>(sample.slot.variant);
      if (!is_measured(sample.run.outcome)) continue;
      if (at == baseline) rounds[sample.slot.round].first = value(sample, metric);
      if (at == variant) rounds[sample.slot.round].second = value(sample, metric);
    }
    std::pair<std::vector<double>, std::vector<double>> result;
    for (const auto& [round, values] : rounds) {
      if (!values.first || !values.second) continue;
      result.first.push_back(*values.first);
      result.second.push_back(*values.second);
    }
    return result;
  }

  void judge_against_baseline() {
    const auto found = std::find_if(matrix_.variants.begin(), matrix_.variants.end(),
                                    [](const auto& variant) { return variant.baseline; });
    const auto baseline = static_cast<std::size_t>(found - matrix_.variants.begin());
    std::vector<MetricVerdict> verdicts;
    std::vector<MatrixCell*> cells;
    std::vector<std::size_t> owners;
    for (std::size_t v = 0; v < matrix_.variants.size(); ++v) {
      if (v == baseline) continue;
      for (auto& cell : matrix_.variants[v].cells) {
        const auto& metric = matrix_.metrics[cell.metric];
        auto [before, after] = pairs(baseline, v, metric.id);
        verdicts.push_back({.id = metric.id,
                            .unit = metric.unit,
                            .better = metric.better,
                            .a = std::move(before),
                            .b = std::move(after)});
        verdicts.back().auxiliary = auxiliary(metric.id);
        cells.push_back(&cell);
        owners.push_back(v);
      }
    }
    judge(verdicts, {.effect = options_.effect, .alpha = options_.alpha, .paired = true, .sequential = false}, false);
    std::map<std::size_t, std::string> distrust;
    for (std::size_t v = 0; v < matrix_.variants.size(); ++v) {
      if (v != baseline) distrust[v] = disturbance(baseline, v);
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto& cause = distrust[owners[i]];
      if (!cause.empty()) {
        verdicts[i].verdict = Verdict::unreliable;
        verdicts[i].reason = cause;
      }
      cells[i]->verdict = std::move(verdicts[i]);
    }
  }

  /// Measured anyway, and asked for by nobody: it takes no part in the correction for many metrics.
  [[nodiscard]] bool auxiliary(const std::string& metric) const {
    const bool objective =
        std::find(spec_.objectives.begin(), spec_.objectives.end(), metric) != spec_.objectives.end();
    const auto& declared = spec_.variants.front().command.metrics;
    return is_auxiliary(metric) && metric != kGpuEnergy && !objective &&
           std::none_of(declared.begin(), declared.end(), [&](const auto& item) { return item.name == metric; });
  }

  /// What the machine did to one of the two and not to the other.
  [[nodiscard]] std::string disturbance(std::size_t baseline, std::size_t variant) const {
    std::vector<Environment> a, b;
    for (const auto& sample : samples_) {
      if (!is_measured(sample.run.outcome)) continue;
      if (static_cast<std::size_t>(sample.slot.variant) == baseline) a.push_back(sample.run.environment);
      if (static_cast<std::size_t>(sample.slot.variant) == variant) b.push_back(sample.run.environment);
    }
    const auto differences = compare_environments(a, b);
    return differences.empty() ? "" : differences.front().cause;
  }

  [[nodiscard]] std::optional<std::size_t> index_of(const std::string& metric) const {
    for (std::size_t m = 0; m < matrix_.metrics.size(); ++m) {
      if (matrix_.metrics[m].id == metric) return m;
    }
    return std::nullopt;
  }

  /// Those of throughput and p50 that exist, else what the command declares, else its time; and the cost.
  [[nodiscard]] std::vector<std::string> usual_objectives() const {
    std::vector<std::string> objectives;
    for (const char* id : {"throughput", "p50"}) {
      if (index_of(id)) objectives.emplace_back(id);
    }
    if (objectives.empty() && !spec_.variants.empty()) {
      for (const auto& metric : spec_.variants.front().command.metrics) {
        const auto index = index_of(metric.name);
        if (index && matrix_.metrics[*index].better != Better::neither) objectives.push_back(metric.name);
      }
    }
    if (objectives.empty() && index_of("time")) objectives.emplace_back("time");
    if (index_of("cost")) objectives.emplace_back("cost");
    return objectives;
  }

  Status find_front() {
    matrix_.objectives = spec_.objectives;
    if (matrix_.objectives.empty()) {
      matrix_.objectives = usual_objectives();
    }
    std::vector<std::size_t> metrics;
    for (const auto& id : matrix_.objectives) {
      const auto index = index_of(id);
      const bool any = !matrix_.metrics.empty();
      if (index) metrics.push_back(*index);
      if (index || !any) continue;
      std::vector<std::string> ids;
      for (const auto& metric : matrix_.metrics) ids.push_back(metric.id);
      const auto meant = nearest(id, ids);
      return data_error("the objective '" + id + "' is no metric of these runs",
                        (meant.empty() ? "" : "did you mean '" + meant + "'? ") + "metrics: " + join(ids, ", "));
    }
    std::vector<std::vector<double>> points;
    for (const auto& variant : matrix_.variants) {
      auto& point = points.emplace_back();
      for (const auto m : metrics) {
        const auto* cell = cell_of(variant, m);
        const double sign = matrix_.metrics[m].better == Better::higher ? -1 : 1;
        point.push_back(cell == nullptr ? std::numeric_limits<double>::quiet_NaN() : sign * cell->median);
      }
    }
    const auto front = pareto_front(points);
    for (std::size_t v = 0; v < matrix_.variants.size(); ++v) {
      matrix_.variants[v].on_front = !metrics.empty() && front[v];
    }
    return {};
  }

  void add_notes() {
    const bool samples = std::any_of(spec_.variants.begin(), spec_.variants.end(),
                                     [](const auto& variant) { return variant.samples > 0; });
    const bool prices = std::any_of(spec_.variants.begin(), spec_.variants.end(),
                                    [](const auto& variant) { return variant.price_per_hour > 0; });
    if (!index_of("throughput")) {
      matrix_.notes.emplace_back("no throughput: the file does not say how many samples a run processes");
    }
    if (!index_of("gpu_energy")) matrix_.notes.emplace_back("no energy: no GPU with an energy counter is here");
    if (index_of("gpu_energy") && !samples) matrix_.notes.emplace_back("no energy per 1000 samples without samples");
    if (!prices) matrix_.notes.emplace_back("no cost: the file has no price_per_hour");
  }

  const MatrixSpec& spec_;
  const std::vector<AbSample>& samples_;
  const MatrixOptions& options_;
  std::vector<Derived> derived_;
  Matrix matrix_;
};

}  // namespace

Result<Matrix> judge_matrix(const MatrixSpec& spec, const std::vector<AbSample>& samples,
                            const MatrixOptions& options) {
  return MatrixJudge(spec, samples, options).judged();
}

std::vector<bool> pareto_front(const std::vector<std::vector<double>>& points) {
  const auto known = [](const std::vector<double>& point) {
    return std::all_of(point.begin(), point.end(), [](double x) { return std::isfinite(x); });
  };
  const auto dominates = [](const std::vector<double>& a, const std::vector<double>& b) {
    bool better = false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] > b[i]) return false;
      better = better || a[i] < b[i];
    }
    return better;
  };
  std::vector<bool> front;
  for (const auto& point : points) {
    front.push_back(known(point) && std::none_of(points.begin(), points.end(), [&](const auto& other) {
                      return known(other) && dominates(other, point);
                    }));
  }
  return front;
}

}  // namespace warpmark::validate
