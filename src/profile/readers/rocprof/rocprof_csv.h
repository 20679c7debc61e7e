// The CSV files of AMD's rocprofv3: one for each kind of record of a process.
#pragma once

#include <filesystem>
#include <vector>

namespace warpmark::profile {

/// Whether another file of `files` has the kernels of the same process: its reader reads this one as well.
[[nodiscard]] bool is_read_with_kernels(const std::filesystem::path& file,
                                        const std::vector<std::filesystem::path>& files);

}  // namespace warpmark::profile
