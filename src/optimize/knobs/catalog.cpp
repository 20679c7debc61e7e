// The knobs, in the order in which they are listed.
#include "optimize/knob.h"

namespace warpmark::optimize {

// clang-format off
#define WARPMARK_KNOBS(X)     \
  X(loader_workers)           \
  X(loader_pin_memory)        \
  X(loader_persistent_workers)\
  X(loader_prefetch_factor)   \
  X(precision_autocast)       \
  X(precision_inference)      \
  X(precision_weights)        \
  X(tf32)                     \
  X(channels_last)            \
  X(cudnn_benchmark)          \
  X(attention_backend)        \
  X(attention_sdpa)           \
  X(compile)                  \
  X(optimizer_implementation) \
  X(optimizer_set_to_none)    \
  X(memory_caching)           \
  X(memory_allocator)         \
  X(memory_no_empty_cache)    \
  X(checkpoint_blocks)        \
  X(anomaly_detection)        \
  X(launch_blocking)          \
  X(ddp_bucket)               \
  X(ddp_bucket_view)          \
  X(ddp_static_graph)         \
  X(ddp_bf16)                 \
  X(ddp_no_sync)              \
  X(nccl_algorithm)           \
  X(nccl_channels)            \
  X(process_threads)          \
  X(process_affinity)         \
  X(process_preload)          \
  X(python_gc)
// clang-format on

#define WARPMARK_DECLARE(name) extern const Knob name##_knob;
WARPMARK_KNOBS(WARPMARK_DECLARE)
#undef WARPMARK_DECLARE

Catalog<Knob> knobs() {
#define WARPMARK_ROW(name) &name##_knob,
  static constexpr const Knob* kKnobs[] = {WARPMARK_KNOBS(WARPMARK_ROW)};
#undef WARPMARK_ROW
  return kKnobs;
}

}  // namespace warpmark::optimize
