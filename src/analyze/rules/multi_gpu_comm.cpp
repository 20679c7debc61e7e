// Communication between GPUs that no computation overlaps. Waiting for a rank that has more work is load_imbalance;
// waiting that comes from meeting so often (equal work, unequal instants) is communication.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/evidence/collective_traffic.h"
#include "analyze/evidence/evidence.h"
#include "analyze/host/over_host.h"
#include "analyze/names/collective_kinds.h"
#include "analyze/names/ranges.h"
#include "analyze/names/words.h"
#include "analyze/recommendations/advice.h"
#include "analyze/recommendations/findings.h"
#include "analyze/recorded/collective_benchmarks.h"
#include "analyze/rules/rules.h"
#include "base/units.h"
#include "model/finding.h"

namespace warpmark::analyze {

namespace {

// What helps against communication that nothing overlaps.

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
// Huang et al., "GPipe" (NeurIPS 2019), section 2: with M micro-batches K stages idle (K - 1) / (M + K - 1) of the
// time.
constexpr Advice kMicroBatches = {
    .kind = AdviceKind::code,
    .text =
        "Split the batch, so that the GPUs work on parts of it at the same time; or give each GPU the whole model and "
        "a part of the batch, where it fits.",
    .native = "for (part = 0; part < parts; ++part) { first(part, stream[0]); second(part, stream[1]); }",
    .pytorch =
        "schedule = torch.distributed.pipelining.ScheduleGPipe(stage, n_microbatches=8)  # or "
        "DistributedDataParallel",
    .jax = "y = jax.shard_map(step, mesh=mesh, in_specs=P('batch'), out_specs=P('batch'))(x)",
};
// The same, and Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters" (SC 2021), section
// 2.2: V chunks of the model on each stage divide the idle share by V.
constexpr Advice kMoreMicroBatches = {
    .kind = AdviceKind::code,
    .text =
        "Split the batch into more micro-batches, or give each stage several chunks of the model: with M micro-batches "
        "K stages idle (K - 1) / (M + K - 1) of the time.",
    .native = "for (part = 0; part < 4 * stages; ++part) forward(part);  // at least four parts a stage",
    .pytorch =
        "schedule = torch.distributed.pipelining.ScheduleInterleaved1F1B(stages, n_microbatches=4 * pipeline_ranks)",
};
// A server without gradients: what its ranks exchange are activations of every layer.
constexpr Advice kFewerRanks = {
    .kind = AdviceKind::config,
    .text =
        "Split the model over fewer GPUs, or its layers over GPUs in a pipeline: every layer that is split exchanges "
        "its activations.",
    .pytorch = "--tensor-parallel-size N/2 --pipeline-parallel-size 2  # in place of --tensor-parallel-size N",
};
constexpr Advice kNoBarriers = {
    .kind = AdviceKind::code,
    .text =
        "Leave barriers and exchanges of a few values out of the step: they carry hardly any data, and each waits for "
        "the slowest rank.",
    .pytorch = "# dist.barrier() and all_reduce(loss) only where the value is printed: if step % 50 == 0",
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

/// Adds advice for this rank's communication. `overlap`: share of the collectives' time that computation overlaps.
/// `mostly_over_host`: most of what is lost goes over the host.
void add_comm_fixes(const Evidence& evidence, const RankEvidence& rank, double overlap, bool mostly_over_host,
                    Finding& finding) {
  if (mostly_over_host) return advise(evidence, {kReduceOnGpus}, finding);
  const bool wide = !sends_16_bits(evidence);
  if (any_name(rank.timeline->names, names_sharding)) {
    finding.recommendations.push_back(kKeepGathered);
    if (wide && has_bf16(evidence)) finding.recommendations.push_back(kGatherIn16Bits);
    finding.recommendations.push_back(kGatherAhead);
  } else if (rank.trains()) {
    if (is_more_than_compute(rank, overlap)) finding.recommendations.push_back(communicate_less(evidence));
    advise(evidence, {kBuckets, kOwnStream}, finding);
    if (rank.timeline->names.find(kSearchesUnused)) advise(evidence, {kKeepUsed}, finding);
    if (!is_more_than_compute(rank, overlap)) finding.recommendations.push_back(communicate_less(evidence));
    if (wide && has_bf16(evidence)) advise(evidence, {kSendIn16Bits}, finding);
  } else if (any_name(rank.timeline->names, names_profiled_step) &&  // of a loop, which is no server
             !any_name(rank.timeline->names, names_all_reduce_of_engines)) {
    advise(evidence, {kOwnStream}, finding);
  } else {
    advise(evidence, {kOwnStream, kFewerRanks}, finding);
  }
  advise(evidence, {kShowPath}, finding);
}

struct Traffic {
  double collectives = 0;
  double elements = 0;
  double time_ns = 0;
  double overlapped_ns = 0;
  double of_values_ns = 0;  ///< of time_ns in which no more than a few values are sent
  [[nodiscard]] double overlap() const { return overlapped_ns / std::max(1.0, time_ns); }
  [[nodiscard]] bool of_values() const { return of_values_ns > time_ns / 2; }
};

Traffic traffic_in_steps(const RankEvidence& rank) {
  const DescribedCollectives described(*rank.timeline);
  Traffic sum;
  for (const GpuWork& work : rank.list.works) {
    if (work.category != Category::communication || !rank.in_steps(work)) continue;
    const auto time_ns = static_cast<double>(work.end - work.start);
    sum.collectives += 1;
    sum.time_ns += time_ns;
    sum.overlapped_ns += static_cast<double>(rank.compute.covered(work.start, work.end));
    const Collective* one = described.of(work, rank.list);
    if (one == nullptr) continue;
    sum.elements += static_cast<double>(one->in_elements);
    const double known = element_bytes(rank.timeline->names.at(one->data_type));
    const double bytes = static_cast<double>(std::max(one->in_elements, one->out_elements)) *
                         (known > 0 ? known : double{kOneNumberBytes});  // no type has more
    if (bytes > 0 && bytes <= double{kValueBytes}) sum.of_values_ns += time_ns;
  }
  return sum;
}

/// How fast the largest messages went, and what the links gave to a benchmark of the same size.
void add_bandwidth(const Evidence& evidence, const RankEvidence& rank, Finding& finding) {
  for (const CollectiveTraffic& one : collective_traffic(evidence, rank)) {
    if (one.bus_bandwidth <= 0) continue;
    std::string text = fmt::format("Largest {}: {} at {:.1f} GB/s of bus bandwidth", one.collective,
                                   format_bytes(one.bytes), one.bus_bandwidth * 1e-9);
    finding.evidence.push_back({std::move(text), "bus_bandwidth", one.bus_bandwidth, "B/s"});
    const auto known = benchmarked_bandwidth(evidence.session->collectives, one.collective, one.ranks, one.bytes);
    if (known) {
      finding.evidence.push_back({fmt::format("nccl-tests at that size: {:.1f} GB/s", *known * 1e-9),
                                  "benchmark_bus_bandwidth", *known, "B/s"});
    }
    return;
  }
}

double waiting_ns(const Evidence& evidence, std::size_t r) {
  return evidence.ranks[r].part_ns(Part::idle_waiting_for_rank);
}

/// Layers on one after the other: GPUs of one process that wait for one another without any exchange that was recorded,
/// or stages of a pipeline, which wait for messages.
bool work_in_turn(const RankEvidence& rank, const Exposed& exposed, const Traffic& traffic) {
  return exposed.waiting > exposed.all() / 2 && (traffic.collectives == 0 || rank.alignment.by_messages);
}

std::string title_of(const RankEvidence& rank, const Exposed& exposed, const Traffic& traffic, double lost,
                     double step) {
  const std::string amount = time_text(lost) + " per step (" + format_percent(lost / step) + ")";
  if (work_in_turn(rank, exposed, traffic)) {
    return (rank.alignment.by_messages ? "The stages of the pipeline work one after the other: one waits "
                                       : "The GPUs work one after the other: one waits ") +
           amount + " for another";
  }
  return exposed.waiting > exposed.all() / 2 ? "Ranks wait for one another in collectives, " + amount
                                             : "Communication takes " + amount + " that no computation overlaps";
}

void add_evidence(const RankEvidence& rank, const Exposed& exposed, const Traffic& traffic, Finding& finding) {
  if (traffic.collectives > 0) {
    finding.evidence = {
        time_fact("exposed_communication_per_step", "Collectives with no other GPU work, per step",
                  exposed.collectives),
        time_fact("waiting_per_step",
                  rank.alignment.by_messages ? "Waiting for messages, beyond the fastest of their size, per step"
                                             : "Waiting in collectives that no rank's own work explains, per step",
                  exposed.waiting),
        share_fact("overlap", "Of the collectives' time overlapped by computation", traffic.overlap()),
        count_fact("collectives_per_step", "Collectives per step", traffic.collectives / rank.step_count()),
    };
  }
  if (exposed.between > 0) {
    finding.evidence.push_back(
        time_fact("between_collectives_per_step", "Idle between collectives, per step", exposed.between));
  }
  if (traffic.of_values()) {
    finding.evidence.push_back(share_fact("of_values", "Of the collectives' time in those of up to 64 KiB",
                                          traffic.of_values_ns / traffic.time_ns));
  }
  if (traffic.elements > 0) {
    finding.evidence.push_back(count_fact("elements_per_collective", "Elements per collective, mean",
                                          traffic.elements / std::max(1.0, traffic.collectives)));
  }
  if (const double collectives = host_collectives(*rank.timeline, rank.steps); collectives > 0) {
    finding.evidence.push_back(
        count_fact("host_collectives_per_step", "Collectives on the host per step", collectives));
  }
  if (exposed.over_host > 0) {
    finding.evidence.push_back(
        time_fact("over_host_per_step", "Copies and waits around them, per step", exposed.over_host));
  }
}

/// Whether a work is there to bring something to other ranks or from them.
bool communicates(const RankEvidence& rank, const GpuWork& work) {
  return work.category == Category::communication ||
         (rank.over_host != OverHost::nothing && is_host_copy(work.category));
}

std::vector<Finding> apply_multi_gpu_comm(const Evidence& evidence) {
  const Exposed& exposed = evidence.attribution.exposed;
  const double lost = evidence.attribution.lost_ns(AttributedTo::multi_gpu_comm);
  if (lost <= 0) return {};
  const double step = evidence.rank().undisturbed_step_ns();
  const RankEvidence& rank = evidence.ranks[evidence.attribution.most_exposed];
  const Traffic traffic = traffic_in_steps(rank);
  Finding finding = make_finding(kMultiGpuCommRule, lost, step, title_of(rank, exposed, traffic, lost, step));
  add_evidence(rank, exposed, traffic, finding);
  if (work_in_turn(rank, exposed, traffic)) {
    for (std::size_t r = 0; r < std::min(kShown, evidence.ranks.size()); ++r) {
      const std::string gpu = std::to_string(evidence.ranks[r].number());
      finding.evidence.push_back(time_fact(
          "waiting_gpu_" + gpu, (evidence.of_gpus() ? "GPU " : "Rank ") + gpu + " waits for another, per step",
          waiting_ns(evidence, r)));
    }
    advise(evidence, {rank.alignment.by_messages ? kMoreMicroBatches : kMicroBatches}, finding);
    finding.gain = at_most(amdahl(lost, step), "at most what is left when no GPU waits for another");
    return {finding};
  }
  add_bandwidth(evidence, rank, finding);
  if (traffic.of_values()) advise(evidence, {kNoBarriers}, finding);
  add_comm_fixes(evidence, rank, traffic.overlap(), exposed.over_host > exposed.all() / 2, finding);
  show_works(
      rank, [&rank](std::size_t i) { return communicates(rank, rank.list.works[i]); }, finding);
  return {finding};
}

/// Copying, scaling and adding up what is sent, a parameter at a time: it goes with its collective. What lies between
/// two collectives, none of which is a model's own. Indices of works.
std::vector<std::size_t> works_between_collectives(const RankEvidence& rank) {
  const auto serves = [](Category category) {
    return category == Category::elementwise || category == Category::reduction || category == Category::other ||
           category == Category::copy_on_device || category == Category::memset;
  };
  std::vector<std::size_t> serving, since;
  bool after_collective = false;
  for (const ReplayWork& one : rank.replay.works()) {
    const Category category = rank.list.works[one.work].category;
    if (category == Category::communication) {
      if (after_collective) serving.insert(serving.end(), since.begin(), since.end());
      after_collective = true;
      since.clear();
    } else if (serves(category)) {
      since.push_back(one.work);
    } else {
      after_collective = false;
    }
  }
  return serving;
}

void drop_host_round_trips(OverHost what, double success, WhatIf& change) {
  for (const HostCause cause : {HostCause::transfer, HostCause::sync, HostCause::optimizer}) {
    if (cause != HostCause::transfer && what != OverHost::gradients) continue;
    change.host_scale[static_cast<std::size_t>(cause)] *= 1 - success;
    if (success >= 0.5) change.drop_wait[static_cast<std::size_t>(cause)] = true;
  }
}

void hide_communication(const Evidence& evidence, double success, Change& change) {
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const RankEvidence& rank = evidence.ranks[r];
    open_columns(rank, change.ranks[r]);
    if (rank.over_host != OverHost::nothing) drop_host_round_trips(rank.over_host, success, change.ranks[r]);
    for (std::size_t i = 0; i < rank.list.works.size(); ++i) {
      if (!communicates(rank, rank.list.works[i])) continue;
      change.ranks[r].duration_scale[i] *= static_cast<float>(1 - success);
      change.ranks[r].dispatch_scale[i] *= static_cast<float>(1 - success);
    }
    for (const std::size_t i : works_between_collectives(rank)) {
      change.ranks[r].duration_scale[i] *= static_cast<float>(1 - success);
      change.ranks[r].dispatch_scale[i] *= static_cast<float>(1 - success);
    }
  }
}

/// Whether the ranks wait for one another mostly because one has more to do: that stays, however fast or hidden what
/// they send is.
bool waits_for_late_ranks(const Evidence& evidence) {
  std::size_t most = 0;
  for (std::size_t r = 1; r < evidence.ranks.size(); ++r) {
    if (waiting_ns(evidence, r) > waiting_ns(evidence, most)) most = r;
  }
  return evidence.attribution.imbalance.explained_ns(most) > waiting_ns(evidence, most) / 2;
}

void change_multi_gpu_comm(const Evidence& evidence, double success, Change& change) {
  hide_communication(evidence, success, change);
  if (!waits_for_late_ranks(evidence)) return;
  for (WhatIf& one : change.ranks) one.keeps_rendezvous = true;
}

}  // namespace

constinit const Rule kMultiGpuCommRule = {"multi_gpu_comm", "multi_gpu_comm",     "Is communication exposed?",
                                          Need::gpu_work,   apply_multi_gpu_comm, change_multi_gpu_comm};

}  // namespace warpmark::analyze
