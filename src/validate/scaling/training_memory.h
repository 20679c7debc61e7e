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

#include "validate/scaling/layout.h"

namespace warpmark::validate {

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
