// Settings of how modules run.
#include <algorithm>

#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

// Convolutions on tensors whose channels are the last in memory.
Offer offer_channels_last(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (convolutions(facts) == 0) return no_offer("there is no two-dimensional convolution");
  const auto& module = facts.report.modules.front();
  if (!module.images) return no_offer("no input has four dimensions");
  if (module.channels_last) return no_offer("the program does so");
  const bool half = !value_of(settings, "precision.autocast").empty() ||
                    !value_of(settings, "precision.inference").empty() || module.autocast;
  return one_offer("on",
                   gain_of_share(model_share(facts), 0.95, facts.on_gpu() ? (half ? 1.8 : 1.3) : 1.6, "the model"));
}

// cuDNN tries its algorithms at the first call of each shape.
Offer offer_cudnn_benchmark(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  if (convolutions(facts) == 0) return no_offer("there is no convolution");
  if (facts.report.benchmarks) return no_offer("the program does so");
  return one_offer("on", gain_of_share(model_share(facts), 1.0, 1.25, "the model"));
}

// torch.compile of the module that the program calls, in place.
constexpr const char* kAnswers =
    "launch_overhead:cuda_graph launch_overhead:compile memory_bandwidth memory_bound_kernel";
constexpr const char* kAnswersWithoutGraph = "launch_overhead:compile memory_bandwidth memory_bound_kernel";

/// A graph of the step takes the launches off the host: where the GPU idles most of the time it gains more than kernels
/// that are fused, and a short budget is enough for one of both.
Prediction gain_of_compiling(const ProgramFacts& facts, bool graph) {
  constexpr double kFused = 3, kMostByGraph = 8;
  const double busy = facts.gpu_utilization.value_or(1);
  const double factor =
      graph && busy < 0.5 ? std::clamp(1 / std::max(busy, 1 / kMostByGraph), kFused, kMostByGraph) : kFused;
  return gain_of_share(model_share(facts), 1.05, factor, "the model");
}

Offer offer_compile(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!torch_at_least(facts, 2, 2))
    return no_offer("torch " + facts.report.torch + " cannot compile a module in place");
  if (facts.report.modules.empty()) return no_offer("no module with parameters is called");
  const auto& own = facts.report.modules.front().compiled;
  if (own == "graphs") return no_offer("the program does so");
  if (!facts.on_gpu())
    return no_offer("it needs a C++ compiler and pays seldom on a CPU; --try compile=default asks for it");
  Offer offer;
  const auto now = value_of(settings, "compile");
  for (const char* mode : {"default", kCompileToGraphs, "max-autotune-no-cudagraphs"}) {
    const bool graph = std::string_view(mode) == kCompileToGraphs;
    if (now == mode || (!now.empty() && std::string_view(mode) == "default") || (!own.empty() && !graph)) continue;
    auto predicted = gain_of_compiling(facts, graph);
    if (!now.empty() || !own.empty()) predicted.low = 1, predicted.high = 1.2;
    offer.candidates.push_back({mode, std::move(predicted), graph ? kAnswers : kAnswersWithoutGraph});
  }
  return offer;
}

OptimizationAdvice compile_source(const ProgramFacts& facts, std::string_view value) {
  const bool own = !facts.report.modules.empty() && !facts.report.modules.front().compiled.empty();
  const std::string mode = value == "default" ? "" : fmt::format("mode=\"{}\"", value);
  return {.where = place_in(facts, Place::module),
          .text = own ? "Compile the module in this mode." : "Compile the module in place.",
          .code = own ? "torch.compile(model, " + mode + ")" : "model.compile(" + mode + ")",
          .predicted = {}};
}

// Activations of repeated blocks are computed again in the backward: memory for time, for room for a larger batch.
Offer offer_checkpoint_blocks(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!facts.trains()) return no_offer("the program does not train");
  if (facts.report.total_bytes == 0) return no_offer("the GPU's memory is not known");
  const double used = static_cast<double>(facts.report.reserved_bytes) / static_cast<double>(facts.report.total_bytes);
  if (used < 0.85) return no_offer("there is memory left: it only costs time");
  return one_offer("on", {.low = 0.75, .high = 1.0, .method = "40 to 60 % less memory for 20 to 30 % more time"});
}

// The fused ways of scaled_dot_product_attention, where the program switched some off: a search for a NaN, or for the
// same bits in each run, often leaves them so (torch.backends.cuda.enable_flash_sdp and its sisters, or
// torch.nn.attention.sdpa_kernel around each attention).
Offer offer_attention_backend(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  if (facts.report.attention_off.empty()) return no_offer("no fused attention is switched off");
  return one_offer("all", gain_of_share(model_share(facts), 1.0, 2, "the model"));
}

// Fused attention in models of transformers that were made with the eager one.
Offer offer_attention_sdpa(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.modules.empty()) return no_offer("no module with parameters is called");
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  bool any = false;
  for (const auto& module : facts.report.modules) any = any || module.attentions > 0;
  if (!any) return no_offer("no attention module was found");
  return one_offer("on", gain_of_share(model_share(facts), 1.0, 2, "the model"));
}

}  // namespace

extern const Knob channels_last_knob{
    .id = "channels_last",
    .title = "channels_last memory format",
    .answers = "memory_bandwidth uncoalesced_access sm_efficiency",
    .breaks = "views of the program that assume the order of memory",
    .undo = "leave .to(memory_format=...) out",
    .numerics = Numerics::rounding,
    .values = "on",
    .risk = 1.1,
    .kernels = "nhwc channels_last",
    .switchable = true,
    .bundled = true,
    .offer = offer_channels_last,
    .place = Place::module,
    .text = "Keep channels last in memory.",
    .code = "model = model.to(memory_format=torch.channels_last)  # and the inputs",
};

extern const Knob cudnn_benchmark_knob{
    .id = "cudnn.benchmark",
    .title = "cuDNN tries its algorithms",
    .answers = "sm_efficiency occupancy tail_effect",
    .breaks = "shapes that change are tried again each time; memory while trying",
    .undo = "leave torch.backends.cudnn.benchmark = False",
    .numerics = Numerics::rounding,
    .values = "on",
    .risk = 1.1,
    .switchable = true,
    .bundled = true,
    .offer = offer_cudnn_benchmark,
    .place = Place::module,
    .text = "Let cuDNN try its algorithms.",
    .code = "torch.backends.cudnn.benchmark = True",
};

extern const Knob compile_knob{
    .id = kCompile,
    .title = "torch.compile",
    .answers = kAnswers,
    .breaks = "minutes of compiling; shapes that change are compiled again; graph breaks",
    .undo = "leave model.compile() out",
    .numerics = Numerics::rounding,
    .values = "default|reduce-overhead|max-autotune|max-autotune-no-cudagraphs",
    .risk = 2,  // and its runs are the longest, so that others come first
    .kernels = "triton_",
    .switchable = true,
    .offer = offer_compile,
    .source = compile_source,
};

extern const Knob checkpoint_blocks_knob{
    .id = "checkpoint.blocks",
    .title = "activations computed again",
    .answers = "memory_allocation",
    .breaks = "20 to 30 % more time",
    .undo = "leave checkpointing out",
    .numerics = Numerics::exact,
    .values = "on",
    .risk = 3,
    .offer = offer_checkpoint_blocks,
    .place = Place::module,
    .text = "Compute activations again in the backward.",
    .code = "torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
};

extern const Knob attention_backend_knob{
    .id = "attention.backend",
    .title = "all ways of attention",
    .answers = "attention",
    .breaks = "the same bits in each run, where that is why they were switched off",
    .undo = "switch them off again",
    .numerics = Numerics::rounding,
    .values = "all|math|flash|efficient|cudnn",
    .kernels = "all=sdpa all=flash all=fmha flash=flash efficient=fmha cudnn=cudnn_generated",
    .switchable = true,
    .bundled = true,
    .offer = offer_attention_backend,
    .place = Place::module,
    .text = "Leave PyTorch all its ways of attention.",
    .code = "# remove torch.backends.cuda.enable_flash_sdp(False), sdpa_kernel(SDPBackend.MATH), ...",
};

extern const Knob attention_sdpa_knob{
    .id = "attention.sdpa",
    .title = "fused attention",
    .answers = "attention memory_bandwidth",
    .breaks = "attention weights cannot be returned",
    .undo = "leave attn_implementation as it was",
    .numerics = Numerics::rounding,
    .values = "on",
    .risk = 1.1,
    .kernels = "sdpa flash fmha",
    .switchable = true,
    .bundled = true,
    .offer = offer_attention_sdpa,
    .place = Place::module,
    .text = "Use fused attention.",
    .code = "Model.from_pretrained(..., attn_implementation=\"sdpa\")",
};

}  // namespace warpmark::optimize
