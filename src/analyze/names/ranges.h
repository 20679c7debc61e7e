// What the names of ranges tell, which users and frameworks give to the same things.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/profile/timeline.h"

namespace warpmark::analyze {

[[nodiscard]] bool names_data_loading(std::string_view range);
[[nodiscard]] bool names_optimizer_step(std::string_view range);
/// What a range's name tells of who loads: nothing, somebody, or one of PyTorch's two kinds.
enum class Loader : std::uint8_t { none, some, single, multi };
[[nodiscard]] Loader loader_of(std::string_view range);
/// A frame in which PyTorch's DataLoader starts its worker processes, or ends them.
[[nodiscard]] bool names_worker_restart(std::string_view frame);
/// "RMSprop", from the range that PyTorch records around an update; empty if it did not.
[[nodiscard]] std::string optimizer_class(const NameTable& names);
/// Of PyTorch's profiler: of one step ("ProfilerStep#12"), or of all (without the number).
[[nodiscard]] bool names_profiled_step(std::string_view range);
[[nodiscard]] bool names_profiler_step(std::string_view range);
/// A user's or an inference server's own range around one iteration ("train_step", "execute_32_context_0").
[[nodiscard]] bool names_step(std::string_view range);
/// A call of a PyTorch module, as its profiler names it: "nn.Module: Linear_0".
[[nodiscard]] bool names_module(std::string_view call);
/// Around a part of a step, again and again within it: an operator, a collective, a layer of the model.
[[nodiscard]] bool names_part(std::string_view range);
[[nodiscard]] std::string without_digits(std::string_view text);
/// The range's name without digits is `plain`.
[[nodiscard]] bool is_same_but_digits(std::string_view range, std::string_view plain);
/// Pages of managed memory that moved on demand, as our reader of nsys names them, and not by a prefetch.
[[nodiscard]] bool names_migration(std::string_view copy);
[[nodiscard]] bool names_backward_pass(std::string_view range);
/// As PyTorch's FSDP records them: gathering parameters and scattering gradients of sharded modules.
[[nodiscard]] bool names_sharding(std::string_view range);

/// PyTorch's Tensor.item().
[[nodiscard]] bool reads_value(std::string_view op);
/// Ranges of JAX that end once a value is there, which the GPU still works on: reading an array, block_until_ready().
[[nodiscard]] bool waits_for_array(std::string_view range);
/// XLA's ranges in which a thread of its own copies what the program gave into pinned memory.
[[nodiscard]] bool stages_upload(std::string_view range);
/// The execution of an XLA program.
[[nodiscard]] bool names_xla_execution(std::string_view range);

/// torch.nn.DataParallel: the range of its forward pass, or a frame of its file.
[[nodiscard]] bool names_data_parallel(std::string_view name);
/// As torch.distributed names the ranges of its backends on the host, Gloo and MPI: sums between two copies, no
/// barriers.
[[nodiscard]] bool is_host_collective(std::string_view range);

}  // namespace warpmark::analyze
