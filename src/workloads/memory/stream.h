// What copy, triad, read and write share. They follow STREAM (McCalpin, "Memory Bandwidth and Machine Balance in
// Current High Performance Computers", 1995): the bytes counted are those the loop names, so lines that a cache reads
// before they are written, or writes back later, do not count.
#pragma once

#include <omp.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "measure/workload.h"
#include "model/cost.h"
#include "workloads/cuda_bridge.h"
#include "workloads/memory/kernels.h"
#include "workloads/set_memory.h"

namespace warpmark::workloads {

inline constexpr ParamSpec kStreamParams[] = {
    {"size", ParamKind::bytes, "256MiB", "bytes of each array, a multiple of 4"},
};

struct StreamWork {
  int arrays = 0;                ///< arrays of `size` bytes that one launch reads or writes
  double flops_per_element = 0;  ///< an element is an f32
};
/// bytes = arrays * size, flops = flops_per_element * size / 4, footprint = arrays * size.
[[nodiscard]] Result<Cost> stream_cost(const Params& params, const StreamWork& work);

/// Sizes from 4 KiB to 8 times the last-level cache, about eightfold apart, and sizes that fill half of each cache
/// level. Footprints of at most twice the last-level cache run hot (their level is what is measured), larger ones cold.
[[nodiscard]] std::vector<Overrides> stream_cases(const DeviceInfo& device, int arrays);

/// How one launch is done on this CPU, decided before timing from the sizes alone.
struct StreamPlan {
  const StreamKernels& kernels;
  int threads = 1;
  bool past_cache = false;  ///< non-temporal stores
  std::size_t elements = 0;
};

/// One thread for each 128 KiB of a launch's footprint, up to all cores: below, starting a thread team takes longer
/// than the work. Non-temporal stores where the sets together exceed the last-level cache: there a written line is gone
/// before it is used again, and reading it first is waste.
[[nodiscard]] StreamPlan plan_stream(const measure::PrepareOptions& options, int arrays);

/// {"threads", "2"}, {"stores", "non-temporal"}, {"instructions", "avx512f"}.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> notes_of(const StreamPlan& plan, bool stores);

/// Elements that one thread works on.
struct Part {
  std::size_t begin = 0;
  std::size_t count = 0;
};

/// The part of `elements` of thread `index` of `threads`: whole blocks of kSumBlock, except the last.
[[nodiscard]] Part part_of(std::size_t elements, int index, int threads);

/// Calls work(part) on the plan's threads, without starting a team for a single one.
template <typename Work>
void on_parts(const StreamPlan& plan, const Work& work) {
  if (plan.threads == 1) {
    work(Part{0, plan.elements});
    return;
  }
#pragma omp parallel num_threads(plan.threads)
  work(part_of(plan.elements, omp_get_thread_num(), omp_get_num_threads()));
}

/// Elements that differ, on all cores. Exact: bit patterns of an f32 are compared.
[[nodiscard]] double count_different(std::span<const float> out, std::span<const float> reference);

}  // namespace warpmark::workloads
