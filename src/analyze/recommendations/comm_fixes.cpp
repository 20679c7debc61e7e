#include "analyze/recommendations/comm_fixes.h"

#include "analyze/names/collective_kinds.h"
#include "analyze/names/ranges.h"
#include "analyze/names/words.h"
#include "analyze/recommendations/advice.h"
#include "analyze/recommendations/findings.h"

namespace warpmark::analyze {

namespace {

// NCCL user guide: "ncclAllReduce", "Group Calls" (several collectives as one launch), "NCCL_DEBUG".
constexpr Advice kReduceOnGpus = {
    .kind = AdviceKind::code,
    .text = "Reduce on the GPUs with NCCL, not on the host.",
    .native = "ncclAllReduce(device_send, device_receive, count, ncclFloat, ncclSum, communicator, stream);",
    .pytorch = "torch.distributed.init_process_group('nccl'); model = DistributedDataParallel(model.cuda())",
    .jax = "grads = jax.lax.pmean(grads, axis_name='batch')",
};
constexpr Advice kBuckets = {
    .kind = AdviceKind::code,
    .text = "Overlap with the backward pass: DistributedDataParallel, few large buckets, no copy into them.",
    .pytorch = "model = DistributedDataParallel(model, bucket_cap_mb=100, gradient_as_bucket_view=True)",
};
// PyTorch, DistributedDataParallel, "find_unused_parameters": walks the graph in every step and sends which were used.
constexpr const char* kSearchesUnused = "torch.distributed.ddp.reducer::search_unused_parameters";
constexpr Advice kKeepUsed = {
    .kind = AdviceKind::code,
    .text = "Do not search for unused parameters in every step: leave out those that never take part.",
    .pytorch = "model = DistributedDataParallel(model, static_graph=True)  # without find_unused_parameters",
};
// PyTorch, torch.distributed.fsdp.fully_shard: "reshard_after_forward", "MixedPrecisionPolicy",
// "set_modules_to_forward_prefetch".
const Recommendation kKeepGathered = {AdviceKind::code, "Keep gathered parameters for the backward pass.",
                                      "fully_shard(layer, reshard_after_forward=False)"};
const Recommendation kGatherIn16Bits = {
    AdviceKind::code, "Gather parameters in the 16 bits that they are multiplied in.",
    "fully_shard(layer, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))"};
const Recommendation kGatherAhead = {AdviceKind::code, "Gather the next layers' parameters while this one computes.",
                                     "layer.set_modules_to_forward_prefetch(next_layers)"};
constexpr Advice kOwnStream = {
    .kind = AdviceKind::code,
    .text =
        "Give communication a stream of its own, so that it overlaps with computation, and send small parts together.",
    .native =
        "ncclGroupStart();\n"
        "for (auto& part : parts) ncclAllReduce(part.send, part.receive, part.count, ncclFloat, ncclSum, communicator, "
        "communication_stream);\n"
        "ncclGroupEnd();",
    .jax = "os.environ['XLA_FLAGS'] = '--xla_gpu_enable_latency_hiding_scheduler=true'  # before import jax",
};
constexpr Advice kSendIn16Bits = {
    .kind = AdviceKind::code,
    .text = "Send in 16 bits what may be rounded, such as gradients.",
    .native = "ncclAllReduce(send, receive, count, ncclBfloat16, ncclSum, communicator, stream);",
    .pytorch =
        "from torch.distributed.algorithms.ddp_comm_hooks import default_hooks\n"
        "model.register_comm_hook(None, default_hooks.bf16_compress_hook)",
    .jax = "grads = jax.tree.map(lambda g: g.astype(jnp.bfloat16), grads)  # before they are summed up",
};
// A server without gradients: what its ranks exchange are activations of every layer.
constexpr Advice kFewerRanks = {
    .kind = AdviceKind::config,
    .text =
        "Split the model over fewer GPUs, or its layers over GPUs in a pipeline: every layer that is split exchanges "
        "its activations.",
    .pytorch = "--tensor-parallel-size 2 --pipeline-parallel-size 2  # in place of --tensor-parallel-size 4",
};
constexpr const char* kNcclDebug = "export NCCL_DEBUG=INFO";
constexpr Advice kShowPath = {
    .kind = AdviceKind::environment,
    .text = "See which path NCCL takes (NVLink, PCIe, network).",
    .native = kNcclDebug,
    .pytorch = kNcclDebug,
    .jax = kNcclDebug,
};

/// Communication of a step without waiting for other ranks is too long to hide behind the computation, and gradients
/// that a batch sums up once overlap in part: what stands in line with computation may be activations.
bool is_more_than_compute(const RankEvidence& rank, double overlap) {
  double communication = 0, compute = 0;
  for (const ReplayWork& one : rank.replay.works()) {
    const Category category = rank.list.works[one.work].category;
    if (category == Category::communication) communication += static_cast<double>(one.duration_ns);
    if (is_compute(category)) compute += static_cast<double>(one.duration_ns);
  }
  return communication > kNearlyAll * compute && overlap > kMatters;
}

/// Whether the recording knows the types of what is sent, and none is wider than 16 bits.
bool sends_16_bits(const Evidence& evidence) {
  bool any = false;
  for (const RankEvidence& rank : evidence.ranks) {
    for (const Collective& one : rank.timeline->collectives) {
      any = true;
      if (!is_narrow_type(rank.timeline->names.at(one.data_type))) return false;
    }
  }
  return any;
}

Recommendation communicate_less(const Evidence& evidence) {
  const bool torch = evidence.framework == Framework::pytorch;
  return {AdviceKind::code,
          torch ? "Reduce gradients less often: a larger batch per GPU, or accumulate over several."
                : "Communicate less often: a larger batch or domain on each GPU.",
          batch_snippet(
              evidence, 2,
              torch ? "or: with model.no_sync(): loss.backward()" : "as much communication for twice the samples")};
}

}  // namespace

void add_comm_fixes(const Evidence& evidence, const RankEvidence& rank, double overlap, bool mostly_over_host,
                    Finding& finding) {
  if (mostly_over_host) return advise(evidence, {kReduceOnGpus}, finding);
  const bool wide = !sends_16_bits(evidence);
  if (any_name(rank.timeline->names, names_sharding)) {
    finding.recommendations.push_back(kKeepGathered);
    if (wide && has_bf16_and_tf32(evidence)) finding.recommendations.push_back(kGatherIn16Bits);
    finding.recommendations.push_back(kGatherAhead);
  } else if (rank.trains()) {
    if (is_more_than_compute(rank, overlap)) finding.recommendations.push_back(communicate_less(evidence));
    advise(evidence, {kBuckets, kOwnStream}, finding);
    if (rank.timeline->names.find(kSearchesUnused)) advise(evidence, {kKeepUsed}, finding);
    if (!is_more_than_compute(rank, overlap)) finding.recommendations.push_back(communicate_less(evidence));
    if (wide && has_bf16_and_tf32(evidence)) advise(evidence, {kSendIn16Bits}, finding);
  } else {
    advise(evidence, {kOwnStream, kFewerRanks}, finding);
  }
  advise(evidence, {kShowPath}, finding);
}

}  // namespace warpmark::analyze
