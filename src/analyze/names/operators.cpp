#include "analyze/names/operators.h"

#include "analyze/names/words.h"

namespace warpmark::analyze {

bool reads_value(std::string_view op) { return op == "aten::item"; }

bool accumulates_gradients(std::string_view range) { return holds_any(range, {"AccumulateGrad"}); }

AnomalyRole anomaly_role(std::string_view op) {
  if (op.starts_with("autograd::engine::evaluate_function:")) {
    const bool accumulates = accumulates_gradients(op);  // has no output
    return accumulates ? AnomalyRole::none : AnomalyRole::function;
  }
  if (op == "aten::isnan") return AnomalyRole::finds_nan;
  if (op == "aten::_is_any_true" || op == "aten::any") return AnomalyRole::combines;
  return reads_value(op) ? AnomalyRole::reads : AnomalyRole::none;
}

}  // namespace warpmark::analyze
