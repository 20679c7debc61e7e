#include "analyze/names/operators.h"

#include "analyze/names/words.h"

namespace warpmark::analyze {

bool reads_value(std::string_view op) { return op == "aten::item"; }

bool asks_question(std::string_view op) {
  for (const std::string_view one :
       {"aten::isfinite", "aten::isnan", "aten::isinf", "aten::all", "aten::any", "aten::equal", "aten::allclose",
        "aten::isclose", "aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge", "aten::logical_and",
        "aten::logical_or", "aten::logical_not"}) {
    if (op == one) return true;
  }
  return false;
}

bool picks_rows(std::string_view op) {
  return op == "aten::index" || op == "aten::index_select" || op == "aten::embedding" || op == "aten::gather" ||
         op == "aten::take";
}

bool joins_tensors(std::string_view op) { return op == "aten::cat"; }

bool is_sum(std::string_view op) { return contains_any(op, {"aten::sum", "aten::mean"}); }

bool accumulates_gradients(std::string_view range) { return holds_any(range, {"AccumulateGrad"}); }

bool copies_gradients(std::string_view op) {
  return op.starts_with("torch::distributed::reducer::") || op.starts_with("torch.distributed.ddp.reducer::");
}

CellRole cell_role(std::string_view op) {
  for (const std::string_view one : {"aten::gru_cell", "aten::lstm_cell", "aten::rnn_tanh_cell", "aten::rnn_relu_cell"})
    if (op == one) return CellRole::forward;
  for (const std::string_view one :
       {"aten::_thnn_fused_gru_cell_backward", "aten::_thnn_fused_lstm_cell_backward_impl"})
    if (op == one) return CellRole::backward;
  for (const std::string_view one :
       {"aten::argmax", "aten::topk", "aten::multinomial", "aten::embedding", "aten::_softmax", "aten::softmax",
        "aten::bmm", "aten::baddbmm", "aten::scaled_dot_product_attention", "aten::convolution"})
    if (op == one) return CellRole::breaks;
  return CellRole::other;
}

AnomalyRole anomaly_role(std::string_view op) {
  if (op.starts_with("autograd::engine::evaluate_function:")) {
    const bool accumulates = accumulates_gradients(op);  // has no output
    return accumulates ? AnomalyRole::none : AnomalyRole::function;
  }
  if (op == "aten::isnan") return AnomalyRole::finds_nan;
  if (op == "aten::_is_any_true" || op == "aten::any") return AnomalyRole::combines;
  return reads_value(op) ? AnomalyRole::reads : AnomalyRole::none;
}

bool is_batch_norm(std::string_view op) { return contains_any(op, {"batch_norm"}); }

bool is_convolution(std::string_view op) { return contains_any(op, {"convolution", "::conv"}); }

}  // namespace warpmark::analyze
