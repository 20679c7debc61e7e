#include <algorithm>

#include "base/json.h"
#include "model/json/json.h"
#include "model/json/json_parts.h"
#include "model/matrix.h"
#include "model/names.h"

namespace warpmark {
namespace {

Json verdict_json(const MetricVerdict& verdict) {
  Json json;
  json["verdict"] = name_of(verdict.verdict);
  put_optional(json, "ratio", verdict.ratio);
  if (verdict.interval) json["interval"] = interval_json(*verdict.interval);
  put_optional(json, "p", verdict.p);
  put_optional(json, "adjusted_p", verdict.adjusted_p);
  put_text(json, "reason", verdict.reason);
  if (verdict.more_rounds) json["more_rounds"] = *verdict.more_rounds;
  return json;
}

Json cell_json(const Matrix& matrix, const MatrixCell& cell) {
  Json json;
  json["metric"] = matrix.metrics[cell.metric].id;
  json["median"] = finite_number(cell.median);
  if (cell.interval) json["interval"] = interval_json(*cell.interval);
  json["values"] = cell.values;
  if (cell.verdict) json["against_baseline"] = verdict_json(*cell.verdict);
  return json;
}

Json variant_json(const Matrix& matrix, const MatrixVariant& variant) {
  Json json;
  json["name"] = variant.name;
  json["choice"] = Json::object();
  for (std::size_t axis = 0; axis < matrix.axes.size(); ++axis) {
    json["choice"][matrix.axes[axis].name] = matrix.axes[axis].labels[variant.choice[axis]];
  }
  json["baseline"] = variant.baseline;
  json["runs"] = variant.runs;
  json["failures"] = variant.failures;
  json["given_up"] = variant.given_up;
  put_text(json, "reason", variant.reason);
  put_text(json, "hint", variant.hint);
  json["on_front"] = variant.on_front;
  put_text(json, "command", variant.command);
  json["cells"] = Json::array();
  for (const auto& cell : variant.cells) json["cells"].push_back(cell_json(matrix, cell));
  return json;
}

}  // namespace

const MatrixCell* cell_of(const MatrixVariant& variant, std::size_t metric) {
  const auto found = std::find_if(variant.cells.begin(), variant.cells.end(),
                                  [&](const MatrixCell& cell) { return cell.metric == metric; });
  return found == variant.cells.end() ? nullptr : &*found;
}

Json to_json(const Matrix& matrix) {
  Json json;
  json["schema"] = kMatrixSchema;
  json["id"] = matrix.id;
  json["name"] = matrix.name;
  put_text(json, "summary", matrix.summary);
  json["started"] = matrix.started;
  put_text(json, "command", matrix.command);
  json["file"] = matrix.file;
  put_text(json, "currency", matrix.currency);
  json["rounds"] = matrix.rounds;
  json["seed"] = std::to_string(matrix.seed);
  json["effect"] = finite_number(matrix.effect);
  json["alpha"] = finite_number(matrix.alpha);
  json["stopped_because"] = matrix.stopped_because;
  json["axes"] = Json::array();
  for (const auto& axis : matrix.axes) json["axes"].push_back({{"name", axis.name}, {"labels", axis.labels}});
  json["metrics"] = Json::array();
  for (const auto& metric : matrix.metrics) {
    json["metrics"].push_back({{"id", metric.id}, {"unit", metric.unit}, {"better", name_of(metric.better)}});
  }
  json["objectives"] = matrix.objectives;
  json["variants"] = Json::array();
  for (const auto& variant : matrix.variants) json["variants"].push_back(variant_json(matrix, variant));
  json["notes"] = matrix.notes;
  json["machine"] = to_json(matrix.machine);
  json["build"] = to_json(matrix.build);
  return json;
}

}  // namespace warpmark
