// The scales by which this folder decides, in one place: what the driver and a framework take on the host, and which
// shares matter. Times of an H100 with driver 580, unless another source is named.
#pragma once

#include <cstdint>

namespace warpmark::analyze {

inline constexpr std::int64_t kPlainLaunchNs = 6'000;       ///< of a launch call that waits for nothing, recorded ...
inline constexpr std::int64_t kUnrecordedLaunchNs = 2'500;  ///< ... and not
/// From a launch to the first cycle on an idle GPU, and from the end of work to the host's next instruction. Events of
/// two clocks that are nearer to each other are together; work that is shorter is bound by latency.
inline constexpr std::int64_t kLatencyNs = 4'000;
/// Twice what PyTorch takes for an operator ("CUDA semantics": about 10 us): a call that takes longer waits or works.
inline constexpr std::int64_t kDispatchNs = 20'000;
/// Ten operators: what lasts longer and launches nothing is work of its own; the interrupt, the scheduler and the
/// return of a call that waited take less.
inline constexpr std::int64_t kOwnWorkNs = 100'000;
/// A stretch of the host between operators that is no glue: fifty operators.
inline constexpr std::int64_t kLongGlueNs = 500'000;
/// A launch that takes longer loads code or starts CUDA, or waits for a place in the queue.
inline constexpr std::int64_t kHeldLaunchNs = 1'000'000;
/// Between two samples of a stack (py-spy: 100 a second).
inline constexpr std::int64_t kStackPeriodNs = 10'000'000;

/// Of the step: less is within what steps differ by.
inline constexpr double kMatters = 0.02;
/// Nothing measured is exactly all.
inline constexpr double kNearlyAll = 0.9;
/// Times: what does the same differs by less.
inline constexpr double kClearlyMore = 1.2;
/// A program that works on the GPU for less than one part in so many is about its start.
inline constexpr std::int64_t kStartUpTimes = 10;
/// Of fewer occurrences or samples none is usual.
inline constexpr std::size_t kFewest = 3;
/// Things of a kind that are named one by one.
inline constexpr std::size_t kShown = 5;
/// Launches of a round of a loop: a step has more.
inline constexpr std::size_t kFewLaunches = 8;
/// Of the time of multiprocessors or memory: from here on a GPU is used effectively (NVIDIA DCGM documentation,
/// "Profiling Metrics"; of DRAM Active it is the most in practice).
inline constexpr double kEffectiveUse = 0.8;
/// Launches that a stream holds before the next call blocks (HolisticTraceAnalysis: 1022 to 1024).
inline constexpr std::size_t kQueueDepth = 1'000;

}  // namespace warpmark::analyze
