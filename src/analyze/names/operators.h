// What the names of PyTorch's operators, and of the ranges of its autograd, tell.
#pragma once

#include <string_view>

namespace warpmark::analyze {

/// Tensor.item().
[[nodiscard]] bool reads_value(std::string_view op);
/// A range around the gradients of parameters.
[[nodiscard]] bool accumulates_gradients(std::string_view range);

}  // namespace warpmark::analyze
