// What a model takes to serve: weights by quantization, and the cache of keys and values by context and batch. Pure.
//
// Sources: cache, 2 x layers x key-value heads x head size a token, Pope et al., "Efficiently Scaling Transformer
// Inference" (MLSys 2023); a decoded token reads every weight and the cache once, so that memory bandwidth bounds it
// (the same, section 2); bits of a weight with their scales in groups of 128, Frantar et al., "GPTQ" (2022), Lin et
// al., "AWQ" (2023).
#pragma once

#include <string>
#include <vector>

#include "model/transformer/transformer.h"

namespace warpmark::validate {

struct ServingJob {
  Transformer model;
  double context = 8192;   ///< tokens of a request, prompt and answer
  double requests = 1;     ///< at once
  double cache_bytes = 2;  ///< of a number in the cache
};

struct ServingPlan {
  std::string quantization;  ///< "bf16", "fp8", "int4"
  int gpus = 1;              ///< that share the model as tensors
  double weights = 0;        ///< bytes per GPU
  double cache = 0;
  double activations = 0;
  double reserve = 0;  ///< CUDA context, libraries, buffers
  bool fits = false;
  double most_requests = 0;  ///< of this context, at once
  double token_s = 0;        ///< least time of a decoded token of each request, by memory bandwidth; 0 if unknown
  [[nodiscard]] double gpu() const { return weights + cache + activations + reserve; }
};

/// One row for each quantization, on so many GPUs of `memory_bytes` and `bandwidth` each.
[[nodiscard]] std::vector<ServingPlan> plan_serving(const ServingJob& job, int gpus, double memory_bytes,
                                                    double bandwidth);

}  // namespace warpmark::validate
