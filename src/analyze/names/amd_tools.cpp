#include "analyze/names/amd_tools.h"

#include <string_view>

#include "analyze/names/api_calls.h"

namespace warpmark::analyze {

namespace {

struct Replaced {
  std::string_view command;  ///< which begins so
  const char* with;
};
// Documentation of ROCm: "ROCm Compute Profiler", "Using rocprofv3", "AMD SMI CLI tool".
constexpr Replaced kCommands[] = {
    {"ncu ", "rocprof-compute profile --name run -- <command>"},
    {"warpmark profile --ncu", "rocprof-compute profile --name run -- <command>"},
    {"warpmark profile", "rocprofv3 --sys-trace --output-format json -- <command>"},
    {"nsys profile", "rocprofv3 --sys-trace --output-format json -- <command>"},
    {"nvidia-smi pmon", "amd-smi process"},
    {"nvidia-smi", "amd-smi monitor"},
    {"CUDA_MODULE_LOADING", ""},
};

}  // namespace

std::string of_amd(const std::string& snippet) {
  for (const Replaced& one : kCommands) {
    if (snippet.starts_with(one.command)) return one.with;
  }
  // PyTorch and CuPy keep CUDA's names; HIP's runtime has those of CUDA's with another beginning.
  const bool of_framework = snippet.find("torch") != std::string::npos || snippet.find("cupy") != std::string::npos;
  std::string text = snippet;
  for (auto at = text.find("cuda"); !of_framework && at != std::string::npos; at = text.find("cuda", at))
    text.replace(at, 4, "hip");
  return text;
}

bool names_hip_launch(std::string_view call) { return call.starts_with("hip") && is_launch_call(call); }

}  // namespace warpmark::analyze
