#include "validate/scaling/training_plan.h"

#include <algorithm>
#include <cmath>

#include "validate/scaling/data_parallel.h"

namespace warpmark::validate {
namespace {

using collectives::Collective;

constexpr double kSpare = 0.92;  // of a GPU's memory: contexts, NCCL's buffers and fragmentation take the rest

double ring(Collective kind, double bytes, int ranks, const collectives::Link& link) {
  return collectives::cost(kind, collectives::Algorithm::ring, bytes, ranks, link);
}

/// PowerSGD's two algorithms go over all gradients nine times in 32 bits: the error is added (two read, one written),
/// two products read the sum, one writes what is sent, and the new error is their difference (two read, one written).
constexpr double kPowerSgdPasses = 9;

/// What compressing a step's gradients computes, of `parameters` on a GPU; that they become 16 bits is not counted.
double compression_s(const TrainingJob& job, const Cluster& cluster, const Layout& layout, double parameters) {
  if (layout.data < 2 || job.compression != Compression::power_sgd) return 0;
  const double flops_s = 6 * job.power_sgd_rank * parameters / (cluster.peak_flops * cluster.utilization);
  const double bytes = kPowerSgdPasses * 4 * parameters;
  return std::max(flops_s, cluster.memory_bandwidth > 0 ? bytes / cluster.memory_bandwidth : 0);
}

/// Gradients of a step between replicas: an all_reduce, which from stage 1 on is a reduce_scatter of gradients and an
/// all_gather of parameters, half of it each. Until stage 1 gradients are accumulated where they are and exchanged
/// once; from stage 2 on no GPU keeps them all, so that each micro-batch scatters its own, and stage 3 gathers
/// parameters twice each time. Compression makes gradients smaller, not parameters.
double data_parallel_s(const TrainingJob& job, const Cluster& cluster, const Layout& layout, double parameters) {
  if (layout.data < 2) return 0;
  const int per_node = std::max(1, cluster.per_node / (layout.tensor * layout.pipeline));
  const double bytes = gradient_bytes(parameters, job.shape.hidden, job.compression, job.power_sgd_rank);
  const auto half_s = [&](double size) {
    return collectives::hierarchical_cost(Collective::all_reduce, size, layout.data, per_node, cluster.within,
                                          cluster.between) /
           2;
  };
  const double scatter_s = half_s(bytes), gather_s = half_s(state_bytes(job.numbers).parameters * parameters);
  switch (layout.zero) {
    case 0: return 2 * scatter_s;
    case 1: return scatter_s + gather_s;
    case 2: return layout.micro_batches * scatter_s + gather_s;
    default: return layout.micro_batches * (scatter_s + 2 * gather_s);
  }
}

/// The computing behind which they travel: the backward pass, where they are exchanged once that of the last
/// micro-batch.
double backward_behind_s(const TrainingJob& job, const Layout& layout, double compute_s) {
  return job.overlap * compute_s * 2 / 3 / (layout.zero < 2 ? layout.micro_batches : 1);
}

/// Four all_reduces of a micro-batch's activations a layer, twice forward and twice backward.
double tensor_parallel_s(const TrainingJob& job, const Cluster& cluster, const Layout& layout) {
  if (layout.tensor < 2) return 0;
  const auto& link = layout.tensor > cluster.per_node ? cluster.between : cluster.within;
  const double bytes =
      element_bytes(job.numbers.precision) * job.shape.sequence * layout.micro_batch * job.shape.hidden;
  const double layers = job.shape.layers / layout.pipeline;
  const double again = layout.recompute == Recompute::full ? 6 : 4;
  return again * layers * layout.micro_batches * ring(Collective::all_reduce, bytes, layout.tensor, link);
}

double pipeline_s(const TrainingJob& job, const Cluster& cluster, const Layout& layout) {
  if (layout.pipeline < 2) return 0;
  const auto& link = layout.tensor * layout.pipeline > cluster.per_node ? cluster.between : cluster.within;
  const double bytes =
      element_bytes(job.numbers.precision) * job.shape.sequence * layout.micro_batch * job.shape.hidden / layout.tensor;
  return 2 * layout.micro_batches * ring(Collective::sendrecv, bytes, 2, link);
}

double recompute_factor(const TransformerShape& shape, Recompute recompute) {
  if (recompute == Recompute::full) return 8.0 / 6;
  if (recompute == Recompute::none) return 1;
  // Attention's scores are computed again: 4 s h of some 24 h^2 + 4 s h operations forward, a third of the step.
  return 1 + shape.sequence / (6 * shape.hidden + shape.sequence) / 3;
}

/// Activations that a stage holds, but for what is computed again.
double held_activations(const TransformerShape& shape, const Layout& layout, double element) {
  // The first stage of a pipeline that runs one forward, one backward holds as many micro-batches as there are stages.
  const double held = std::min(layout.pipeline, layout.micro_batches);
  return held * shape.layers / layout.pipeline *
         layer_activations(shape, layout.micro_batch, layout.tensor, layout.recompute, element);
}

/// Of those offloaded two layers' stay on the GPU: one that is computed with, and one on its way.
double activations_on_gpu(const TransformerShape& shape, const Layout& layout, double element) {
  const double all = held_activations(shape, layout, element);
  if (!layout.offload_activations) return all;
  return std::min(all, 2 * layer_activations(shape, layout.micro_batch, layout.tensor, layout.recompute, element));
}

/// They leave behind the forward pass and come back behind the rest of the step, of which the forward pass is a third,
/// less where something is computed again: what is longer than its pass is waited for. Those that stay do not travel.
double activation_transfer_s(const TrainingJob& job, const Cluster& cluster, const Layout& layout, double compute_s) {
  if (!layout.offload_activations) return 0;
  const double element = element_bytes(job.numbers.precision);
  const double held = held_activations(job.shape, layout, element);
  const double leaving = held > 0 ? 1 - activations_on_gpu(job.shape, layout, element) / held : 0;
  const double layers = leaving * job.shape.layers / layout.pipeline * layout.micro_batches;
  const double bytes =
      layers * layer_activations(job.shape, layout.micro_batch, layout.tensor, layout.recompute, element);
  const double one_way_s = bytes / cluster.host_link;
  const double forward_s = compute_s / (3 * recompute_factor(job.shape, layout.recompute));
  return std::max(0.0, one_way_s - forward_s) + std::max(0.0, one_way_s - (compute_s - forward_s));
}

/// A layout with each kind of offload, but for those that would offload nothing: two layers stay anyway.
void add_offloads(std::vector<PlannedLayout>& plans, const TrainingJob& job, const Cluster& cluster, Layout layout) {
  const double element = element_bytes(job.numbers.precision);
  for (const bool activations : {false, true}) {
    layout.offload_activations = activations;
    if (activations && activations_on_gpu(job.shape, layout, element) >= held_activations(job.shape, layout, element))
      continue;
    for (const bool state : {false, true}) {
      layout.offload = state;
      plans.push_back(plan_layout(job, cluster, layout));
    }
  }
}

/// Stages 2 and 3 scatter in each micro-batch, of which a pipeline has several under way. PowerSGD multiplies whole
/// gradients.
int most_zero(const TrainingJob& job, int data, int pipeline) {
  if (data < 2 || job.compression == Compression::power_sgd) return 0;
  return pipeline > 1 ? 1 : 3;
}

}  // namespace

double parameters_of(const TransformerShape& shape) {
  const double l = shape.layers, h = shape.hidden;
  return 12 * l * h * h * (1 + 13 / (12 * h) + (shape.vocabulary + shape.sequence) / (12 * l * h));
}

const char* name_of(Recompute recompute) {
  switch (recompute) {
    case Recompute::none: return "none";
    case Recompute::selective: return "selective";
    case Recompute::full: return "full";
  }
  return "";
}

double layer_activations(const TransformerShape& shape, int micro_batch, int tensor, Recompute recompute,
                         double element) {
  const double sbh = shape.sequence * micro_batch * shape.hidden;
  // Of 34 + 5 a s / h bytes in the paper two, and one of the scores', are masks of dropout, which stay a byte each.
  const double kept = 16 * element + 2;
  const double scores = (2 * element + 1) * shape.heads * shape.sequence / shape.hidden;
  switch (recompute) {
    case Recompute::none: return sbh / tensor * (kept + scores);
    case Recompute::selective: return sbh / tensor * kept;
    case Recompute::full: return element * sbh;
  }
  return 0;
}

MemoryPlan memory_of(const TransformerShape& shape, const Layout& layout, const TrainingNumbers& numbers) {
  const double element = element_bytes(numbers.precision);
  MemoryPlan plan = state_memory(parameters_of(shape) / (layout.tensor * layout.pipeline), layout.zero, layout.data,
                                 layout.offload, state_bytes(numbers));
  plan.activations = activations_on_gpu(shape, layout, element);
  plan.host += held_activations(shape, layout, element) - plan.activations;
  if (layout.recompute == Recompute::full) {
    plan.activations += layer_activations(shape, layout.micro_batch, layout.tensor, Recompute::none, element);
  }
  return plan;
}

double bubble(int stages, int micro_batches) {
  return static_cast<double>(stages - 1) / static_cast<double>(micro_batches + stages - 1);
}

double training_seconds(double parameters, double tokens, double gpus, double flops_a_gpu, bool recompute) {
  return (recompute ? 8.0 : 6.0) * tokens * parameters / (gpus * flops_a_gpu);
}

double gradient_bytes(double parameters, double hidden, Compression compression, int rank) {
  switch (compression) {
    case Compression::none: return 4 * parameters;
    case Compression::half: return 2 * parameters;
    case Compression::power_sgd: return 4 * parameters * std::min(1.0, rank * 2 / hidden);
  }
  return 4 * parameters;
}

PlannedLayout plan_layout(const TrainingJob& job, const Cluster& cluster, const Layout& layout) {
  PlannedLayout plan{.gpu = cluster.gpu, .layout = layout};
  const double parameters = parameters_of(job.shape);
  const double own = parameters / (layout.tensor * layout.pipeline);
  plan.memory = memory_of(job.shape, layout, job.numbers);
  // What PowerSGD left out of a step it adds to the next: 4 bytes a parameter.
  if (layout.data > 1 && job.compression == Compression::power_sgd) plan.memory.gradients += 4 * own;
  plan.fits_gpu = plan.memory.gpu() <= kSpare * cluster.memory_bytes;
  plan.fits_host = plan.memory.host <= cluster.host_memory_bytes;
  plan.fits = plan.fits_gpu && plan.fits_host;
  const double tokens = job.batch * job.shape.sequence;
  plan.compute_s =
      training_seconds(parameters, tokens, layout.gpus(), cluster.peak_flops * cluster.utilization, false) *
      recompute_factor(job.shape, layout.recompute);
  const double waiting = bubble(layout.pipeline, layout.micro_batches);
  plan.bubble_s = plan.compute_s * waiting / (1 - waiting);
  const double gradients = data_parallel_s(job, cluster, layout, own);
  const double behind_s = backward_behind_s(job, layout, plan.compute_s);
  plan.communication_s = exposed_exchange_s(gradients, behind_s, job.contention) +
                         tensor_parallel_s(job, cluster, layout) + pipeline_s(job, cluster, layout);
  plan.compression_s = compression_s(job, cluster, layout, own);
  // Offloaded state: gradients go to the host and parameters come back.
  const double element = element_bytes(job.numbers.precision);
  if (layout.offload) {
    plan.communication_s += 2 * element * own / (layout.zero >= 1 ? layout.data : 1) / cluster.host_link;
  }
  plan.communication_s += activation_transfer_s(job, cluster, layout, plan.compute_s);
  plan.step_s = plan.compute_s + plan.bubble_s + plan.communication_s + plan.compression_s;
  plan.tokens_per_s = plan.step_s > 0 ? tokens / plan.step_s : 0;
  plan.hours = plan.tokens_per_s > 0 ? job.tokens / plan.tokens_per_s / 3600 : 0;
  plan.dollars = plan.hours * cluster.dollars_per_hour * layout.gpus();
  return plan;
}

bool better(const PlannedLayout& a, const PlannedLayout& b) {
  if (a.fits != b.fits) return a.fits;
  if (a.fits) return a.step_s < b.step_s;
  return a.memory.gpu() < b.memory.gpu();
}

std::vector<PlannedLayout> plan_layouts(const TrainingJob& job, const Cluster& cluster) {
  std::vector<PlannedLayout> plans;
  for (int tensor = 1; tensor <= std::min(cluster.gpus, cluster.per_node); tensor *= 2) {
    if (cluster.gpus % tensor != 0 || std::fmod(job.shape.heads, tensor) != 0) continue;
    for (int pipeline = 1; pipeline * tensor <= cluster.gpus; ++pipeline) {
      if (cluster.gpus % (tensor * pipeline) != 0 || std::fmod(job.shape.layers, pipeline) != 0) continue;
      const int data = cluster.gpus / (tensor * pipeline);
      if (std::fmod(job.batch, data) != 0) continue;
      const double own_batch = job.batch / data;
      for (int micro = 1; micro <= std::min(own_batch, 16.0); micro *= 2) {
        if (std::fmod(own_batch, micro) != 0) continue;
        for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
          for (int zero = 0; zero <= most_zero(job, data, pipeline); ++zero) {
            add_offloads(plans, job, cluster,
                         {data, tensor, pipeline, zero, false, recompute, micro, static_cast<int>(own_batch) / micro});
          }
        }
      }
    }
  }
  std::stable_sort(plans.begin(), plans.end(), better);
  return plans;
}

}  // namespace warpmark::validate
