// Results in files: written as warpmark.results/1, which every verb reads; read from any format that
// `warpmark history import` reads.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <warpmark/measure.hpp>

namespace warpmark::v0 {

/// The file is replaced as a whole. Environment error where it cannot be written.
[[nodiscard]] Result<std::string> write_results(const std::string& path, std::span<const Measurement> measurements);

/// All results that have a time, of all sessions in the file.
[[nodiscard]] Result<std::vector<Measurement>> read_results(const std::string& path);

}  // namespace warpmark::v0
