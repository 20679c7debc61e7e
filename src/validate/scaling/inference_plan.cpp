#include "validate/scaling/inference_plan.h"

#include <algorithm>
#include <cmath>

namespace warpmark::validate {
namespace {

struct Quantization {
  const char* name;
  double bytes;  ///< of a weight in layers; embeddings stay in 16 bits
};
constexpr Quantization kQuantizations[] = {{"bf16", 2}, {"fp8/int8", 1}, {"int4", 0.5 + 2.5 / 128}};

}  // namespace

std::vector<ServingPlan> plan_serving(const ServingJob& job, int gpus, double memory_bytes, double bandwidth) {
  constexpr double kReserve = 1.2 * 1024 * 1024 * 1024;
  const auto counts = parameters_of(job.model);
  const double outside = counts.embedding + counts.head + counts.final_norm;
  // Key-value heads are copied where there are fewer than GPUs; a compressed cache is on every GPU.
  const double cache_split = job.model.kv_rank > 0 ? 1 : std::min<double>(gpus, job.model.kv());
  const double of_request =
      seen_tokens(job.model, job.context) * kv_cache_numbers(job.model) * job.cache_bytes / cache_split;
  std::vector<ServingPlan> plans;
  for (const auto& one : kQuantizations) {
    ServingPlan plan{.quantization = one.name, .gpus = gpus};
    const double head = counts.head > 0 ? counts.head : counts.embedding;
    plan.weights = ((counts.layers + counts.experts) * one.bytes + 2 * outside) / gpus;
    plan.cache = of_request * job.requests;
    // Logits of a token of each request in 32 bits, and the widest layer of a piece of the prompt.
    constexpr double kPiece = 8192;
    const double width = job.model.hidden * 4 + (job.model.gated ? 3 : 2) * job.model.dense_width() / gpus;
    plan.activations = 4 * job.requests * job.model.vocabulary + 2 * std::min(kPiece, job.context) * width;
    plan.reserve = kReserve;
    const double room = memory_bytes - plan.weights - plan.activations - plan.reserve;
    plan.fits = plan.gpu() <= memory_bytes;
    plan.most_requests = std::max(0.0, std::floor(room / of_request));
    // A batch reaches more experts than one request does; all of them at most.
    const double reached = std::min(counts.experts, counts.active_experts * job.requests);
    const double read = ((counts.layers + reached) * one.bytes + 2 * head) / gpus + plan.cache;
    if (bandwidth > 0) plan.token_s = read / bandwidth;
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace warpmark::validate
