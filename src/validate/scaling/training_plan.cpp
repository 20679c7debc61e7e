#include "validate/scaling/training_plan.h"

#include <algorithm>

namespace warpmark::validate {
namespace {

using collectives::Collective;

double ring(Collective kind, double bytes, int ranks, const collectives::Link& link) {
  return collectives::cost(kind, collectives::Algorithm::ring, bytes, ranks, link);
}

/// PowerSGD's two algorithms go over all gradients nine times in 32 bits: the error is added (two read, one written),
/// two products read the sum, one writes what is sent, and the new error is their difference (two read, one written).
constexpr double kPowerSgdPasses = 9;

/// What compressing a step's gradients computes, of `parameters` on a GPU; that they become 16 bits is not counted.
double compression_s(const TrainingJob& job, const Cluster& cluster, const Layout& layout, double parameters) {
  if (layout.data < 2 || job.compression != Compression::power_sgd) return 0;
  const double flops_s = 6 * job.power_sgd_rank * parameters / (cluster.peak_flops * cluster.kernel_share);
  const double bytes = kPowerSgdPasses * 4 * parameters;
  return std::max(flops_s, cluster.memory_bandwidth > 0 ? bytes / cluster.memory_bandwidth : 0);
}

/// One of these links joins so many GPUs, those that are numbered next to one another `stride` apart.
const collectives::Link& link_of(const Cluster& cluster, int ranks, int stride = 1) {
  return ranks * stride > cluster.per_node ? cluster.between : cluster.within;
}

/// Gradients of a step between replicas: an all_reduce, which from stage 1 on is a reduce_scatter of gradients and an
/// all_gather of parameters, half of it each. Until stage 1 gradients are accumulated where they are and exchanged
/// once; from stage 2 on no GPU keeps them all, so that each micro-batch scatters its own, and stage 3 gathers
/// parameters twice each time. Hybrid sharding does so within a group, and adds an all_reduce of its parts between
/// groups. Compression makes gradients smaller, not parameters.
double data_parallel_s(const TrainingJob& job, const Cluster& cluster, const Layout& layout, double trained,
                       double held) {
  if (layout.replicas() < 2) return 0;
  const int per_node = std::max(1, cluster.per_node / (layout.tensor * layout.pipeline));
  const int shards = layout.shards(), groups = std::max(1, layout.replicas() / shards);
  const auto half_s = [&](double size, int ranks, int in_node) {
    return collectives::hierarchical_cost(Collective::all_reduce, size, ranks, in_node, cluster.within,
                                          cluster.between) /
           2;
  };
  const double bytes = gradient_bytes(trained, job.model.hidden, job.compression, job.power_sgd_rank);
  if (layout.zero == 0) return 2 * half_s(bytes, layout.replicas(), per_node);
  const double scatter_s = half_s(bytes, shards, per_node);
  const double gather_s =
      half_s(element_bytes(job.numbers.precision) * (layout.zero == 3 ? held : trained), shards, per_node);
  const double groups_s = groups > 1 ? 2 * half_s(bytes / shards, groups, std::max(1, per_node / shards)) : 0;
  switch (layout.zero) {
    case 1: return scatter_s + gather_s + groups_s;
    case 2: return layout.micro_batches * scatter_s + gather_s + groups_s;
    default: return layout.micro_batches * (scatter_s + 2 * gather_s) + groups_s;
  }
}

/// The computing behind which they travel: the backward pass, where they are exchanged once that of the last
/// micro-batch; what stage 3 gathers travels behind the forward pass, too.
double backward_behind_s(const TrainingJob& job, const Layout& layout, double compute_s) {
  const double share = layout.zero == 3 ? 1 : 2.0 / 3;
  return job.overlap * compute_s * share / (layout.zero < 2 ? layout.micro_batches : 1);
}

/// Within a layer, none of it hidden: four all_reduces of a micro-batch's activations between tensor-parallel GPUs,
/// twice forward and twice backward; keys and values gathered forward and backward, and their gradients scattered,
/// between those that share a sequence; what experts get and give, forward and backward.
double within_layers_s(const TrainingJob& job, const Cluster& cluster, const Layout& layout) {
  const double element = element_bytes(job.numbers.precision);
  const double tokens = job.sequence * layout.micro_batch / layout.context;
  const double again = layout.recompute == Recompute::full ? 1.5 : 1;
  double layer_s = 0;
  if (layout.tensor > 1) {
    layer_s += 4 * again *
               ring(Collective::all_reduce, element * tokens * job.model.hidden, layout.tensor,
                    link_of(cluster, layout.tensor));
  }
  if (layout.context > 1) {
    const double bytes = element * tokens * layout.context * kv_cache_numbers(job.model) / layout.tensor;
    layer_s += 3 * ring(Collective::all_gather, bytes, layout.context, link_of(cluster, layout.context, layout.tensor));
  }
  if (layout.expert > 1) {
    const double bytes = element * tokens * job.model.active_experts * job.model.hidden / layout.tensor;
    layer_s += 4 * again * job.model.expert_layers() / job.model.layers *
               ring(Collective::alltoall, bytes, layout.expert, link_of(cluster, layout.expert, layout.tensor));
  }
  return layer_s * stage_layers(job.model, layout.pipeline) * layout.micro_batches;
}

double pipeline_s(const TrainingJob& job, const Cluster& cluster, const Layout& layout) {
  if (layout.pipeline < 2) return 0;
  const double bytes = element_bytes(job.numbers.precision) * job.sequence / layout.context * layout.micro_batch *
                       job.model.hidden / layout.tensor;
  return 2 * layout.micro_batches * layout.interleave *
         ring(Collective::sendrecv, bytes, 2, link_of(cluster, layout.pipeline, layout.tensor));
}

/// Activations leave behind the forward pass and come back behind the rest of the step, of which the forward pass is a
/// third, less where something is computed again: what is longer than its pass is waited for.
double activation_transfer_s(const TrainingJob& job, const Cluster& cluster, const Layout& layout, double compute_s) {
  if (!layout.offload_activations) return 0;
  const auto held = held_activations(job.model, job.sequence, layout, job.numbers);
  const double share = held.all > 0 ? held.leaving / held.all : 0;
  const double one_way_s = share * stage_layers(job.model, layout.pipeline) * layout.micro_batches *
                           layer_activations(job.model, job.sequence, layout, layout.recompute, job.numbers) /
                           cluster.host_link;
  const auto flops = step_flops(job, layout.recompute);
  const double forward_s = compute_s * flops.model / flops.hardware / 3;
  return std::max(0.0, one_way_s - forward_s) + std::max(0.0, one_way_s - (compute_s - forward_s));
}

/// Parameters in host memory come over a GPU's own link for each pass over the layers, a share of each GPU, before they
/// are gathered; what takes longer than its pass is waited for (Rajbhandari et al., "ZeRO-Infinity", SC 2021, section
/// 6.1).
double parameter_transfer_s(const TrainingJob& job, const Cluster& cluster, const Layout& layout, double held,
                            double compute_s) {
  if (!layout.offload_parameters) return 0;
  const double one_way_s =
      layout.micro_batches * element_bytes(job.numbers.precision) * held / layout.shards() / cluster.host_link;
  const auto flops = step_flops(job, layout.recompute);
  const double forward_s = compute_s * flops.model / flops.hardware / 3;
  return std::max(0.0, one_way_s - forward_s) + std::max(0.0, one_way_s - (compute_s - forward_s));
}

/// Adam reads gradient, parameter and two states and writes the last three and the parameter in 16 bits, 28 to 30 bytes
/// a parameter: bound by the GPU's memory, or with offloaded state by the host's, after gradients of each micro-batch
/// have come and before parameters go back (Ren et al., "ZeRO-Offload", section 4).
double optimizer_s(const TrainingJob& job, const Cluster& cluster, const Layout& layout, double trained) {
  constexpr double kBytes = 28;
  const double own = trained / (layout.zero >= 1 ? layout.shards() : 1);
  if (!layout.offload) return cluster.memory_bandwidth > 0 ? kBytes * own / cluster.memory_bandwidth : 0;
  const double of_node = own * std::min(cluster.per_node, layout.gpus());
  const double transfers = layout.micro_batches + 1;
  return kBytes * of_node / cluster.host_bandwidth +
         transfers * element_bytes(job.numbers.precision) * own / cluster.host_link;
}

}  // namespace

double bubble(int stages, int micro_batches, int interleave) {
  return static_cast<double>(stages - 1) / (static_cast<double>(micro_batches) * interleave + stages - 1);
}

StepFlops step_flops(const TrainingJob& job, Recompute recompute) {
  const double keys = job.numbers.causal_flops ? job.sequence / 2 : job.sequence;
  const auto forward = forward_flops(job.model, job.sequence, keys);
  // Frozen weights have no gradient: of a product the forward pass and the gradient of its input are left.
  const double passes = job.numbers.tuning == Tuning::all ? 3 : 2;
  StepFlops flops;
  flops.model = job.batch * (passes * (forward.products + forward.logits) + 3 * forward.attention);
  flops.hardware = flops.model;
  if (recompute == Recompute::full) flops.hardware += job.batch * (forward.products + forward.attention);
  // FlashAttention computes scores again in any case; papers do not count it.
  if (recompute == Recompute::selective && !job.numbers.flash) flops.hardware += job.batch * forward.attention;
  return flops;
}

double gradient_bytes(double parameters, double hidden, Compression compression, int rank) {
  switch (compression) {
    case Compression::none: return 4 * parameters;
    case Compression::half: return 2 * parameters;
    case Compression::power_sgd: return 4 * parameters * std::min(1.0, 2.0 * rank / hidden);
  }
  return 4 * parameters;
}

PlannedLayout plan_layout(const TrainingJob& job, const Cluster& cluster, const Layout& layout) {
  PlannedLayout plan{.gpu = cluster.gpu, .layout = layout, .memory_bytes = cluster.memory_bytes};
  const double own = own_parameters(job.model, layout);
  const double trained = job.numbers.tuning == Tuning::all
                             ? own
                             : lora_parameters(job.model, job.numbers.lora_rank) / (layout.tensor * layout.pipeline);
  plan.memory = memory_of(job.model, job.sequence, layout, job.numbers);
  // What PowerSGD left out of a step it adds to the next: 4 bytes a parameter.
  if (layout.data > 1 && job.compression == Compression::power_sgd) plan.memory.gradients += 4 * own;
  plan.fits_gpu = plan.memory.gpu() <= cluster.memory_bytes;
  plan.fits_host = plan.memory.host <= cluster.host_memory_bytes;
  plan.fits = plan.fits_gpu && plan.fits_host;
  const auto flops = step_flops(job, layout.recompute);
  const double peak = layout.gpus() * cluster.peak_flops;
  // The fullest stage of a pipeline decides.
  const double uneven = stage_layers(job.model, layout.pipeline) * layout.pipeline / job.model.layers;
  plan.compute_s = uneven * flops.hardware / (peak * cluster.kernel_share);
  const double waiting = bubble(layout.pipeline, layout.micro_batches, layout.interleave);
  plan.bubble_s = plan.compute_s * waiting / (1 - waiting);
  const double behind_s = backward_behind_s(job, layout, plan.compute_s);
  plan.communication_s =
      exposed_exchange_s(data_parallel_s(job, cluster, layout, trained, own), behind_s, job.contention) +
      within_layers_s(job, cluster, layout) + pipeline_s(job, cluster, layout) +
      activation_transfer_s(job, cluster, layout, plan.compute_s) +
      parameter_transfer_s(job, cluster, layout, own, plan.compute_s);
  plan.optimizer_s = optimizer_s(job, cluster, layout, trained);
  plan.compression_s = compression_s(job, cluster, layout, own);
  plan.modelled_s = plan.compute_s + plan.bubble_s + plan.communication_s + plan.optimizer_s + plan.compression_s;
  plan.step_s = cluster.mfu > 0 ? flops.model / (peak * cluster.mfu) : plan.modelled_s;
  for (double* part :
       {&plan.compute_s, &plan.bubble_s, &plan.communication_s, &plan.optimizer_s, &plan.compression_s}) {
    *part *= plan.step_s / plan.modelled_s;
  }
  plan.mfu = flops.model / (plan.step_s * peak);
  plan.hfu = flops.hardware / (plan.step_s * peak);
  plan.model_flops_rate = plan.mfu * cluster.peak_flops;
  plan.tokens_per_s = job.batch * job.sequence / plan.step_s;
  plan.hours = job.tokens / plan.tokens_per_s / 3600;
  plan.dollars = plan.hours * cluster.dollars_per_hour * layout.gpus();
  return plan;
}

int largest_micro_batch(const TrainingJob& job, const Cluster& cluster, Layout layout) {
  const auto fits = [&](int micro_batch) {
    layout.micro_batch = micro_batch;
    const auto memory = memory_of(job.model, job.sequence, layout, job.numbers);
    return memory.gpu() <= cluster.memory_bytes && memory.host <= cluster.host_memory_bytes;
  };
  int low = 0, high = 1;
  while (high < (1 << 20) && fits(high)) low = high, high *= 2;
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

bool better(const PlannedLayout& a, const PlannedLayout& b) {
  if (a.fits != b.fits) return a.fits;
  if (a.fits) return a.modelled_s < b.modelled_s;
  return a.memory.gpu() < b.memory.gpu();
}

DataParallelJob compressed(DataParallelJob job, double ratio) {
  job.gradient_bytes *= ratio;
  job.bucket_bytes *= ratio;
  return job;
}

double message_bytes(const DataParallelJob& job) { return std::min(job.bucket_bytes, job.gradient_bytes); }

DataParallelStep data_parallel_step(const DataParallelJob& job, double message_s) {
  DataParallelStep step;
  const double messages = message_bytes(job) > 0 ? job.gradient_bytes / message_bytes(job) : 0;
  step.communication_s = messages * message_s;
  const double behind_s = job.overlap * job.backward_share * job.step_s;
  step.exposed_s = std::max(exposed_exchange_s(step.communication_s, behind_s, job.contention),
                            std::min(step.communication_s, message_s));
  const double computing_s = job.accumulation * job.step_s;
  step.step_s = computing_s + step.exposed_s;
  step.efficiency = step.step_s > 0 ? computing_s / step.step_s : 0;
  return step;
}

double exposed_exchange_s(double exchange_s, double behind_s, double contention) {
  const double hidden_s = std::min(exchange_s, behind_s);
  return exchange_s - hidden_s + contention * hidden_s;
}

}  // namespace warpmark::validate
