// Data parallelism predicted from one GPU: what it measured, and gradients exchanged behind the backward pass, bucket
// by bucket (Li et al., "PyTorch Distributed", VLDB 2020). While both run, NCCL's kernels take multiprocessors and
// memory bandwidth from those of the network; by how much was measured (docs/results/node-h200x4-2026-11-26.md). Pure.
#pragma once

namespace warpmark::validate {

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
