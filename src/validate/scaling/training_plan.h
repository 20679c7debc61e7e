// Training of a transformer on paper: memory, step time, utilization and dollars of a layout, before anything is run.
// Pure.
//
// Sources: operations, model/transformer/transformer.h, and as many again for what is computed again, Korthikanti et
// al., "Reducing Activation Recomputation" (MLSys 2023), appendix A: of the model MFU, with those HFU (PaLM, appendix
// B); bubble, Huang et al., "GPipe" (NeurIPS 2019), divided by the stages' parts, Narayanan et al. (SC 2021),
// section 2.2; tensor parallelism, Shoeybi et al., "Megatron-LM" (2019); gradients that ZeRO's stages exchange,
// Rajbhandari et al. (SC 2020), section 7; hybrid sharding, Zhao et al., "PyTorch FSDP" (VLDB 2023); context
// parallelism gathers keys and values, Grattafiori et al., "Llama 3" (2024), section 3.3.2; experts by two alltoalls a
// pass, Lepikhin et al., "GShard" (2020); compression, Vogels et al., "PowerSGD" (NeurIPS 2019).
#pragma once

#include <string>
#include <vector>

#include "collectives/alpha_beta.h"
#include "validate/scaling/training_layout.h"

namespace warpmark::validate {

/// Share of a step in which a pipeline's GPUs wait: (p - 1) / (m v + p - 1).
[[nodiscard]] double bubble(int stages, int micro_batches, int interleave = 1);

/// Operations of one step.
struct StepFlops {
  double model = 0;     ///< forward and backward pass
  double hardware = 0;  ///< with what is computed again
};

enum class Compression { none, half, power_sgd };

/// Bytes that gradients of `parameters` take on the link: 4 each, 2 as 16 bits, r (n + m) of n m in matrices of
/// hidden x hidden with PowerSGD.
[[nodiscard]] double gradient_bytes(double parameters, double hidden, Compression compression, int rank = 4);

struct Cluster {
  std::string gpu;  ///< "h100-sxm"
  int gpus = 1;
  int per_node = 8;
  double memory_bytes = 0;                       ///< a GPU, as its driver shows it
  double memory_bandwidth = 0;                   ///< B/s, a GPU; 0: passes of the optimizer and PowerSGD not counted
  double peak_flops = 0;                         ///< a GPU, of the type that is trained in
  double kernel_share = 0.5;                     ///< of the peak, that kernels reach while they run
  double mfu = 0;                                ///< above 0: of the whole step, as measured or published
  collectives::Link within;                      ///< a node
  collectives::Link between;                     ///< nodes
  double dollars_per_hour = 0;                   ///< a GPU; 0 if unknown
  double host_link = 25e9;                       ///< B/s, each direction, for what is offloaded
  double host_memory_bytes = 256.0 * (1 << 30);  ///< a GPU's share of its node's, for what is offloaded
  double host_bandwidth = 200e9;                 ///< B/s of a node's memory, for Adam on the host
};

struct TrainingJob {
  Transformer model;
  double sequence = 2048;
  double batch = 0;   ///< sequences per step, of all replicas
  double tokens = 0;  ///< of the whole training
  Compression compression = Compression::half;
  int power_sgd_rank = 4;
  double overlap = 0.7;     ///< share of the backward pass behind which gradients travel
  double contention = 0.6;  ///< of DataParallelJob
  TrainingNumbers numbers;
};
[[nodiscard]] StepFlops step_flops(const TrainingJob& job, Recompute recompute);

struct PlannedLayout {
  std::string gpu;
  Layout layout;
  MemoryPlan memory;
  double memory_bytes = 0;  ///< of the GPU
  bool fits_gpu = false;
  bool fits_host = false;
  bool fits = false;     ///< both
  double compute_s = 0;  ///< per step, without the bubble
  double bubble_s = 0;
  double communication_s = 0;   ///< that is not hidden
  double optimizer_s = 0;       ///< on the GPU, or on the host with its transfers
  double compression_s = 0;     ///< what PowerSGD computes
  double modelled_s = 0;        ///< their sum, by which layouts are ranked
  double step_s = 0;            ///< the same, unless utilization is given
  double mfu = 0;               ///< ratio: operations of the model over the peak
  double hfu = 0;               ///< with those computed again
  double model_flops_rate = 0;  ///< FLOP/s, a GPU
  double tokens_per_s = 0;
  double hours = 0;             ///< of the whole training
  double dollars = 0;           ///< 0 if unknown
  int largest_micro_batch = 0;  ///< that fits this layout; 0: none
};

/// The order of layouts: those that fit first, the fastest of them first; of the others the smallest.
[[nodiscard]] bool better(const PlannedLayout& a, const PlannedLayout& b);

[[nodiscard]] PlannedLayout plan_layout(const TrainingJob& job, const Cluster& cluster, const Layout& layout);

/// The largest micro-batch of this layout that fits; 0 if none does.
[[nodiscard]] int largest_micro_batch(const TrainingJob& job, const Cluster& cluster, Layout layout);

/// Layouts of the cluster's GPUs as far as the request leaves them open, the better first. Stages of pipelines may be
/// uneven; the batch must divide by the replicas and, unless it is given, by the micro-batch.
[[nodiscard]] std::vector<PlannedLayout> plan_layouts(const TrainingJob& job, const Cluster& cluster,
                                                      const LayoutRequest& request = {});

// Data parallelism predicted from one GPU: what it measured, and gradients exchanged behind the backward pass, bucket
// by bucket (Li et al., "PyTorch Distributed", VLDB 2020). While both run, NCCL's kernels take multiprocessors and
// memory bandwidth from those of the network; by how much was measured (docs/results/scaling.md). Pure.

struct DataParallelJob {
  double step_s = 0;  ///< of one GPU, forward and backward of one batch
  double gradient_bytes = 0;
  double bucket_bytes = 25e6;       ///< mean; the last cannot be hidden, and a tensor is never split
  double backward_share = 2.0 / 3;  ///< of the step
  double overlap = 0.7;
  double contention = 0.6;  ///< share of the hidden time by which computing becomes slower
  int accumulation = 1;     ///< such batches before gradients are exchanged, behind the last one's backward pass
};
struct DataParallelStep {
  double step_s = 0;  ///< of all batches, with the exchange
  double communication_s = 0;
  double exposed_s = 0;
  double efficiency = 0;
};

/// The same job with gradients of `ratio` times the bytes. Each bucket is compressed by itself, so that there are as
/// many messages as before.
[[nodiscard]] DataParallelJob compressed(DataParallelJob job, double ratio);

/// What is exchanged at once: a bucket, or all gradients where they are less.
[[nodiscard]] double message_bytes(const DataParallelJob& job);
/// `message_s`: seconds of an all_reduce of message_bytes.
[[nodiscard]] DataParallelStep data_parallel_step(const DataParallelJob& job, double message_s);

/// Seconds by which an exchange lengthens a step: what is not hidden, and how far computing slows down meanwhile.
[[nodiscard]] double exposed_exchange_s(double exchange_s, double behind_s, double contention);

}  // namespace warpmark::validate
