// Filling and checking buffers in host memory with exact values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/calls/engine.h"

namespace warpmark::collectives {

/// Writes `count` elements of rank `rank` from index 0 on.
void fill_exact(void* to, DataType type, std::int64_t count, const ExactInput& input, std::uint64_t salt, int rank);

/// How many of the elements are not what they must be.
[[nodiscard]] std::int64_t count_wrong(const void* data, DataType type, std::int64_t count, const Expected& expected);

/// The value that must stand at an index of the receive region.
[[nodiscard]] std::int64_t expected_value(const Expected& expected, std::uint64_t index);

}  // namespace warpmark::collectives
