// The calls of CUDA's runtime and driver that the recorder is called back for, and what a launch launches.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <span>

namespace warpmark::profile::module {

/// Ids of the runtime's calls that launch kernels and graphs.
[[nodiscard]] std::span<const CUpti_CallbackId> launch_calls();
/// Ids of the runtime's calls that move data, wait or allocate: with the launches, all that an analysis asks for.
/// Recording every call of the runtime costs several times as much.
[[nodiscard]] std::span<const CUpti_CallbackId> other_calls();
/// Ids of the driver's calls that launch.
[[nodiscard]] std::span<const CUpti_CallbackId> driver_launches();
/// Ids of those that move data, wait or allocate. A driver call within a call of the runtime is not recorded, so these
/// are of programs that call the driver themselves.
[[nodiscard]] std::span<const CUpti_CallbackId> other_driver_calls();

/// cudaProfilerStart and cudaProfilerStop, of the runtime and of the driver: what a program marks by.
[[nodiscard]] std::span<const CUpti_CallbackId> profiler_calls();
[[nodiscard]] std::span<const CUpti_CallbackId> driver_profiler_calls();
enum class ProfilerCall { none, start, stop };
[[nodiscard]] ProfilerCall profiler_call(CUpti_CallbackDomain domain, CUpti_CallbackId id);

[[nodiscard]] bool is_launch(CUpti_CallbackDomain domain, CUpti_CallbackId id);
/// A number that is the same whenever the same kernel or graph is launched.
[[nodiscard]] std::uint64_t what_is_launched(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                             const CUpti_CallbackData& call);

}  // namespace warpmark::profile::module
