// A trace as the PyTorch profiler writes it, of any size, for comparing readers. What kinds of rows there are, how
// often, how long their texts and what their values look like follows recordings of ResNet-50, GPT and LSTM training on
// an H100 (PyTorch 2.9, record_shapes): of 100 rows about 45 operators, 28 flow ends, 13 runtime and driver calls, 11
// kernels, copies and memsets, 3 others; 330 bytes a row.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace warpmark::bench {

struct GeneratedTrace {
  std::int64_t rows = 0;
  std::int64_t bytes = 0;
};

/// The same bytes for the same size on every machine.
[[nodiscard]] Result<GeneratedTrace> generate_trace(const std::filesystem::path& path, std::int64_t bytes);

}  // namespace warpmark::bench
