// What the names of PyTorch's operators, and of the ranges of its autograd, tell.
#pragma once

#include <cstdint>
#include <string_view>

namespace warpmark::analyze {

/// Tensor.item().
[[nodiscard]] bool reads_value(std::string_view op);
/// A range around the gradients of parameters.
[[nodiscard]] bool accumulates_gradients(std::string_view range);

/// In autograd's anomaly mode: a function of the backward pass that has an output, and what looks for NaN in it.
enum class AnomalyRole : std::uint8_t { none, function, finds_nan, combines, reads };
[[nodiscard]] AnomalyRole anomaly_role(std::string_view op);

}  // namespace warpmark::analyze
