// How a model is trained: numbers, what is trained of it, and how it is spread over GPUs. Plain data.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/transformer/transformer.h"

namespace warpmark::validate {

/// Of matrix products. Below 32 bits a master copy of the parameters stays in 32; fp8 stores as bf16 does, and counts
/// no copy of the parameters in 8 bits, as those of a layer are made when they are needed.
enum class Precision { fp32, tf32, bf16, fp16, fp8 };
[[nodiscard]] const char* name_of(Precision precision);
[[nodiscard]] std::optional<Precision> precision_named(std::string_view name);
/// Its key in a datasheet's peak rates.
[[nodiscard]] const char* flop_type_of(Precision precision);
/// Bytes of an activation and a parameter.
[[nodiscard]] double element_bytes(Precision precision);

enum class Optimizer { adam, sgd, momentum, adam8bit };
[[nodiscard]] const char* name_of(Optimizer optimizer);
[[nodiscard]] std::optional<Optimizer> optimizer_named(std::string_view name);

/// lora: adapters beside all products of frozen layers (Hu et al. 2021); qlora: those are kept in 4 bits (Dettmers
/// 2023).
enum class Tuning { all, lora, qlora };

struct TrainingNumbers {
  Precision precision = Precision::bf16;
  Optimizer optimizer = Optimizer::adam;
  bool wide_gradients = true;  ///< summed in 32 bits, as Megatron-LM and DeepSpeed do
  bool flash = true;           ///< attention without scores in memory (Dao et al., "FlashAttention", 2022)
  bool causal_flops = false;   ///< count half of attention; papers count it in full (PaLM, appendix B)
  Tuning tuning = Tuning::all;
  double lora_rank = 16;
};

enum class Recompute { none, selective, full };
[[nodiscard]] const char* name_of(Recompute recompute);
[[nodiscard]] std::optional<Recompute> recompute_named(std::string_view name);

struct Layout {
  int data = 1;
  int tensor = 1;
  int pipeline = 1;
  int zero = 0;          ///< stage 0 to 3
  bool offload = false;  ///< optimizer state and gradients in host memory, where Adam runs
  Recompute recompute = Recompute::none;
  int micro_batch = 1;               ///< sequences
  int micro_batches = 1;             ///< per step and replica: accumulation, and what fills the pipeline
  bool offload_activations = false;  ///< what the backward pass needs again waits in host memory
  bool offload_parameters = false;   ///< with stage 3: each layer's come from host memory when it is gathered
  int context = 1;                   ///< GPUs among which a sequence is split
  int expert = 1;                    ///< of the data-parallel GPUs, those among which experts are split
  int shard = 0;                     ///< GPUs among which ZeRO splits; 0: all replicas; fewer: hybrid sharding (HSDP)
  int interleave = 1;                ///< parts of the model in one pipeline stage
  bool sequence_parallel = true;     ///< norms and dropout split as tensors are
  [[nodiscard]] int gpus() const { return data * tensor * pipeline * context; }
  /// GPUs that hold the same part of the model, and those of them among which ZeRO splits it.
  [[nodiscard]] int replicas() const { return data * context; }
  [[nodiscard]] int shards() const { return shard > 0 ? shard : replicas(); }
};

/// "state+activations" of what waits in host memory; empty: nothing does.
[[nodiscard]] std::string offload_text(const Layout& layout);

/// "dp=8 tp=4 pp=2 zero=1", without what is not used.
[[nodiscard]] std::string text_of(const Layout& layout);

/// What somebody asks of a layout; the rest is searched for.
struct LayoutRequest {
  std::optional<int> data, tensor, pipeline, context, expert, shard, zero, micro_batch, interleave;
  std::optional<Recompute> recompute;
  std::optional<bool> offload, offload_activations, offload_parameters, sequence_parallel;
  std::string text;  ///< as given
};
/// "tp=8,pp=16,dp=8,mb=1,zero=1,recompute=selective". Usage error that lists the keys.
[[nodiscard]] Result<LayoutRequest> parse_layout(std::string_view text);

}  // namespace warpmark::validate
