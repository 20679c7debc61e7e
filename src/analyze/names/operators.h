// What the names of PyTorch's operators, and of the ranges of its autograd, tell.
#pragma once

#include <cstdint>
#include <string_view>

namespace warpmark::analyze {

inline constexpr const char* kOneHotOperator = "aten::one_hot";

/// Tensor.item().
[[nodiscard]] bool reads_value(std::string_view op);
/// Its result only answers a question, so that nothing but the host that reads it needs it.
[[nodiscard]] bool asks_question(std::string_view op);
[[nodiscard]] bool is_batch_norm(std::string_view op);
[[nodiscard]] bool is_convolution(std::string_view op);
/// By index, as from a table.
[[nodiscard]] bool picks_rows(std::string_view op);
[[nodiscard]] bool joins_tensors(std::string_view op);
[[nodiscard]] bool is_sum(std::string_view op);
/// A range around the gradients of parameters.
[[nodiscard]] bool accumulates_gradients(std::string_view range);
/// Launched by PyTorch's reducer: between the gradients and the buckets that are sent.
[[nodiscard]] bool copies_gradients(std::string_view op);

/// In a loop of recurrent cells: a cell, or what makes the next input of the last output, or may.
enum class CellRole : std::uint8_t { other, forward, backward, breaks };
[[nodiscard]] CellRole cell_role(std::string_view op);

/// In autograd's anomaly mode: a function of the backward pass that has an output, and what looks for NaN in it.
enum class AnomalyRole : std::uint8_t { none, function, finds_nan, combines, reads };
[[nodiscard]] AnomalyRole anomaly_role(std::string_view op);

}  // namespace warpmark::analyze
