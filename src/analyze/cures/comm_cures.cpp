// What cures exposed communication depends on why it is exposed: it goes over the host, gradients are reduced for every
// micro-batch, the host splits it into many small units, there is more of it than computation to hide it behind, or
// nothing overlaps although it could.
#include "analyze/cures/comm_cures.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/cures/advice.h"
#include "analyze/cures/findings.h"
#include "analyze/cures/fitted.h"
#include "analyze/cures/larger_batch.h"
#include "analyze/cures/micro_batches.h"
#include "analyze/cures/widened_gradients.h"
#include "analyze/names/collective_kinds.h"
#include "analyze/names/ranges.h"
#include "analyze/names/words.h"

namespace warpmark::analyze {

namespace {

constexpr double kMuchSharding = 0.3;         // of the host's time ...
constexpr double kHostLimits = 0.2;           // ... and the GPU idles for this share of the step
constexpr Calibration kPerUnit = {1.0, 0.2};  // three programs: 1.16 to 1.39 times what was foretold
constexpr double kMuchNormalising = 0.2;      // of the host's time
// Communication above this share of computation cannot be hidden behind it: what computes last ends alone.
constexpr double kHideable = 0.8;
constexpr double kOverlapping = 0.02;  // of the collectives' time
constexpr int kMostTimes = 24;         // two programs were given 16 and 32 times their batch
constexpr Calibration kPerSample = {1.0, 0.0};

// NCCL user guide: "ncclAllReduce", "Group Calls" (several collectives as one launch), "NCCL_DEBUG".
constexpr Advice kReduceOnGpus = {
    .kind = AdviceKind::code,
    .text = "Reduce on the GPUs with NCCL, not on the host.",
    .native = "ncclAllReduce(device_send, device_receive, count, ncclFloat, ncclSum, communicator, stream);",
    .pytorch = "torch.distributed.init_process_group('nccl'); model = DistributedDataParallel(model.cuda())",
    .jax = "grads = jax.lax.pmean(grads, axis_name='batch')",
};
// PyTorch, torch.distributed: objects are pickled, and moved to the GPU and back, by the calling process.
const Recommendation kSendTensors = {AdviceKind::code,
                                     "Send tensors that are on the GPU, not objects that the host packs and unpacks.",
                                     "dist.broadcast(batch, src=0)  # not broadcast_object_list\n"
                                     "dist.all_gather_into_tensor(all_scores, scores)  # not all_gather_object"};
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
// PyTorch, DistributedDataParallel.no_sync and FSDPModule.set_requires_gradient_sync.
const Recommendation kReduceOnce = {AdviceKind::code, "Reduce gradients once an update: after the last micro-batch.",
                                    "with model.no_sync():  # but for the last micro-batch\n"
                                    "    model(micro_batch).loss.backward()"};
const Recommendation kShardsOnce = {AdviceKind::code,
                                    "Scatter gradients once an update, and keep parameters gathered until then.",
                                    "model.set_requires_gradient_sync(last)  # last: of an update's micro-batches\n"
                                    "model.set_reshard_after_backward(last)"};
// PyTorch, torch.distributed.fsdp.fully_shard: "reshard_after_forward", "MixedPrecisionPolicy",
// "set_modules_to_forward_prefetch".
const Recommendation kKeepGathered = {AdviceKind::code, "Keep gathered parameters for the backward pass.",
                                      "fully_shard(layer, reshard_after_forward=False)"};
const Recommendation kGatherIn16Bits = {
    AdviceKind::code, "Gather parameters in the 16 bits that they are multiplied in.",
    "fully_shard(layer, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))"};
const Recommendation kGatherAhead = {AdviceKind::code, "Gather the next layers' parameters while this one computes.",
                                     "layer.set_modules_to_forward_prefetch(next_layers)"};
// PyTorch, "DDP Communication Hooks": a hook may send another type than the gradients'.
const Recommendation kReduceAsTheyAre = {AdviceKind::code,
                                         "Send gradients in the 16 bits that they have: without the hook that casts "
                                         "them to FP32 and back.",
                                         "model = DistributedDataParallel(model)  # no register_comm_hook(...)"};
const Recommendation kSumAsTheyAre = {AdviceKind::code,
                                      "Send the 16 bits that the values have: no cast to FP32 and back around the "
                                      "collective.",
                                      "dist.all_reduce(partial)  # not of partial.float()"};
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
constexpr const char* kNcclDebug = "export NCCL_DEBUG=INFO";
constexpr Advice kShowPath = {
    .kind = AdviceKind::environment,
    .text = "See which path NCCL takes (NVLink, PCIe, network).",
    .native = kNcclDebug,
    .pytorch = kNcclDebug,
    .jax = kNcclDebug,
};

enum class Exposure {
  over_host,
  objects,
  every_micro_batch,
  widened,
  small_units,
  synchronized_norms,
  more_than_compute,
  not_overlapped,
};

/// Communication of a step without waiting for other ranks, and computation, ns.
struct Balance {
  double communication = 0;
  double compute = 0;
};

Balance balance_of(const RankEvidence& rank) {
  Balance sum;
  for (const ReplayWork& one : rank.replay.works()) {
    const Category category = rank.list.works[one.work].category;
    if (category == Category::communication) sum.communication += static_cast<double>(one.duration_ns);
    if (is_compute(category)) sum.compute += static_cast<double>(one.duration_ns);
  }
  const double steps = std::max(1, rank.replay.steps());
  return {sum.communication / steps, sum.compute / steps};
}

/// Share of the steps that the host spends in ranges whose name `wanted` accepts.
template <typename Wanted>
double host_share_of(const RankEvidence& rank, Wanted wanted) {
  const EventColumns& events = rank.timeline->events;
  const NameSet counts(rank.timeline->names, wanted);
  if (!counts.any()) return 0;  // without a look at every event
  std::vector<Interval> ranges;
  for (EventIndex i = 0; i < events.size(); ++i) {
    const EventKind kind = events.kind[i];
    if ((kind == EventKind::annotation || kind == EventKind::op) && counts.contains(events.name[i]))
      ranges.push_back({events.start[i], events.end(i)});
  }
  if (ranges.empty()) return 0;
  const Coverage covered(united(std::move(ranges)));
  return static_cast<double>(covered.covered(rank.steps.start(), rank.steps.end())) /
         std::max(1.0, static_cast<double>(rank.steps.length()));
}

/// On gathering parameters and scattering gradients of sharded modules.
double host_share_of_sharding(const RankEvidence& rank) { return host_share_of(rank, names_sharding); }

/// On normalisations that all ranks do together.
double host_share_of_norms(const RankEvidence& rank) { return host_share_of(rank, names_synchronized_norm); }

bool sends_mostly_widened(const RankEvidence& rank) {
  double widened = 0, all = 0;
  const WidenedGradients found = find_widened_gradients(rank);
  if (found.collectives.empty()) return false;
  for (const std::size_t i : found.collectives) {
    widened += static_cast<double>(rank.list.works[i].end - rank.list.works[i].start);
  }
  for (const ReplayWork& one : rank.replay.works()) {
    const GpuWork& work = rank.list.works[one.work];
    if (work.category == Category::communication) all += static_cast<double>(work.end - work.start);
  }
  return widened > all / 2;
}

/// What cures a rank's exposed communication by itself.
struct Causes {
  bool over_host = false;  ///< most of what is lost goes over the host
  double sharding = 0;     ///< share of the host in the steps
  double norms = 0;        ///< the same
  int reductions = 1;      ///< of the same gradients, an update
  bool widened = false;    ///< most of it is gradients of 16 bits, sent in 32
};

/// A host that is ahead of its GPU may take its time over the shards.
double idle_share(const RankEvidence& rank) { return rank.group_ns("idle") / std::max(1.0, rank.step_ns()); }

/// Gradients that a batch sums up once, whatever its size, overlap with the backward pass in part; what stands in line
/// with computation may be activations, which grow with the batch.
bool overlaps_in_part(double overlap) { return overlap > kOverlapping; }

Exposure exposure_of(const RankEvidence& rank, const Causes& causes, double overlap) {
  if (causes.over_host && rank.over_host == OverHost::objects) return Exposure::objects;
  if (causes.over_host) return Exposure::over_host;
  if (causes.sharding > kMuchSharding && idle_share(rank) > kHostLimits) return Exposure::small_units;
  if (causes.norms > kMuchNormalising) return Exposure::synchronized_norms;
  if (causes.reductions > 1) return Exposure::every_micro_batch;
  if (causes.widened) return Exposure::widened;
  const Balance balance = balance_of(rank);
  const bool too_much = balance.communication > kHideable * balance.compute;
  return too_much && overlaps_in_part(overlap) ? Exposure::more_than_compute : Exposure::not_overlapped;
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

void shard_in_larger_units(const Causes& causes, Finding& finding) {
  finding.recommendations.push_back({AdviceKind::code, "Shard in larger units: whole layers, not single matrices.",
                                     "for layer in model.layers: fully_shard(layer)\nfully_shard(model)"});
  finding.recommendations.push_back(kKeepGathered);
  finding.gain = gain_around(1 / (1 - std::min(causes.sharding, 0.95) * (1 - kUnitsLeft)), kPerUnit,
                             "the host's share in the sharding, with a sixth of the units left");
}

/// What helps whatever the exposure is.
void recommend_further(const Evidence& evidence, Exposure exposure, bool sharded, const Recommendation& reduce_less,
                       Finding& finding) {
  const bool wide = !sends_16_bits(evidence);
  if (sharded) {
    finding.recommendations.push_back(kKeepGathered);
    if (wide) finding.recommendations.push_back(kGatherIn16Bits);
    finding.recommendations.push_back(kGatherAhead);
    return advise(evidence, {kShowPath}, finding);
  }
  advise(evidence, {kBuckets, kOwnStream}, finding);
  if (evidence.rank().timeline->names.find(kSearchesUnused)) advise(evidence, {kKeepUsed}, finding);
  if (exposure != Exposure::more_than_compute) finding.recommendations.push_back(reduce_less);
  if (wide) advise(evidence, {kSendIn16Bits}, finding);
  advise(evidence, {kShowPath}, finding);
}

/// The cure of this exposure first; its gain is the finding's where the replay without communication is not.
void recommend(const Evidence& evidence, Exposure exposure, const Causes& causes, Finding& finding) {
  if (causes.reductions > 1) {
    finding.evidence.push_back(
        count_fact("reductions_per_update", "The same gradients are reduced, times an update", causes.reductions));
    finding.recommendations.push_back(causes.sharding > 0 ? kShardsOnce : kReduceOnce);
  }
  if (exposure == Exposure::over_host) return advise(evidence, {kReduceOnGpus}, finding);
  if (exposure == Exposure::objects) finding.recommendations.push_back(kSendTensors);
  if (exposure == Exposure::small_units) return shard_in_larger_units(causes, finding);
  const bool torch = evidence.framework == Framework::pytorch;
  const LargerBatch larger = larger_batch(evidence, kMostTimes);
  const Recommendation reduce_less = {
      .kind = AdviceKind::code,
      .text = torch ? "Reduce gradients less often: a larger batch per GPU, or accumulate over several."
                    : "Communicate less often: a larger batch or domain on each GPU.",
      .snippet =
          batch_snippet(evidence, larger.times,
                        torch ? "or: with model.no_sync(): loss.backward()" : "as much communication for more samples"),
      .id = "larger_batch",
      .gain = gain_per_sample(
          larger, kPerSample,
          fmt::format("replay with a batch {} times as large and the same communication", larger.times))};
  switch (exposure) {
    case Exposure::synchronized_norms:
      finding.evidence.push_back(
          share_fact("norms_host_share", "Of the step the host normalises over all ranks", causes.norms));
      finding.recommendations.push_back(
          {AdviceKind::code,
           "Normalise on each GPU by itself where its batch allows: a synchronized norm is a collective and a dozen "
           "calls.",
           "nn.BatchNorm2d(channels)  # without nn.SyncBatchNorm.convert_sync_batchnorm"});
      finding.gain = gain_around(1 / (1 - std::min(causes.norms, 0.95) * (1 - kNormsLeft)), kPerUnit,
                                 "the host's share in the synchronized norms, with a seventh of it left");
      break;
    case Exposure::widened:
      finding.recommendations.push_back(sends_buckets(evidence.rank()) ? kReduceAsTheyAre : kSumAsTheyAre);
      finding.gain = gain_around(speedup_of(evidence, reduced_as_they_are(evidence)), kWithoutCommunication,
                                 "replay with half as much to send and nothing to cast");
      break;
    case Exposure::more_than_compute:
      finding.recommendations.push_back(reduce_less);
      finding.recommendations.back().gain.reset();  // the finding's own
      finding.gain = *reduce_less.gain;
      break;
    default: break;
  }
  recommend_further(evidence, exposure, causes.sharding > 0, reduce_less, finding);
}

}  // namespace

void add_comm_cures(const Evidence& evidence, const RankEvidence& rank, double overlap, bool mostly_over_host,
                    Finding& finding) {
  const Causes causes{mostly_over_host, host_share_of_sharding(rank), host_share_of_norms(rank),
                      reductions_an_update(rank), sends_mostly_widened(rank)};
  if (causes.sharding > 0) {
    finding.evidence.push_back(
        share_fact("sharding_host_share", "Of the step the host gathers and scatters shards", causes.sharding));
  }
  recommend(evidence, exposure_of(rank, causes, overlap), causes, finding);
}

}  // namespace warpmark::analyze
