#include "analyze/names/vendors.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "analyze/names/api_calls.h"
#include "analyze/names/words.h"

namespace warpmark::analyze {

namespace {

struct Replaced {
  std::string_view text;
  std::string_view with;
};

constexpr std::string_view kRecordAmd = "rocprofv3 --sys-trace --output-format json -- <command>";
constexpr std::string_view kRecordIntel =
    "torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.XPU])";

// Commands that begin so. Documentation of ROCm: "ROCm Compute Profiler", "Using rocprofv3", "AMD SMI CLI tool";
// PyTorch on ROCm takes TF32 from hipBLASLt alone.
constexpr Replaced kCommandsOfAmd[] = {
    {"ncu ", "rocprof-compute profile --name run -- <command>"},
    {"warpmark profile --ncu", "rocprof-compute profile --name run -- <command>"},
    {"warpmark profile", kRecordAmd},
    {"nsys profile", kRecordAmd},
    {"nvidia-smi pmon", "amd-smi process"},
    {"nvidia-smi", "amd-smi monitor"},
    {"CUDA_MODULE_LOADING", ""},
    {"cudnn", ""},
    {"profile(experimental_config", ""},
    {"torch.set_float32_matmul_precision('high')",
     "os.environ['HIPBLASLT_ALLOW_TF32'] = '1'  # before import torch\ntorch.set_float32_matmul_precision('high')"},
};
// Documentation of Intel: "VTune Profiler, GPU Compute/Media Hotspots", "Intel XPU Manager, xpu-smi".
constexpr Replaced kCommandsOfIntel[] = {
    {"ncu ", "vtune -collect gpu-hotspots -- <command>"},
    {"warpmark profile --ncu", "vtune -collect gpu-hotspots -- <command>"},
    {"warpmark profile", kRecordIntel},
    {"nsys profile", kRecordIntel},
    {"nvidia-smi pmon", "xpu-smi ps"},
    {"nvidia-smi", "xpu-smi dump -d -1 -m 0,1,2,3,5"},
    {"cuda", ""},
    {"cublas", ""},
    {"cudnn", ""},
    {"CUDA_", ""},
    {"unset CUDA_LAUNCH_BLOCKING", ""},
    {"profile(experimental_config", ""},
    {"torch.cuda.set_sync_debug_mode", ""},
    {"with torch.cuda.nvtx.range('step')", "with torch.profiler.record_function('step'): loss = step(x, y)"},
};
// Within lines of code. PyTorch and CuPy keep CUDA's names on ROCm; HIP's runtime and libraries have other beginnings.
constexpr Replaced kCodeOfHip[] = {
    {"CUDA_R_", "HIP_R_"}, {"CUBLAS", "HIPBLAS"},       {"cublas", "hipblas"},
    {"cuda", "hip"},       {"nvtxRange", "roctxRange"}, {"nvtx3/nvToolsExt.h", "rocprofiler-sdk-roctx/roctx.h"}};
constexpr Replaced kCodeOfIntel[] = {{"torch.cuda.CUDAGraph", "torch.xpu.XPUGraph"},
                                     {"torch.cuda", "torch.xpu"},
                                     {"'cuda'", "'xpu'"},
                                     {"; torch.backends.cudnn.allow_tf32 = True", ""},
                                     {".cuda()", ".xpu()"}};
// In sentences, which also hold names of what was recorded.
constexpr Replaced kWordsOfAmd[] = {{"CUDA graph", "HIP graph"},
                                    {"CUDA's", "HIP's"},
                                    {"cudaDeviceSynchronize", "hipDeviceSynchronize"},
                                    {"cudaStreamSynchronize", "hipStreamSynchronize"},
                                    {"cudaMemcpy", "hipMemcpy"},
                                    {"cudaMalloc", "hipMalloc"},
                                    {"cudaFree", "hipFree"},
                                    {"tensor cores", "matrix cores"},
                                    {"NVIDIA DALI", "rocAL"},
                                    {"nsys profile --trace=cuda", "rocprofv3 --sys-trace"},
                                    {"nsys profile --cuda-graph-trace=node", "rocprofv3 --sys-trace"},
                                    {"with NCCL", "with RCCL"}};
constexpr Replaced kWordsOfIntel[] = {{"a CUDA graph", "an XPU graph"},
                                      {"CUDA graph", "XPU graph"},
                                      {"torch.cuda", "torch.xpu"},
                                      {"warpmark profile; nsys profile --trace=cuda", "ProfilerActivity.XPU"},
                                      {"tensor cores", "XMX engines"}};

std::string replaced(std::string text, std::span<const Replaced> all) {
  for (const Replaced& one : all) {
    for (auto at = text.find(one.text); at != std::string::npos; at = text.find(one.text, at + one.with.size()))
      text.replace(at, one.text.size(), one.with);
  }
  return text;
}

}  // namespace

Vendor vendor_of(const Timeline& timeline) {
  if (any_name(timeline.names, [](std::string_view call) { return call.starts_with("hip") && is_launch_call(call); }))
    return Vendor::amd;
  const auto names = [&timeline](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(timeline.gpus, [&](const GpuInfo& gpu) { return contains_any(gpu.name, words); });
  };
  if (names({"amd ", "radeon", "instinct"})) return Vendor::amd;
  return names({"intel"}) ? Vendor::intel : Vendor::nvidia;
}

// NVIDIA's data sheets of these boards, which name the sum of both directions. Those for PCIe have bridges at most.
std::optional<double> nvlink_rate(std::string_view gpu) {
  constexpr std::pair<const char*, double> kRates[] = {{"v100-sxm", 150e9}, {"a100-sxm", 300e9}, {"h100", 450e9},
                                                       {"h200", 450e9},     {"h20", 450e9},      {"a800-sxm", 200e9},
                                                       {"h800", 200e9},     {"b200", 900e9},     {"b300", 900e9}};
  if (contains_any(gpu, {"pcie", " nvl"})) return std::nullopt;
  for (const auto& [name, rate] : kRates) {
    if (contains_any(gpu, {name})) return rate;
  }
  return std::nullopt;
}

std::string snippet_for(Vendor vendor, const std::string& snippet) {
  if (vendor == Vendor::nvidia) return snippet;
  const bool amd = vendor == Vendor::amd;
  const std::span<const Replaced> commands = amd ? std::span<const Replaced>(kCommandsOfAmd) : kCommandsOfIntel;
  const auto command =
      std::ranges::find_if(commands, [&snippet](const Replaced& one) { return snippet.starts_with(one.text); });
  if (command != commands.end()) return std::string(command->with);
  if (!amd) return replaced(snippet, kCodeOfIntel);
  return contains_any(snippet, {"torch", "cupy"}) ? snippet : replaced(snippet, kCodeOfHip);
}

std::string text_for(Vendor vendor, const std::string& text) {
  if (vendor == Vendor::nvidia) return text;
  return replaced(text, vendor == Vendor::amd ? std::span<const Replaced>(kWordsOfAmd) : kWordsOfIntel);
}

}  // namespace warpmark::analyze
