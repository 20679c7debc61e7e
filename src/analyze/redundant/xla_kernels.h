// What the kernels of XLA's programs (JAX, TensorFlow) tell, which are named after how they were fused.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analyze/recorded/work_list.h"
#include "model/profile/timeline.h"

namespace warpmark::analyze {

/// The range of the execution of an XLA program that launched the work, kNoEvent if none was recorded.
[[nodiscard]] EventIndex xla_module_of(const Timeline& timeline, const WorkList& list, std::size_t work);

/// Executions of XLA programs that launched what began in [from, to), 0 if no ranges tell.
[[nodiscard]] double count_xla_executions(const Timeline& timeline, const WorkList& list, std::int64_t from_ns,
                                          std::int64_t to_ns);

/// Whether XLA saw both kernels, one after the other, and did not fuse them: both are fusions, and they are not known
/// to be launched by different executions. What different executions launch, compiling them together fuses.
[[nodiscard]] bool xla_fused_apart(const Timeline& timeline, const WorkList& list, std::size_t before,
                                   std::size_t work);

/// Attention that writes its scores: fusions between two matrix products that take twice as long as both products. The
/// scores of n tokens are n * n numbers, products with the few columns of a head make them and use them; between other
/// products lie activations, which are smaller than what is computed on them. A twentieth of
/// all time at least: a loss has such passes after the last product. `order`: works of the main stream by start.
/// Returns the fusions and the products on both sides.
[[nodiscard]] std::vector<std::size_t> find_xla_attention(const Timeline& timeline, const WorkList& list,
                                                          std::span<const std::size_t> order);

}  // namespace warpmark::analyze
