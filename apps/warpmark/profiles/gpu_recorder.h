// Whether programs are recorded by CUPTI, or by PyTorch's own profiler.
#pragma once

namespace warpmark::apps {

/// Whether an NVIDIA driver is loaded, or somebody named the CUPTI to be used (WARPMARK_CUPTI; may be null).
[[nodiscard]] bool has_gpu_recorder(const char* cupti);

}  // namespace warpmark::apps
