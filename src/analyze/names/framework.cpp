// Names that tell a framework: PyTorch's operators and kernels (ATen, c10), its profiler's ranges and the kernels that
// TorchInductor generates; XLA's NVTX ranges ("XlaModule:#...", "Thunk:#...", xla/service/gpu/gpu_executable.cc) and
// the fusions that it names its kernels after ("loop_add_fusion", "input_reduce_fusion", "gemm_fusion_dot_7"); CuPy's
// functions, which its kernels are named after ("cupy_multiply__float32_float_float32").
#include "analyze/names/framework.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "analyze/names/words.h"

namespace warpmark::analyze {

namespace {

bool is_generated(std::string_view name) {
  return contains_any(name, {"triton_poi_fused", "triton_red_fused", "triton_per_fused", "triton_tem_fused"});
}

Framework known_by(std::string_view name) {
  if (is_generated(name)) return Framework::pytorch;
  if (contains_any(name, {"aten::", "at::native", "2at6native", "at::cuda", "c10::", "torch::", "torch/", "torch.",
                          "autograd::engine", "profilerstep#", "optimizer.step#", "nn.module:"})) {
    return Framework::pytorch;
  }
  if (name.starts_with("cupy_") || name.starts_with("cupyx_")) return Framework::cupy;
  const bool fusion = name.starts_with("loop_") || name.starts_with("input_") || name.starts_with("gemm_fusion_");
  const bool xla = contains_any(name, {"xlamodule:#", "thunk:#", "pjitfunction", "jaxlib"});
  return xla || (fusion && contains_any(name, {"fusion"})) ? Framework::jax : Framework::native;
}

/// TensorFlow uses XLA too.
bool is_of_others(std::string_view name) { return contains_any(name, {"tensorflow", "paddle", "mxnet"}); }

/// Recordings name the threads that they sampled: "thread_running 605/605 python3".
bool runs_python(const std::vector<CounterSeries>& counters) {
  return std::ranges::any_of(counters, [](const CounterSeries& series) {
    return series.id.starts_with("thread_") && series.id.find(" python") != std::string::npos;
  });
}

bool runs_python(const Timeline& timeline) {
  return runs_python(timeline.counters) ||
         std::ranges::any_of(timeline.tracks, [](const Track& track) { return track.name.starts_with("python"); });
}

}  // namespace

Framework framework_of(const ProfileSession& session) {
  bool jax = false;
  bool cupy = false;
  bool others = runs_python(session.counters) || (session.ranks.empty() && session.kernels.empty());
  bool foreign = false;
  for (const Timeline& timeline : session.ranks) {
    others = others || runs_python(timeline);
    for (NameId i = 0; i < timeline.names.size(); ++i) {
      const std::string_view name = timeline.names.at(i);
      const Framework reported = known_by(name);
      if (reported == Framework::pytorch) return reported;
      jax = jax || reported == Framework::jax;
      cupy = cupy || reported == Framework::cupy;
      foreign = foreign || is_of_others(name);
    }
  }
  for (const KernelProfile& profile : session.kernels) {
    const Framework reported = known_by(profile.name);
    if (reported == Framework::pytorch) return reported;
    jax = jax || reported == Framework::jax;
    cupy = cupy || reported == Framework::cupy;
    foreign = foreign || is_of_others(profile.name);
  }
  if (jax && !cupy && !foreign) return Framework::jax;
  if (cupy && !jax && !foreign) return Framework::cupy;
  return others || foreign || cupy ? Framework::other : Framework::native;
}

bool names_framework(const NameTable& names) {
  for (NameId i = 0; i < names.size(); ++i) {
    if (known_by(names.at(i)) != Framework::native || is_of_others(names.at(i))) return true;
  }
  return false;
}

bool is_compiled(const ProfileSession& session) {
  return std::ranges::any_of(session.ranks,
                             [](const Timeline& timeline) { return any_name(timeline.names, is_generated); });
}

}  // namespace warpmark::analyze
