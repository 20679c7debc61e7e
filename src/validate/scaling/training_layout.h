// Bytes that training takes of a GPU, part by part. Pure.
//
// Sources: states, 2 + 2 + 12 bytes a parameter of mixed-precision Adam, and their split by stage, Rajbhandari et al.,
// "ZeRO" (SC 2020); 18 with gradients in 32 bits, and 6 + 12/d split, Megatron-LM,
// docs/source/api-guide/dist_optimizer; 16-bit gradients that stage 2 keeps until it has split them, and 4 bytes a
// parameter of the largest layer that stage 3 gathers, DeepSpeed, docs/code-docs/source/memory.rst; offload of state
// and gradients, Ren et al., "ZeRO-Offload" (ATC 2021); states in 8 bits, Dettmers et al., "8-bit Optimizers via
// Block-wise Quantization" (ICLR 2022); activations, the output layer and interleaved stages, Korthikanti et al.,
// "Reducing Activation Recomputation" (MLSys 2023), sections 4 and 5; 4.127 bits a weight, Dettmers et al., "QLoRA"
// (2023).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/fields/names.h"
#include "model/transformer/transformer.h"

namespace warpmark::validate {

// How a model is trained: numbers, what is trained of it, and how it is spread over GPUs. Plain data.

/// Of matrix products. Below 32 bits a master copy of the parameters stays in 32; fp8 stores as bf16 does, and counts
/// no copy of the parameters in 8 bits, as those of a layer are made when they are needed.
enum class Precision { fp32, tf32, bf16, fp16, fp8 };
constexpr auto kPrecisionNames = in_order(Precision::fp8, "fp32", "tf32", "bf16", "fp16", "fp8");
constexpr Names names_of(Precision) { return kPrecisionNames; }
/// Its key in a datasheet's peak rates.
[[nodiscard]] const char* flop_type_of(Precision precision);
/// Bytes of an activation and a parameter.
[[nodiscard]] double element_bytes(Precision precision);

enum class Optimizer { adam, sgd, momentum, adam8bit };
constexpr auto kOptimizerNames = in_order(Optimizer::adam8bit, "adam", "sgd", "momentum", "adam8bit");
constexpr Names names_of(Optimizer) { return kOptimizerNames; }

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
constexpr auto kRecomputeNames = in_order(Recompute::full, "none", "selective", "full");
constexpr Names names_of(Recompute) { return kRecomputeNames; }

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

/// Of one parameter that is trained.
struct StateBytes {
  double parameters = 2;
  double gradients = 4;
  double optimizer = 12;  ///< its states, and the master copy
  [[nodiscard]] double total() const { return parameters + gradients + optimizer; }
};
[[nodiscard]] StateBytes state_bytes(const TrainingNumbers& numbers);

/// Bytes per GPU.
struct MemoryPlan {
  double parameters = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
  double logits = 0;         ///< output layer: its inputs, and logits in 32 bits
  double gathered = 0;       ///< the largest layer, which stage 3 gathers, and its gradients
  double context = 0;        ///< reserve: CUDA context, libraries' workspaces, NCCL's buffers
  double fragmentation = 0;  ///< reserve: what the allocator cannot hand out
  double host = 0;           ///< offloaded, a GPU's share
  [[nodiscard]] double states() const { return parameters + gradients + optimizer; }
  [[nodiscard]] double gpu() const { return states() + activations + logits + gathered + context + fragmentation; }
};

/// Parameters, gradients and optimizer state of `parameters`, which the layout's ZeRO stage splits among `shards` GPUs:
/// the optimizer's (1), gradients (2) and parameters (3).
[[nodiscard]] MemoryPlan state_memory(double parameters, const Layout& layout, int shards,
                                      const TrainingNumbers& numbers = {});

/// Bytes that one layer keeps of a micro-batch for the backward pass.
[[nodiscard]] double layer_activations(const Transformer& model, double sequence, const Layout& layout,
                                       Recompute recompute, const TrainingNumbers& numbers = {});

/// Activations that a GPU keeps of a step, and those of them that leave for host memory: but for two layers', one that
/// is computed with and one on its way.
struct HeldActivations {
  double all = 0;
  double leaving = 0;
};
[[nodiscard]] HeldActivations held_activations(const Transformer& model, double sequence, const Layout& layout,
                                               const TrainingNumbers& numbers);

/// Parameters of the fullest pipeline stage on one GPU, before ZeRO splits them.
[[nodiscard]] double own_parameters(const Transformer& model, const Layout& layout);
/// Layers of the fullest stage.
[[nodiscard]] double stage_layers(const Transformer& model, int pipeline);
/// Parameters that LoRA trains.
[[nodiscard]] double lora_parameters(const Transformer& model, double rank);

/// Of the stage that needs the most: the first holds the embedding and most micro-batches, the last the output layer.
[[nodiscard]] MemoryPlan memory_of(const Transformer& model, double sequence, const Layout& layout,
                                   const TrainingNumbers& numbers = {});

}  // namespace warpmark::validate
