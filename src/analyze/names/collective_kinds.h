// What the names of collectives and of the types they send tell.
#pragma once

#include <string>
#include <string_view>

namespace warpmark::analyze {

/// "allreduce", "_allgather_base", "ncclAllReduce" as nccl-tests name it; empty if it is none of theirs.
[[nodiscard]] std::string standard_collective(std::string_view name);

/// Of 16 bits or fewer.
[[nodiscard]] bool is_narrow_type(std::string_view type);
/// Bytes of an element as torch and NCCL name its type; 0 if unknown.
[[nodiscard]] double element_bytes(std::string_view type);

/// A kernel that sends to one rank or receives from it, unless it belongs to an exchange of all.
[[nodiscard]] bool names_message(std::string_view kernel);
/// Each rank sends another part to every rank, as tokens to experts.
[[nodiscard]] bool names_exchange_of_all(std::string_view name);

/// All-reduce kernels of inference engines (vLLM, SGLang, TensorRT-LLM), which split each layer over GPUs.
[[nodiscard]] bool names_all_reduce_of_engines(std::string_view kernel);

}  // namespace warpmark::analyze
