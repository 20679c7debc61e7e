#include "validate/scaling/training_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "base/units.h"

namespace warpmark::validate {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kContext = 0.6 * kGiB;    // CUDA's context, workspaces of cuBLAS and cuDNN
constexpr double kNccl = 0.6 * kGiB;       // buffers of a few communicators
constexpr double kFragmentation = 0.03;    // of what is allocated
constexpr double kQloraBytes = 4.127 / 8;  // NF4 with double quantization

/// What one pipeline stage holds.
struct Stage {
  double layers = 0;
  bool first = false;
  bool last = false;
  double in_flight = 1;  ///< micro-batches whose activations it keeps
};

/// First, second and last; one forward, one backward: stage i keeps p - i micro-batches. Interleaved stages keep
/// 1 + (p - 1) / (p v) times as much (Korthikanti, section 4.2.3).
std::vector<Stage> stages_of(const Transformer& model, const Layout& layout) {
  const double p = layout.pipeline, m = layout.micro_batches, v = layout.interleave;
  if (layout.pipeline == 1) return {{model.layers, true, true, 1}};
  const double most = stage_layers(model, layout.pipeline);
  const double ends = std::max(0.0, (model.layers - (p - 2) * most) / 2);
  const double more = v > 1 ? (p - 1) / v : 0;
  std::vector<Stage> stages{{std::ceil(ends), true, false, std::min(p, m) + (m >= p ? more : 0)}};
  if (p > 2) stages.push_back({most, false, false, std::min(p - 1, m) + (m >= p ? more : 0)});
  stages.push_back({std::ceil(ends), false, true, 1 + (m >= p ? more : 0)});
  return stages;
}

/// Parameters of a stage on one GPU: those of its layers with embedding and output layer, and those of its experts.
struct OwnParameters {
  double dense = 0;
  double experts = 0;
  [[nodiscard]] double total() const { return dense + experts; }
};
OwnParameters own_of(const Transformer& model, const Layout& layout, const Stage& stage) {
  const auto counts = parameters_of(model);
  double dense = stage.layers / model.layers * counts.layers;
  if (stage.first) dense += counts.embedding;
  if (stage.last) dense += counts.final_norm + (model.tied && !stage.first ? counts.embedding : counts.head);
  return {dense / layout.tensor, stage.layers / model.layers * counts.experts / (layout.tensor * layout.expert)};
}

void add(MemoryPlan& plan, const MemoryPlan& other) {
  plan.parameters += other.parameters, plan.gradients += other.gradients;
  plan.optimizer += other.optimizer, plan.host += other.host;
}

/// Frozen parameters stay in 16 bits, or layers in 4; adapters are trained as a whole model is.
MemoryPlan tuned_states(const Transformer& model, const Layout& layout, const TrainingNumbers& numbers,
                        const OwnParameters& own, const Stage& stage) {
  const double share = stage.layers / model.layers / layout.tensor;
  const double adapters = share * lora_parameters(model, numbers.lora_rank);
  MemoryPlan plan = state_memory(adapters, layout, layout.shards(), numbers);
  const auto counts = parameters_of(model);
  const double in_layers = share * (counts.layers + counts.experts / layout.expert);
  const double layer_bytes = numbers.tuning == Tuning::qlora ? kQloraBytes : element_bytes(numbers.precision);
  const double frozen =
      in_layers * layer_bytes + std::max(0.0, own.total() - in_layers) * element_bytes(numbers.precision);
  const double share_of_frozen = frozen / (layout.zero >= 3 ? layout.shards() : 1);
  (layout.offload_parameters ? plan.host : plan.parameters) += share_of_frozen;
  return plan;
}

double held_by(const Transformer& model, double sequence, const Layout& layout, const TrainingNumbers& numbers,
               const Stage& stage) {
  return stage.in_flight * stage.layers * layer_activations(model, sequence, layout, layout.recompute, numbers);
}

double leaving_of(const Transformer& model, double sequence, const Layout& layout, const TrainingNumbers& numbers,
                  double held) {
  if (!layout.offload_activations) return 0;
  return std::max(0.0, held - 2 * layer_activations(model, sequence, layout, layout.recompute, numbers));
}

MemoryPlan stage_memory(const Transformer& model, double sequence, const Layout& layout, const TrainingNumbers& numbers,
                        const Stage& stage) {
  const OwnParameters own = own_of(model, layout, stage);
  MemoryPlan plan;
  if (numbers.tuning == Tuning::all) {
    plan = state_memory(own.dense, layout, layout.shards(), numbers);
    const int expert_shards = std::max(1, layout.shards() / layout.expert);
    add(plan, state_memory(own.experts, layout, expert_shards, numbers));
  } else {
    plan = tuned_states(model, layout, numbers, own, stage);
  }
  const double held = held_by(model, sequence, layout, numbers, stage);
  const double leaving = leaving_of(model, sequence, layout, numbers, held);
  plan.activations = held - leaving;
  plan.host += leaving;
  // A layer that is computed again is there in full while its backward pass runs.
  if (layout.recompute == Recompute::full) {
    plan.activations += layer_activations(model, sequence, layout, Recompute::none, numbers);
  }
  const double tokens = sequence * layout.micro_batch / layout.context;
  const double element = element_bytes(numbers.precision);
  if (stage.last) plan.logits = tokens * (2 * element * model.hidden + 4 * model.vocabulary) / layout.tensor;
  if (layout.zero == 3 && layout.shards() > 1) {
    const bool trained = numbers.tuning == Tuning::all;
    plan.gathered = (trained ? 2 : 1) * element * parameters_of(model).largest_layer / layout.tensor / layout.expert;
  }
  plan.context = kContext + (layout.gpus() > 1 ? kNccl : 0);
  plan.fragmentation = kFragmentation * plan.gpu();
  return plan;
}

constexpr const char* kKeys =
    "dp, tp, pp, cp (context), ep (experts), shard (HSDP), vp (interleaving), mb (micro-batch), zero=0-3, "
    "recompute=none|selective|full, offload=none|state|parameters|activations|all (or state+activations), sp=on|off";

Status read_word(const std::string& key, const std::string& value, LayoutRequest& request) {
  const auto wrong = [&] { return usage_error(fmt::format("--layout: {}={} means nothing", key, value), kKeys); };
  if (key == "recompute") {
    request.recompute = value_named<Recompute>(value);
    return request.recompute ? Status{} : wrong();
  }
  if (key == "offload") {
    request.offload = request.offload_activations = request.offload_parameters = false;
    for (const auto& what : split(value, '+')) {
      if (what != "none" && what != "state" && what != "activations" && what != "parameters" && what != "all") {
        return wrong();
      }
      if (what == "state" || what == "all") request.offload = true;
      if (what == "activations" || what == "all") request.offload_activations = true;
      if (what == "parameters" || what == "all") request.offload_parameters = true;
    }
    return {};
  }
  if (key == "sp") {
    if (value != "on" && value != "off") return wrong();
    request.sequence_parallel = value == "on";
    return {};
  }
  const std::pair<const char*, std::optional<int>*> numbers[] = {
      {"dp", &request.data},       {"tp", &request.tensor}, {"pp", &request.pipeline},
      {"cp", &request.context},    {"ep", &request.expert}, {"shard", &request.shard},
      {"vp", &request.interleave}, {"zero", &request.zero}, {"mb", &request.micro_batch}};
  const auto found = std::ranges::find_if(numbers, [&](const auto& one) { return key == one.first; });
  const auto number = parse_integer(value);
  const bool zero = key == "zero";
  if (found == std::end(numbers) || !number.ok() || *number < (zero ? 0 : 1) || *number > (zero ? 3 : 1'000'000)) {
    return wrong();
  }
  *found->second = static_cast<int>(*number);
  return {};
}

}  // namespace

StateBytes state_bytes(const TrainingNumbers& numbers) {
  const double element = element_bytes(numbers.precision);
  double states = 0;
  switch (numbers.optimizer) {
    case Optimizer::adam: states = 8; break;
    case Optimizer::sgd: states = 0; break;
    case Optimizer::momentum: states = 4; break;
    case Optimizer::adam8bit: states = 2; break;
  }
  return {element, numbers.wide_gradients ? 4 : element, (element < 4 ? 4 : 0) + states};
}

MemoryPlan state_memory(double parameters, const Layout& layout, int shards, const TrainingNumbers& numbers) {
  const StateBytes bytes = state_bytes(numbers);
  const int zero = layout.zero;
  const double n = shards;
  MemoryPlan plan;
  plan.parameters = bytes.parameters * parameters / (zero >= 3 ? n : 1);
  plan.gradients = bytes.gradients * parameters / (zero >= 2 ? n : 1);
  if (zero == 2 && n > 1 && bytes.gradients > bytes.parameters) plan.gradients += bytes.parameters * parameters;
  plan.optimizer = bytes.optimizer * parameters / (zero >= 1 ? n : 1);
  if (layout.offload) {
    plan.host = (bytes.optimizer + 4) * parameters / (zero >= 1 ? n : 1);  // with gradients in 32 bits
    plan.gradients = plan.optimizer = 0;
  }
  if (layout.offload_parameters) {
    plan.host += plan.parameters;
    plan.parameters = 0;
  }
  return plan;
}

double layer_activations(const Transformer& model, double sequence, const Layout& layout, Recompute recompute,
                         const TrainingNumbers& numbers) {
  const double tokens = sequence / layout.context * layout.micro_batch, tensor = layout.tensor;
  const double element = element_bytes(numbers.precision);
  if (recompute == Recompute::full) return element * tokens * model.hidden;
  // Per token, as in Korthikanti's table 2, which for GPT gives 10 + 24 / t bytes of h: inputs of norms and products,
  // with masks of dropout in a byte each; queries, keys, values, attention's output, and the feed-forward layer.
  const double whole = 4 * element * model.hidden + (model.bias ? 2 * model.hidden : 0);
  const double key_heads = model.kv_rank > 0 ? model.heads : model.kv();
  const double attention =
      model.heads * (model.key_width() + model.value_width()) + key_heads * (model.key_width() + model.value_width());
  const double kept = model.gated ? 3 : 2;
  const double expert_share = model.expert_layers() / model.layers;
  const double ffn = (1 - expert_share) * kept * model.dense_width() +
                     expert_share * (model.active_experts * (kept * model.expert_width() + 2 * model.hidden) +
                                     kept * model.shared_ffn);
  double bytes = whole / (layout.sequence_parallel ? tensor : 1) + element * (attention + ffn) / tensor;
  // Scores: softmax, mask of dropout, and what it leaves.
  if (!numbers.flash && recompute == Recompute::none) bytes += (2 * element + 1) * model.heads * sequence / tensor;
  return tokens * bytes;
}

double stage_layers(const Transformer& model, int pipeline) { return std::ceil(model.layers / pipeline); }

double lora_parameters(const Transformer& model, double rank) { return rank * parameters_of(model).adapted_products; }

double own_parameters(const Transformer& model, const Layout& layout) {
  double most = 0;
  for (const auto& stage : stages_of(model, layout)) most = std::max(most, own_of(model, layout, stage).total());
  return most;
}

HeldActivations held_activations(const Transformer& model, double sequence, const Layout& layout,
                                 const TrainingNumbers& numbers) {
  HeldActivations most;
  for (const auto& stage : stages_of(model, layout)) {
    most.all = std::max(most.all, held_by(model, sequence, layout, numbers, stage));
  }
  most.leaving = leaving_of(model, sequence, layout, numbers, most.all);
  return most;
}

MemoryPlan memory_of(const Transformer& model, double sequence, const Layout& layout, const TrainingNumbers& numbers) {
  MemoryPlan most;
  for (const auto& stage : stages_of(model, layout)) {
    const MemoryPlan plan = stage_memory(model, sequence, layout, numbers, stage);
    if (plan.gpu() > most.gpu()) most = plan;
  }
  return most;
}

const char* flop_type_of(Precision precision) {
  if (precision == Precision::fp32) return "f32";
  return precision == Precision::fp16 ? "f16" : name_of(precision);
}

double element_bytes(Precision precision) {
  return precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
}

std::string offload_text(const Layout& layout) {
  std::vector<std::string> what;
  if (layout.offload) what.emplace_back("state");
  if (layout.offload_parameters) what.emplace_back("parameters");
  if (layout.offload_activations) what.emplace_back("activations");
  return what.size() == 3 ? "all" : join(what, "+");
}

std::string text_of(const Layout& layout) {
  std::string text = fmt::format("dp={} tp={} pp={}", layout.data, layout.tensor, layout.pipeline);
  const auto add = [&](const char* key, int value) { text += value > 1 ? fmt::format(" {}={}", key, value) : ""; };
  add("vp", layout.interleave), add("cp", layout.context), add("ep", layout.expert), add("shard", layout.shard);
  text += fmt::format(" zero={}", layout.zero);
  const std::string offload = offload_text(layout);
  return offload.empty() ? text : text + " offload=" + offload;
}

Result<LayoutRequest> parse_layout(std::string_view text) {
  LayoutRequest request{.text = std::string(text)};
  for (const auto& word : split(text, ',')) {
    const std::string pair(trim(word));
    const auto equals = pair.find('=');
    if (equals == std::string::npos) return usage_error("--layout: '" + pair + "' is not KEY=VALUE", kKeys);
    WM_TRY(read_word(pair.substr(0, equals), pair.substr(equals + 1), request));
  }
  if (text.find("parameters") == std::string_view::npos) return request;  // "all" takes what the stage allows
  if (request.zero.value_or(3) != 3) return usage_error("--layout: offload=parameters needs zero=3", kKeys);
  request.zero = 3;
  return request;
}

}  // namespace warpmark::validate
