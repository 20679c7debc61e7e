// Comparison as JSON, "warpmark.compare/1". Its samples are kept in it.
#include <algorithm>
#include <functional>

#include "base/json.h"
#include "model/comparison.h"
#include "model/json/json_parts.h"
#include "model/matrix.h"
#include "model/names.h"
#include "model/price/price.h"

namespace warpmark {
namespace {

constexpr Field kTestResultFields[] = {
    field<&TestResult::name>("name", "mann_whitney, welch_t_log, ..."),
    field<&TestResult::p>("p", "Two-sided; of an equivalence test that of \"no difference that matters\".")
        .within(kShare),
    field<&TestResult::estimate>("estimate", "A ratio b / a where the test has one."),
    inlined<&TestResult::interval>(kCiInterval),
};
constexpr RecordOf<TestResult> kTestResult{"test", "", kTestResultFields};

constexpr auto has_a = [](const MetricVerdict& metric) { return !metric.a.empty(); };
constexpr auto has_b = [](const MetricVerdict& metric) { return !metric.b.empty(); };

constexpr Field kMetricVerdictFields[] = {
    field<&MetricVerdict::id>("id"),
    field<&MetricVerdict::unit>("unit"),
    field<&MetricVerdict::better>("better"),
    field<&MetricVerdict::verdict>("verdict"),
    field<&MetricVerdict::reason>("reason", "Why it is inconclusive or unreliable.").unless_empty(),
    field<&MetricVerdict::more_rounds>("more_rounds", "Of an inconclusive one: about how many more would decide.")
        .within(kAtLeastOne),
    field<&MetricVerdict::decidable_effect>(
        "decidable_effect", "Where those are beyond reach: the smallest effect that can be decided within it."),
    field<&MetricVerdict::auxiliary>("auxiliary", "For information only: part of no decision.").unless_empty(),
    derived("n_a", "", [](const MetricVerdict& metric) { return metric.a.size(); }).within(kNonNegative),
    derived("n_b", "", [](const MetricVerdict& metric) { return metric.b.size(); }).within(kNonNegative),
    field<&MetricVerdict::median_a>("median_a", "Absent where A has no values.").when(has_a),
    field<&MetricVerdict::median_b>("median_b").when(has_b),
    field<&MetricVerdict::ratio>(
        "ratio",
        "B / A: pseudo-median of the rounds' ratios (of logarithms) in a sequential comparison, "
        "else their geometric mean; absent where it is undefined.")
        .within(kPositive),
    inlined<&MetricVerdict::interval>(kCiInterval),
    derived("speedup", "A / B, of a time: above 1 where B is faster.",
            [](const MetricVerdict& metric) {
              const bool time = metric.unit == "s" && metric.ratio && *metric.ratio > 0;
              return time ? std::optional(1 / *metric.ratio) : std::nullopt;
            }),
    derived("saved_bytes", "A - B, of an amount of memory.",
            [](const MetricVerdict& metric) {
              const bool memory = metric.unit == "B" && !metric.a.empty() && !metric.b.empty();
              return memory ? std::optional(metric.median_a - metric.median_b) : std::nullopt;
            }),
    field<&MetricVerdict::p>("p", "Of \"no difference\", two-sided.").within(kShare),
    field<&MetricVerdict::adjusted_p>("adjusted_p", "Over all metrics of the comparison (Holm).").within(kShare),
    field<&MetricVerdict::tests>("tests", "Further looks at the same samples.", kTestResult),
    field<&MetricVerdict::a>("a", "One value a round."),
    field<&MetricVerdict::b>("b"),
};
constexpr RecordOf<MetricVerdict> kMetricVerdict{"metric_verdict", "", kMetricVerdictFields};

/// A metric, with what the prices of its comparison make of it.
struct PricedMetric {
  const MetricVerdict& metric;
  std::optional<double> per_price;
};
constexpr Field kPricedMetricFields[] = {
    derived(
        nullptr, "", kMetricVerdict, [](const PricedMetric& priced) -> const auto& { return priced.metric; }),
    field<&PricedMetric::per_price>("per_price", "Performance per price of an hour, B / A."),
};
constexpr RecordOf<PricedMetric> kPricedMetric{"metric", "", kPricedMetricFields};

constexpr Name kGateKinds[] = {{false, "metric"}, {true, "command"}};
constexpr auto of_a_metric = [](const AccuracyVerdict& gate) { return !gate.command; };

constexpr Field kAccuracyVerdictFields[] = {
    field<&AccuracyVerdict::name>("name", "The metric, or the command."),
    field<&AccuracyVerdict::command>("kind", "A command is judged by its exit status.").named(kGateKinds),
    field<&AccuracyVerdict::outcome>("outcome"),
    field<&AccuracyVerdict::reason>("reason").unless_empty(),
    field<&AccuracyVerdict::n>("n", "Rounds; of a command the runs of B.").within(kNonNegative),
    field<&AccuracyVerdict::difference>("difference", "B - A, of means; of a command, of the shares of right runs."),
    field<&AccuracyVerdict::unit>("unit").when(of_a_metric),
    field<&AccuracyVerdict::better>("better").when(of_a_metric),
    field<&AccuracyVerdict::margin>("margin", "By how much B may be worse.").within(kNonNegative).when(of_a_metric),
    field<&AccuracyVerdict::relative>("relative", "The margin is a ratio of A.").when(of_a_metric),
    field<&AccuracyVerdict::median_a>("median_a").when(of_a_metric),
    field<&AccuracyVerdict::median_b>("median_b").when(of_a_metric),
    inlined<&AccuracyVerdict::interval>(kCiInterval).when(of_a_metric),
};
constexpr RecordOf<AccuracyVerdict> kAccuracyVerdict{"accuracy", "", kAccuracyVerdictFields};

constexpr Field kCalibrationFields[] = {
    field<&MetricCalibration::id>("id"),
    field<&MetricCalibration::spread>("spread", "Standard deviation of the rounds' log ratios: about a ratio.")
        .within(kNonNegative),
    field<&MetricCalibration::false_positive_rate>(
        "false_positive_rate", "Share of random relabelings of these rounds that were called better or worse.")
        .within(kShare),
    field<&MetricCalibration::detectable>("detectable",
                                          "Smallest relative difference found with 90 % in as many rounds.")
        .within(kNonNegative),
    field<&MetricCalibration::rounds_for_effect>("rounds_for_effect", "For the smallest effect that matters.")
        .within(kNonNegative),
    field<&MetricCalibration::autocorrelation>("autocorrelation", "Lag 1, of the runs in the order taken."),
};
constexpr RecordOf<MetricCalibration> kCalibration{"calibration", "What an A/A comparison shows about a metric.",
                                                   kCalibrationFields};

constexpr Name kVariantNames[] = {{0, "a"}, {1, "b"}};
constexpr Field kVariantSampleFields[] = {
    field<&VariantSample::variant>("variant").named(kVariantNames),
    field<&VariantSample::round>("round").within(kNonNegative),
    field<&VariantSample::started>("started", "UTC.").unless_empty(),
    field<&VariantSample::values>("values", "In the order of the metrics."),
    field<&VariantSample::disturbance>(
        "disturbance", "Shares of the run's time: stolen, waiting for a CPU, and without one, added up."),
};
constexpr RecordOf<VariantSample> kVariantSample{"sample", "", kVariantSampleFields};

constexpr Field kMonthlySavingFields[] = {
    field<&MonthlySaving::before>("before"),         field<&MonthlySaving::after>("after"),
    field<&MonthlySaving::saved>("saved"),           field<&MonthlySaving::saved_low>("saved_low"),
    field<&MonthlySaving::saved_high>("saved_high"),
};

/// A verdict, or what a gate of accuracy makes of it.
enum class Decision { better, same, worse, different, inconclusive, unreliable, rejected };
constexpr Name kDecisionNames[] = {{Verdict::better, "better"},
                                   {Verdict::same, "same"},
                                   {Verdict::worse, "worse"},
                                   {Verdict::different, "different"},
                                   {Verdict::inconclusive, "inconclusive"},
                                   {Verdict::unreliable, "unreliable"},
                                   {Decision::rejected, "rejected"}};
constexpr Names names_of(Decision) { return kDecisionNames; }

Decision decision(const Comparison& comparison) {
  return rejecting_gate(comparison) != nullptr ? Decision::rejected : static_cast<Decision>(overall(comparison));
}

std::vector<PricedMetric> priced(const Comparison& comparison) {
  std::vector<PricedMetric> metrics;
  for (const auto& metric : comparison.metrics) metrics.push_back({metric, performance_per_price(comparison, metric)});
  return metrics;
}

constexpr Field kComparisonFields[] = {
    field<&Comparison::id>("id"),
    field<&Comparison::started>("started", "UTC."),
    field<&Comparison::command>("command"),
    field<&Comparison::name_a>("a", "What A is: a command, a revision, a configuration."),
    field<&Comparison::name_b>("b"),
    field<&Comparison::session_a>("session_a", "Session of A; of several parts, the newest one.").unless_empty(),
    field<&Comparison::session_b>("session_b").unless_empty(),
    derived("verdict", "The gravest of all metrics; rejected where B is less right than A.",
            [](const Comparison& comparison) { return decision(comparison); }),
    field<&Comparison::effect>("effect", "Smallest relative difference that matters.").within(kPositive),
    field<&Comparison::alpha>("alpha").within(kBetweenZeroAndOne),
    field<&Comparison::paired>("paired"),
    field<&Comparison::sequential>("sequential", "p and intervals are valid at any time."),
    field<&Comparison::interleave>(
        "interleave",
        "pair: each round runs each variant once, in random order; block: twice; none: all of "
        "A, then all of B, which takes a drift of the machine for a difference."),
    field<&Comparison::seed>("seed").decimal_text(),
    field<&Comparison::rounds>("rounds").within(kNonNegative),
    field<&Comparison::stopped_because>("stopped_because").unless_empty(),
    field<&Comparison::metrics>("metrics", "", kMetricVerdict).only_read(),
    derived("metrics", "", kPricedMetric, [](const Comparison& comparison) { return priced(comparison); }),
    field<&Comparison::machine_a>("machine_a", "Of --across-machines: where A was measured.").unless_empty(),
    field<&Comparison::machine_b>("machine_b").unless_empty(),
    field<&Comparison::price_a>("price_a", "Of an hour on the machine of A.").within(kPositive),
    field<&Comparison::price_b>("price_b").within(kPositive),
    field<&Comparison::monthly_cost>("monthly_cost", "Of running A, of --monthly-cost."),
    derived("monthly",
            "Of --monthly-cost: what a month costs before and after, and what that saves, with its interval.",
            kMonthlySaving, [](const Comparison& comparison) { return monthly_saving(comparison); }),
    field<&Comparison::accuracy>("accuracy", "Gates.", kAccuracyVerdict).unless_empty(),
    field<&Comparison::disturbances>("disturbances", "Differences in how the machine treated the variants.",
                                     kDisturbance),
    field<&Comparison::calibration>("calibration", "", kCalibration).unless_empty(),
    field<&Comparison::samples>("samples", "In the order taken.", kVariantSample),
    field<&Comparison::machine>("machine", "", kMachine),
    field<&Comparison::build>("build", "", kBuild),
};

constexpr Field kAgainstBaselineFields[] = {
    field<&MetricVerdict::verdict>("verdict"),
    field<&MetricVerdict::ratio>("ratio", "Variant / baseline."),
    field<&MetricVerdict::interval>("interval", "Of the ratio.", kInterval),
    field<&MetricVerdict::p>("p").within(kShare),
    field<&MetricVerdict::adjusted_p>("adjusted_p").within(kShare),
    field<&MetricVerdict::reason>("reason", "Why it is inconclusive or unreliable.").unless_empty(),
    field<&MetricVerdict::more_rounds>("more_rounds").within(kAtLeastOne),
};
constexpr RecordOf<MetricVerdict> kAgainstBaseline{"against_baseline", "", kAgainstBaselineFields};

constexpr Field kMatrixAxisFields[] = {
    field<&MatrixAxis::name>("name"),
    field<&MatrixAxis::labels>("labels"),
};
constexpr RecordOf<MatrixAxis> kMatrixAxis{"axis", "", kMatrixAxisFields};

constexpr Field kMatrixMetricFields[] = {
    field<&MatrixMetric::id>("id", "throughput, p50, p99, peak_memory, energy, cost, or the command's own"),
    field<&MatrixMetric::unit>("unit"),
    field<&MatrixMetric::better>("better"),
};
constexpr RecordOf<MatrixMetric> kMatrixMetric{"metric", "", kMatrixMetricFields};

constexpr Field kMatrixCellFields[] = {
    field<&MatrixCell::median>("median"),
    field<&MatrixCell::interval>("interval", "Of the median.", kInterval),
    field<&MatrixCell::values>("values", "One a successful run, in order.").ruled(R"({"minItems": 1})"),
    field<&MatrixCell::verdict>("against_baseline", "Absent for the baseline.", kAgainstBaseline),
};
constexpr RecordOf<MatrixCell> kMatrixCell{"cell_values", "", kMatrixCellFields};

// What a matrix knows of its cells and variants by index, with its name.
struct NamedCell {
  std::string metric;
  MatrixCell cell;
};
constexpr Field kNamedCellFields[] = {
    field<&NamedCell::metric>("metric", "Its id."),
    inlined<&NamedCell::cell>(kMatrixCell),
};
constexpr RecordOf<NamedCell> kNamedCell{"cell", "", kNamedCellFields};

struct NamedVariant {
  std::vector<NamedText> choice;
  std::vector<NamedCell> cells;
  MatrixVariant variant;
};
constexpr Field kNamedVariantFields[] = {
    field<&NamedVariant::variant, &MatrixVariant::name>("name", "precision=f32 batch=8"),
    keyed<&NamedVariant::choice, &NamedText::first, &NamedText::second>("choice", "The label of each axis."),
    field<&NamedVariant::variant, &MatrixVariant::baseline>("baseline"),
    field<&NamedVariant::variant, &MatrixVariant::runs>("runs", "That succeeded.").within(kNonNegative),
    field<&NamedVariant::variant, &MatrixVariant::failures>("failures").within(kNonNegative),
    field<&NamedVariant::variant, &MatrixVariant::stopped_early>("stopped_early",
                                                                 "It failed too often and was not run any more."),
    field<&NamedVariant::variant, &MatrixVariant::reason>("reason", "Of the last failure.").unless_empty(),
    field<&NamedVariant::variant, &MatrixVariant::hint>("hint").unless_empty(),
    field<&NamedVariant::variant, &MatrixVariant::on_front>(
        "on_front", "No other variant is at least as good in all objectives and better in one."),
    field<&NamedVariant::variant, &MatrixVariant::command>("command").unless_empty(),
    field<&NamedVariant::cells>("cells", "", kNamedCell),
};
constexpr RecordOf<NamedVariant> kNamedVariant{"variant", "", kNamedVariantFields};

std::vector<NamedVariant> named_variants(const Matrix& matrix) {
  std::vector<NamedVariant> variants;
  for (const auto& variant : matrix.variants) {
    auto& named = variants.emplace_back(NamedVariant{{}, {}, variant});
    for (std::size_t i = 0; i < matrix.axes.size(); ++i) {
      named.choice.emplace_back(matrix.axes[i].name, matrix.axes[i].labels[variant.choice[i]]);
    }
    for (const auto& cell : variant.cells) named.cells.push_back({matrix.metrics[cell.metric].id, cell});
  }
  return variants;
}

template <typename Items, typename Name = std::identity>
Result<std::size_t> place_of(const std::string& name, const Items& items, Name of = {}) {
  const auto found = std::ranges::find(items, name, of);
  if (found == items.end()) return data_error("a variant with an unknown '" + name + "'");
  return static_cast<std::size_t>(found - items.begin());
}

constexpr Field kMatrixFields[] = {
    field<&Matrix::id>("id"),
    field<&Matrix::name>("name"),
    field<&Matrix::summary>("summary").unless_empty(),
    field<&Matrix::started>("started", "UTC."),
    field<&Matrix::command>("command").unless_empty(),
    field<&Matrix::file>("file"),
    field<&Matrix::currency>("currency", "Of prices.").unless_empty(),
    field<&Matrix::rounds>("rounds", "Wanted.").within(kAtLeastOne),
    field<&Matrix::seed>("seed").decimal_text(),
    field<&Matrix::effect>("effect").within(kPositive),
    field<&Matrix::alpha>("alpha").within(kBetweenZeroAndOne),
    field<&Matrix::stopped_because>("stopped_because"),
    field<&Matrix::axes>("axes", "", kMatrixAxis).ruled(R"({"minItems": 1})"),
    field<&Matrix::metrics>("metrics", "", kMatrixMetric),
    field<&Matrix::objectives>("objectives", "Metrics that decide the front."),
    derived("variants", "", kNamedVariant, [](const Matrix& matrix) { return named_variants(matrix); })
        .ruled(R"({"minItems": 2})"),
    field<&Matrix::notes>("notes", "What could not be measured, and why."),
    field<&Matrix::machine>("machine", "", kMachine),
    field<&Matrix::build>("build", "", kBuild),
};

}  // namespace

constexpr RecordOf<MonthlySaving> kMonthlySaving{"monthly_saving", "", kMonthlySavingFields};
constexpr RecordOf<Comparison> kComparison{
    "comparison",
    "What `warpmark compare --json` writes: the verdict on B against A, metric by metric, with all samples.",
    kComparisonFields, kCompareSchema};

const AccuracyVerdict* rejecting_gate(const Comparison& comparison) {
  const auto gate = std::ranges::find(comparison.accuracy, AccuracyOutcome::rejected, &AccuracyVerdict::outcome);
  return gate == comparison.accuracy.end() || overall(comparison) == Verdict::unreliable ? nullptr : &*gate;
}

Verdict overall(const Comparison& comparison) {
  for (const Verdict verdict : {Verdict::unreliable, Verdict::worse, Verdict::inconclusive, Verdict::different,
                                Verdict::better, Verdict::same}) {
    for (const auto& metric : comparison.metrics) {
      if (metric.verdict == verdict && !metric.auxiliary) return verdict;
    }
    for (const auto& gate : comparison.accuracy) {
      if (verdict == Verdict::inconclusive && gate.outcome == AccuracyOutcome::inconclusive) return verdict;
    }
  }
  return Verdict::inconclusive;
}

Json to_json(const Comparison& comparison) { return write(kComparison, comparison); }

Result<Comparison> comparison_from_json(const Json& json) { return read(kComparison, json); }

constexpr RecordOf<Matrix> kMatrix{"matrix",
                                   "Result of `warpmark matrix FILE`. Numbers are SI; ratios are variant / baseline.",
                                   kMatrixFields, kMatrixSchema};

const MatrixCell* cell_of(const MatrixVariant& variant, std::size_t metric) {
  const auto found = std::find_if(variant.cells.begin(), variant.cells.end(),
                                  [&](const MatrixCell& cell) { return cell.metric == metric; });
  return found == variant.cells.end() ? nullptr : &*found;
}

Json to_json(const Matrix& matrix) { return write(kMatrix, matrix); }

Result<Matrix> matrix_from_json(const Json& json) {
  WM_ASSIGN(Matrix matrix, read(kMatrix, json));
  for (const Json& one : json.value("variants", Json::array())) {
    WM_ASSIGN(NamedVariant named, read(kNamedVariant, one));
    MatrixVariant& variant = matrix.variants.emplace_back(std::move(named.variant));
    for (const MatrixAxis& axis : matrix.axes) {
      const auto choice = std::ranges::find(named.choice, axis.name, &NamedText::first);
      if (choice == named.choice.end()) return data_error("a variant without its " + axis.name);
      WM_ASSIGN(const std::size_t label, place_of(choice->second, axis.labels));
      variant.choice.push_back(label);
    }
    for (NamedCell& cell : named.cells) {
      WM_ASSIGN(cell.cell.metric, place_of(cell.metric, matrix.metrics, &MatrixMetric::id));
      variant.cells.push_back(std::move(cell.cell));
    }
  }
  return matrix;
}

}  // namespace warpmark
