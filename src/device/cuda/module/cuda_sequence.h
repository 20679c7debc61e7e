// Timed sequences on a CUDA stream. Three methods: events around launches that were enqueued behind a blocking kernel
// (launch gaps kept out), events around the replay of a captured graph, and the host's clock around launch and
// synchronize.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "device/device.h"

namespace warpmark::device {

/// Launches enqueued while the stream is blocked. A stream's queue is finite (about 1024 entries), and a workload may
/// enqueue several kernels a launch: the launches after these are enqueued behind running ones.
inline constexpr std::size_t kLaunchesWhileBlocked = 32;

struct SequencePlace {
  int device_index = 0;
  cudaStream_t stream = nullptr;
  double overhead_s = 0;  ///< subtracted from each time
};

/// Launches `work` once (input set 0) and waits, so that its kernels are loaded: loading lazily behind a blocking
/// kernel would wait for that kernel. Unsupported error if mode graph cannot capture the work.
[[nodiscard]] Result<std::unique_ptr<TimedSequence>> make_cuda_sequence(Launchable& work,
                                                                        const SequenceOptions& options,
                                                                        const SequencePlace& place);

/// Resolution and overhead of the method that `options` selects, from timing an empty region.
[[nodiscard]] Result<TimerInfo> measure_cuda_timer(const SequenceOptions& options, const SequencePlace& place);

}  // namespace warpmark::device
