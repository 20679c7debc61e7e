// Training of a transformer on paper: parameters, memory a GPU, pipeline bubble, step time and dollars of a layout
// (data, tensor and pipeline parallelism, ZeRO stage, recomputation, accumulation), before anything is run. Pure.
//
// Sources: parameters and operations, Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters"
// (SC 2021); states, see training_states.h; gradients that ZeRO's stages exchange, Rajbhandari et al., "ZeRO" (SC
// 2020), section 7; activations, Korthikanti et al., "Reducing Activation Recomputation" (MLSys 2023); those in host
// memory as ZeRO-R's P_a+cpu (Rajbhandari et al.); bubble, Huang et al., "GPipe" (NeurIPS 2019); compression, Vogels et
// al., "PowerSGD" (NeurIPS 2019).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/alpha_beta.h"
#include "validate/scaling/training_states.h"

namespace warpmark::validate {

struct TransformerShape {
  double layers = 0;
  double hidden = 0;
  double heads = 0;
  double sequence = 0;
  double vocabulary = 0;
};

[[nodiscard]] double parameters_of(const TransformerShape& shape);

enum class Recompute { none, selective, full };
[[nodiscard]] const char* name_of(Recompute recompute);

struct Layout {
  int data = 1;
  int tensor = 1;
  int pipeline = 1;
  int zero = 0;          ///< stage 0 to 3
  bool offload = false;  ///< optimizer state in host memory
  Recompute recompute = Recompute::none;
  int micro_batch = 1;               ///< sequences
  int micro_batches = 1;             ///< a step and replica: accumulation, and what fills the pipeline
  bool offload_activations = false;  ///< what the backward pass needs again waits in host memory
  [[nodiscard]] int gpus() const { return data * tensor * pipeline; }
};

/// Bytes of activations of one layer and micro-batch, tensor and sequence parallelism alike; `element`: of one of them.
[[nodiscard]] double layer_activations(const TransformerShape& shape, int micro_batch, int tensor, Recompute recompute,
                                       double element = 2);

[[nodiscard]] MemoryPlan memory_of(const TransformerShape& shape, const Layout& layout,
                                   const TrainingNumbers& numbers = {});

/// Share of a step in which a pipeline's GPUs wait: (p - 1) / (m + p - 1).
[[nodiscard]] double bubble(int stages, int micro_batches);

/// Seconds to train on so many tokens: 6 operations a parameter and token, 8 with full recomputation.
[[nodiscard]] double training_seconds(double parameters, double tokens, double gpus, double flops_a_gpu,
                                      bool recompute);

enum class Compression { none, half, power_sgd };

/// Bytes that gradients of `parameters` take on the link: 4 each, 2 as 16 bits, r (n + m) of n m in matrices of
/// hidden x hidden with PowerSGD.
[[nodiscard]] double gradient_bytes(double parameters, double hidden, Compression compression, int rank = 4);

struct Cluster {
  std::string gpu;  ///< "h100-sxm"
  int gpus = 1;
  int per_node = 8;
  double memory_bytes = 0;                       ///< a GPU
  double memory_bandwidth = 0;                   ///< B/s, a GPU; 0: what PowerSGD reads and writes is not counted
  double peak_flops = 0;                         ///< a GPU, of the type that is trained in
  double utilization = 0.4;                      ///< of the peak, while it computes
  collectives::Link within;                      ///< a node
  collectives::Link between;                     ///< nodes
  double dollars_per_hour = 0;                   ///< a GPU; 0 if unknown
  double host_link = 25e9;                       ///< B/s, each direction, for what is offloaded
  double host_memory_bytes = 256.0 * (1 << 30);  ///< a GPU's share of its node's, for what is offloaded
};

struct TrainingJob {
  TransformerShape shape;
  double batch = 0;   ///< sequences a step, of all replicas
  double tokens = 0;  ///< of the whole training
  Compression compression = Compression::half;
  int power_sgd_rank = 4;
  double overlap = 0.7;     ///< share of the backward pass behind which gradients travel
  double contention = 0.6;  ///< of DataParallelJob
  TrainingNumbers numbers;
};

struct PlannedLayout {
  std::string gpu;
  Layout layout;
  MemoryPlan memory;
  bool fits_gpu = false;
  bool fits_host = false;
  bool fits = false;     ///< both
  double compute_s = 0;  ///< of a step, without the bubble
  double bubble_s = 0;
  double communication_s = 0;  ///< that is not hidden
  double compression_s = 0;    ///< what PowerSGD computes
  double step_s = 0;
  double tokens_per_s = 0;
  double hours = 0;    ///< of the whole training
  double dollars = 0;  ///< 0 if unknown
};

/// The order of layouts: those that fit first, the fastest of them first; of the others the smallest.
[[nodiscard]] bool better(const PlannedLayout& a, const PlannedLayout& b);

[[nodiscard]] PlannedLayout plan_layout(const TrainingJob& job, const Cluster& cluster, const Layout& layout);

/// All layouts of the cluster's GPUs that divide evenly, the better first.
[[nodiscard]] std::vector<PlannedLayout> plan_layouts(const TrainingJob& job, const Cluster& cluster);

}  // namespace warpmark::validate
