// The models, as benchmarks: training steps and forward passes of whole networks in the user's own PyTorch.
#include <fmt/format.h>

#include "workloads/models/model_metrics.h"
#include "workloads/models/model_round.h"
#include "workloads/models/model_shape.h"

namespace warpmark::workloads {
namespace {

constexpr ParamSpec kModelsParams[] = {
    {"preset", ParamKind::text, "base", "size of the network (docs/models.md)",
     "tiny|base|medium|large|xl|squad-tiny|squad|squad-large|dcnv2-tiny|dcnv2|dcnv2-large"},
    {"pass", ParamKind::text, "train", "a training step, the forward pass alone, or words one after another",
     "train|forward|decode"},
    {"batch", ParamKind::integer, "0", "samples of a step, of each rank; 0 is the preset's"},
    {"length", ParamKind::integer, "0", "words of a sequence or prompt, or side of an image; 0 is the preset's"},
    {"vocab", ParamKind::integer, "0", "size of the vocabulary; 0: of the preset; more adds unused rows"},
    {"new_tokens", ParamKind::integer, "0",
     "words to decode; 0 is 128, or half of the preset's length where that is less"},
    {"precision", ParamKind::text, "f32", "of products: types of autocast", "f32|tf32|bf16|fp16"},
    {"accumulate", ParamKind::integer, "1", "batches whose gradients one step of the optimizer takes"},
    {"channels_last", ParamKind::text, "no", "order of the axes of images", "no|yes"},
    {"checkpoint", ParamKind::text, "no", "compute blocks again in the backward pass", "no|yes"},
    {"compile", ParamKind::text, "no", "torch.compile", "no|default|reduce-overhead|max-autotune"},
    {"optimizer", ParamKind::text, "default", "implementation of AdamW", "default|foreach|fused"},
    {"attention", ParamKind::text, "auto", "what computes attention: torch's choice, or one of its ways",
     "auto|math|flash|efficient|cudnn"},
    {"workers", ParamKind::integer, "-1", "processes of the DataLoader; -1 is batches that are ready in memory"},
    {"ranks", ParamKind::integer, "1", "processes that share the step: one a GPU (NCCL), or on the CPU (gloo)"},
    {"until", ParamKind::text, "", "train to a quality: accuracy>=X, loss<=X or auc>=X, and measure the time to it"},
    {"steps", ParamKind::integer, "0",
     "train: a fixed number of steps, and the loss of the last; 0: as many as precision needs"},
    {"epochs", ParamKind::integer, "20", "until: most epochs"},
    {"recipe", ParamKind::text, "plain",
     "until: standard has warm-up and cosine decay over the epochs, SGD for resnet50, pictures cropped and flipped",
     "plain|standard"},
    {"data", ParamKind::path, "", "until: folder of pictures, tokens or clicks (docs/models.md); empty is generated"},
    {"log", ParamKind::path, "", "until: write MLPerf log lines; round N of FILE.txt goes to FILE_N.txt"},
    {"price", ParamKind::number, "0", "until: of an hour, for the cost of reaching the quality"},
    {"peak", ParamKind::text, "yes",
     "time the kernels of the step by our own workloads: the heaviest ones, or every one", "no|yes|full"},
    {"python", ParamKind::program, "python3", "the Python whose PyTorch is measured"},
};

/// FLOPs: products and convolutions, attention in full; a training step is three forward passes (PaLM's definition of
/// utilization: nothing that is computed twice counts).
Result<Cost> models_cost(const measure::Workload& self, const Params& params) {
  WM_ASSIGN(const auto shape, model_shape(self.id, params));
  const std::int64_t accumulate = params.integer("accumulate"), ranks = params.integer("ranks");
  if (accumulate < 1 || accumulate > 10'000) return usage_error("accumulate is from 1 to 10000");
  if (ranks < 1 || ranks > 64) return usage_error("ranks are from 1 to 64, on one host");
  if (params.integer("workers") < -1 || params.integer("workers") > 256)
    return usage_error("workers are from -1 to 256");
  if (params.integer("new_tokens") < 0 || params.integer("new_tokens") > 1'000'000) {
    return usage_error("new_tokens are from 0 (the preset's) to 1000000");
  }
  const bool train = params.text("pass") == "train";
  if (!params.text("until").empty()) {
    WM_TRY(parse_quality_goal(params.text("until")));
    if (!train || ranks > 1) return usage_error("until is of training with one rank", "--set pass=train --set ranks=1");
    if (params.integer("epochs") < 1 || !(params.number("price") >= 0)) {
      return usage_error("epochs are from 1, and price is not negative");
    }
  }
  constexpr std::int64_t kFewest = 8, kMost = 1'000'000;
  const auto steps = params.integer("steps");
  if (steps != 0 && (steps < kFewest || steps > kMost || !train || !params.text("until").empty())) {
    return usage_error(fmt::format("steps are from {} to {}, of training without until", kFewest, kMost));
  }
  if (!train && (ranks > 1 || accumulate > 1)) {
    return usage_error("ranks and accumulate are of training: pass=" + params.text("pass"), "--set pass=train");
  }
  const double passes = train ? 3 : 1;
  const std::string& precision = params.text("precision");
  return Cost{.flops = passes * shape.forward_flops * static_cast<double>(shape.batch * accumulate * ranks),
              .bytes = 0,
              .footprint_bytes = 0,
              .flop_type = precision == "fp16" ? "f16" : precision,
              .link = "",
              .rate = "flop_rate"};
}

/// Sizes as they are used: a result says 128 and not "the preset's".
void spell_out(const measure::Workload& self, Params& params) {
  const auto shape = model_shape(self.id, params);
  if (!shape.ok()) return;
  params.set("batch", shape->batch);
  params.set("length", shape->length());
  params.set("new_tokens", shape->new_tokens);
}

device::Support supports_models(const measure::Workload& /*self*/, const DeviceInfo& device, const Params& params) {
  const std::string& precision = params.text("precision");
  if (device.backend == "cpu" && (precision == "tf32" || precision == "fp16")) {
    return device::Support::no(precision + " is for GPUs", "--set precision=bf16, or f32");
  }
  return device::Support::yes();
}

std::vector<Overrides> models_cases(const measure::Workload& /*self*/, const DeviceInfo& device) {
  if (device.backend == "cuda") return {{{"preset", "base"}, {"precision", "bf16"}}};
  return {{{"preset", "tiny"}}};
}

constexpr auto model(const char* id, const char* summary) -> measure::Workload {
  return {.id = id,
          .summary = summary,
          .params = kModelsParams,
          .cost = models_cost,
          .supports = supports_models,
          .prepare = nullptr,
          .cases = models_cases,
          .default_mode = Mode::hot,
          .measure = measure_model,
          .spell_out = spell_out};
}

}  // namespace

extern const measure::Workload kResnet50 = model("resnet50", "steps of ResNet-50 v1.5 in PyTorch");
extern const measure::Workload kBert = model("bert", "steps of BERT in PyTorch");
extern const measure::Workload kGpt2 = model("gpt2", "steps of GPT-2 in PyTorch");
extern const measure::Workload kLlama = model("llama", "steps of a Llama in PyTorch");
extern const measure::Workload kDlrm = model("dlrm", "steps of DLRM in PyTorch");
extern const measure::Workload kVit = model("vit", "steps of a vision transformer in PyTorch");
extern const measure::Workload kUnet3d = model("unet3d", "steps of a 3D U-Net in PyTorch");

}  // namespace warpmark::workloads
