// Bytes that a parameter takes while it is trained, by precision and optimizer, and how ZeRO's stages split them. Pure.
//
// Sources: states of mixed-precision Adam, 2 + 2 + 12 bytes, and their split by stage, Rajbhandari et al., "ZeRO" (SC
// 2020); offload, Ren et al., "ZeRO-Offload" (ATC 2021); Adam's states in 8 bits, Dettmers et al., "8-bit Optimizers
// via Block-wise Quantization" (ICLR 2022): 2 bytes instead of 8.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace warpmark::validate {

/// Of matrix products. Below 32 bits a master copy of the parameters stays in 32; fp8 stores as bf16 does, and counts
/// no copy of the parameters in 8 bits, as those of a layer are made when they are needed.
enum class Precision { fp32, tf32, bf16, fp16, fp8 };
[[nodiscard]] const char* name_of(Precision precision);
[[nodiscard]] std::optional<Precision> precision_named(std::string_view name);
/// Its key in a datasheet's peak rates.
[[nodiscard]] const char* flop_type_of(Precision precision);
/// Bytes of an activation, a parameter and a gradient.
[[nodiscard]] double element_bytes(Precision precision);

enum class Optimizer { adam, sgd, momentum, adam8bit };
[[nodiscard]] const char* name_of(Optimizer optimizer);
[[nodiscard]] std::optional<Optimizer> optimizer_named(std::string_view name);

struct TrainingNumbers {
  Precision precision = Precision::bf16;
  Optimizer optimizer = Optimizer::adam;
};

/// Of one parameter.
struct StateBytes {
  double parameters = 2;
  double gradients = 2;
  double optimizer = 12;  ///< its states, and the master copy
  [[nodiscard]] double total() const { return parameters + gradients + optimizer; }
};
[[nodiscard]] StateBytes state_bytes(const TrainingNumbers& numbers);

struct MemoryPlan {
  double parameters = 0;  ///< bytes a GPU
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
  double host = 0;  ///< of what is offloaded, a GPU
  [[nodiscard]] double gpu() const { return parameters + gradients + optimizer + activations; }
};

/// Bytes of parameters, gradients and optimizer state a GPU, of which the stage splits the optimizer's (1), the
/// gradients' (2) and the parameters' (3) among replicas.
[[nodiscard]] MemoryPlan state_memory(double parameters, int zero, int replicas, bool offload = false,
                                      const StateBytes& bytes = {});

}  // namespace warpmark::validate
