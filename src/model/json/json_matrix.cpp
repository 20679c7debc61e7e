#include <algorithm>
#include <functional>

#include "base/json.h"
#include "model/json/json_parts.h"
#include "model/matrix.h"
#include "model/names.h"

namespace warpmark {
namespace {

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
    field<&NamedVariant::variant, &MatrixVariant::given_up>("given_up",
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
