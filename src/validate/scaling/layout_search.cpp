// Every layout that a request leaves open.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "validate/scaling/training_plan.h"

namespace warpmark::validate {
namespace {

std::vector<int> divisors(int number, int most) {
  std::vector<int> found;
  for (int i = 1; i <= std::min(number, most); ++i) {
    if (number % i == 0) found.push_back(i);
  }
  return found;
}

/// What was asked for, else what may be.
template <typename Value, typename Values>
Values asked_or(const std::optional<Value>& asked, Values otherwise) {
  return asked ? Values{*asked} : otherwise;
}

class LayoutSearch {
 public:
  LayoutSearch(const TrainingJob& job, const Cluster& cluster, const LayoutRequest& request)
      : job_(job), cluster_(cluster), request_(request) {}

  /// Offload is slower and takes host memory: it is tried where nothing fits without it, that of parameters last.
  std::vector<PlannedLayout> run() {
    for (const auto& [offload, parameters] : {std::pair(false, false), {true, false}, {true, true}}) {
      offload_ = offload, parameters_ = parameters;
      plans_.clear();
      search();
      if (std::ranges::any_of(plans_, &PlannedLayout::fits)) break;
    }
    return std::move(plans_);
  }

 private:
  void search() {
    const int heads = static_cast<int>(job_.model.heads), layers = static_cast<int>(job_.model.layers);
    for (const int tensor : asked_or(request_.tensor, divisors(cluster_.gpus, cluster_.per_node))) {
      if (heads % tensor != 0) continue;
      for (const int pipeline : asked_or(request_.pipeline, divisors(cluster_.gpus, layers))) {
        if (pipeline > layers) continue;
        for (const int context : asked_or(request_.context, contexts())) split(tensor, pipeline, context);
      }
    }
    std::ranges::stable_sort(plans_, better);
  }

  /// A sequence is split where it is long.
  [[nodiscard]] std::vector<int> contexts() const {
    constexpr double kTokens = 16384;
    std::vector<int> counts{1};
    for (int i = 2; job_.sequence / i >= kTokens && i <= 64; i *= 2) counts.push_back(i);
    return counts;
  }

  void split(int tensor, int pipeline, int context) {
    const auto part = std::int64_t{tensor} * pipeline * context;
    if (cluster_.gpus % part != 0) return;
    const int data = static_cast<int>(cluster_.gpus / part);
    if (request_.data.value_or(data) != data || std::fmod(job_.batch, data) != 0) return;
    const int own = static_cast<int>(job_.batch / data);
    Layout layout{.data = data, .tensor = tensor, .pipeline = pipeline, .context = context};
    layout.sequence_parallel = request_.sequence_parallel.value_or(true);
    constexpr int kMostSequences = 64;
    for (const int micro : asked_or(request_.micro_batch, divisors(own, kMostSequences))) {
      layout.micro_batch = micro, layout.micro_batches = (own + micro - 1) / micro;
      for (const int parts : asked_or(request_.interleave, interleavings(layout))) {
        layout.interleave = parts;
        for (const int expert : asked_or(request_.expert, experts(layout))) {
          layout.expert = expert;
          add_states(layout);
        }
      }
    }
  }

  /// Parts of a stage: whole layers each, and micro-batches in groups of the pipeline's length.
  [[nodiscard]] std::vector<int> interleavings(const Layout& layout) const {
    if (layout.pipeline == 1 || layout.micro_batches % layout.pipeline != 0) return {1};
    const double layers = stage_layers(job_.model, layout.pipeline);
    return divisors(static_cast<int>(layers), 8);
  }

  [[nodiscard]] std::vector<int> experts(const Layout& layout) const {
    const int experts = static_cast<int>(job_.model.experts);
    if (experts == 0) return {1};
    auto counts = divisors(layout.data, experts);
    std::erase_if(counts, [&](int count) { return experts % count != 0; });
    return counts;
  }

  void add_states(Layout layout) {
    std::vector<Recompute> recomputes{Recompute::none, Recompute::full};
    // FlashAttention keeps no scores that selective recomputation could drop.
    if (!job_.numbers.flash) recomputes.push_back(Recompute::selective);
    std::vector<int> stages;
    for (int zero = 0; zero <= largest_zero(layout); ++zero) stages.push_back(zero);
    for (const auto recompute : asked_or(request_.recompute, recomputes)) {
      layout.recompute = recompute;
      for (const int zero : asked_or(request_.zero, stages)) {
        // A stage that was asked for means something among replicas, and beyond 1 no pipeline unless one was asked for.
        if (zero > 0 && layout.replicas() < 2 && !request_.data) continue;
        if (zero > 1 && layout.pipeline > 1 && !request_.pipeline) continue;
        layout.zero = zero;
        std::vector<int> shards{0};
        if (zero == 3 && layout.replicas() > cluster_.per_node && layout.replicas() % cluster_.per_node == 0) {
          shards.push_back(cluster_.per_node);
        }
        for (const int shard : asked_or(request_.shard, shards)) {
          layout.shard = shard;
          add_offloads(layout);
        }
      }
    }
  }

  /// Stages 2 and 3 scatter in each micro-batch, of which a pipeline has several under way. PowerSGD multiplies whole
  /// gradients.
  [[nodiscard]] int largest_zero(const Layout& layout) const {
    if (layout.replicas() < 2 || job_.compression == Compression::power_sgd) return 0;
    return layout.pipeline > 1 ? 1 : 3;
  }

  void add_offloads(Layout layout) {
    const std::vector<bool> choices = offload_ ? std::vector<bool>{false, true} : std::vector<bool>{false};
    for (const bool activations : asked_or(request_.offload_activations, choices)) {
      layout.offload_activations = activations;
      const bool leave = held_activations(job_.model, job_.sequence, layout, job_.numbers).leaving > 0;
      if (activations && !leave && !request_.offload_activations) continue;
      for (const bool state : asked_or(request_.offload, choices)) {
        layout.offload = state;
        layout.offload_parameters = layout.zero == 3 && request_.offload_parameters.value_or(state && parameters_);
        plans_.push_back(plan_layout(job_, cluster_, layout));
      }
    }
  }

  const TrainingJob& job_;
  const Cluster& cluster_;
  const LayoutRequest& request_;
  bool offload_ = false, parameters_ = false;
  std::vector<PlannedLayout> plans_;
};

}  // namespace

std::vector<PlannedLayout> plan_layouts(const TrainingJob& job, const Cluster& cluster, const LayoutRequest& request) {
  return LayoutSearch(job, cluster, request).run();
}

}  // namespace warpmark::validate
