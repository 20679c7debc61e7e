// The GPUs that the recorded program sees, as the driver describes them: how many multiprocessors there are decides
// whether a kernel fills the GPU.
#pragma once

#include <string>
#include <vector>

namespace warpmark::profile::module {

/// One line a GPU, as the metadata "gpu" of recordings has it: index, name, bytes of memory, multiprocessors, compute
/// capability (two numbers), most threads of a multiprocessor and uuid, with '|' between them. Asks the driver library
/// that the program has loaded; empty before the program has initialized it, or if the driver does not answer.
[[nodiscard]] std::vector<std::string> gpu_facts();

}  // namespace warpmark::profile::module
