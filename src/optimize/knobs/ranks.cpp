// Settings of several ranks: DistributedDataParallel and NCCL.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

// Size of the pieces in which gradients are exchanged.
Offer offer_ddp_bucket(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.world < 2) return no_offer("one process trains");

  return {.candidates = {{"100", {.low = 0.97, .high = 1.1, .method = "fewer and larger messages"}},
                         {"10", {.low = 0.95, .high = 1.05, .method = "an earlier begin of the exchange"}}},
          .why_not = {}};
}

// Gradients are views of the buckets: one copy less.
Offer offer_ddp_bucket_view(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.world < 2) return no_offer("one process trains");

  return one_offer("on", {.low = 1.0, .high = 1.05, .method = "one copy of the gradients less"});
}

// The graph is said to be the same in each step, so that unused parameters are not looked for.
Offer offer_ddp_static_graph(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.world < 2) return no_offer("one process trains");

  return one_offer("on", {.low = 1.0, .high = 1.05, .method = "no search for unused parameters"});
}

// Gradients are exchanged in bf16.
Offer offer_ddp_bf16(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.world < 2) return no_offer("one process trains");

  if (facts.report.gpus.empty() || facts.report.gpus.front().major < 8) return no_offer("the GPU has no bf16");
  return one_offer("on", {.low = 1.0, .high = 1.3, .method = "half of the bytes between the GPUs"});
}

// Gradients are exchanged once an optimizer step, where the program accumulates over several backwards.
/// Backwards of a step, where all of the window have as many; else 0.
std::int64_t backwards_of(const workers::ProgramReport& report) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < report.steps.size(); ++i) {
    if (count != 0 && report.steps[i].backwards != count) return 0;
    count = report.steps[i].backwards;
  }
  return count;
}

Offer offer_ddp_no_sync(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.world < 2) return no_offer("one process trains");
  const auto count = backwards_of(facts.report);
  if (count < 2) return no_offer("the program does not accumulate equally many gradients in each step");
  const double once = static_cast<double>(count);
  return one_offer("on", gain_of_share(facts.phases.backward, 1.0, std::min(once, 3.0), "backward with the exchange"));
}

// How NCCL reduces: rings move the fewest bytes, trees have the shortest way.
Offer offer_nccl_algorithm(const ProgramFacts& facts, const Settings& settings) {
  if (facts.report.world < 2) return no_offer("one process trains");
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  Offer offer;
  for (const char* value : {"Ring", "Tree"}) {
    if (value_of(settings, "nccl.algorithm") == value) continue;
    offer.candidates.push_back({value, gain_of_share(facts.phases.backward, 0.9, 1.1, "backward with the exchange")});
  }
  return offer;
}

// How many multiprocessors NCCL may take: more move bytes faster, fewer leave more to the kernels beside.
Offer offer_nccl_channels(const ProgramFacts& facts, const Settings& settings) {
  if (facts.report.world < 2) return no_offer("one process trains");
  if (!facts.on_gpu()) return no_offer("the model is not on a GPU");
  Offer offer;
  for (const char* value : {"4", "16"}) {
    if (value_of(settings, "nccl.channels") == value) continue;
    offer.candidates.push_back({value, gain_of_share(facts.phases.backward, 0.9, 1.1, "backward with the exchange")});
  }
  return offer;
}

}  // namespace

extern const Knob ddp_bucket_knob{
    .id = "ddp.bucket_cap_mb",
    .title = "larger buckets of gradients",
    .answers = "multi_gpu_comm",
    .breaks = "less overlap with the backward",
    .undo = "leave bucket_cap_mb=25",
    .numerics = Numerics::rounding,
    .risk = 1.1,
    .offer = offer_ddp_bucket,
    .place = Place::module,
    .text = "Exchange gradients in other pieces.",
    .code = "DistributedDataParallel(..., bucket_cap_mb={})",
};

extern const Knob ddp_bucket_view_knob{
    .id = "ddp.gradient_as_bucket_view",
    .title = "gradients as views of buckets",
    .answers = "multi_gpu_comm memory_allocation",
    .breaks = "code that detaches gradients",
    .undo = "leave gradient_as_bucket_view=False",
    .numerics = Numerics::exact,
    .offer = offer_ddp_bucket_view,
    .place = Place::module,
    .text = "Keep gradients in the buckets.",
    .code = "DistributedDataParallel(..., gradient_as_bucket_view=True)",
};

extern const Knob ddp_static_graph_knob{
    .id = "ddp.static_graph",
    .title = "static graph",
    .answers = "multi_gpu_comm",
    .breaks = "gradients are wrong where the graph changes",
    .undo = "leave static_graph=False",
    .numerics = Numerics::rounding,
    .risk = 2,
    .offer = offer_ddp_static_graph,
    .place = Place::module,
    .text = "Say that the graph does not change.",
    .code = "DistributedDataParallel(..., static_graph=True)",
};

extern const Knob ddp_bf16_knob{
    .id = "ddp.bf16_gradients",
    .title = "gradients sent as bf16",
    .answers = "multi_gpu_comm",
    .breaks = "8 bits of mantissa in the sum of gradients",
    .undo = "leave the hook out",
    .numerics = Numerics::precision,
    .risk = 1.5,
    .offer = offer_ddp_bf16,
    .place = Place::module,
    .text = "Send gradients as bf16.",
    .code = "model.register_comm_hook(None, default_hooks.bf16_compress_hook)",
};

extern const Knob ddp_no_sync_knob{
    .id = "ddp.no_sync",
    .title = "one exchange per step",
    .answers = "multi_gpu_comm",
    .breaks = "gradients are wrong where a step ends earlier than those before; then exchange them explicitly",
    .undo = "leave no_sync() out",
    .numerics = Numerics::rounding,
    .risk = 1.5,
    .offer = offer_ddp_no_sync,
    .place = Place::module,
    .text = "Exchange gradients with the last backward of a step only.",
    .code = "with model.no_sync():  # around all but the last forward and backward of a step",
};

extern const Knob nccl_algorithm_knob{
    .id = "nccl.algorithm",
    .title = "algorithm of NCCL",
    .answers = "multi_gpu_comm",
    .breaks = "sizes for which NCCL had chosen better; sums in another order",
    .undo = "unset NCCL_ALGO",
    .numerics = Numerics::rounding,
    .risk = 1.5,
    .variable = "NCCL_ALGO",
    .offer = offer_nccl_algorithm,
    .text = "Fix the algorithm of NCCL.",
    .code = "NCCL_ALGO={}",
};

extern const Knob nccl_channels_knob{
    .id = "nccl.channels",
    .title = "channels of NCCL",
    .answers = "multi_gpu_comm",
    .breaks = "bandwidth, where they are too few",
    .undo = "unset NCCL_MAX_NCHANNELS",
    .numerics = Numerics::rounding,
    .risk = 1.5,
    .variable = "NCCL_MAX_NCHANNELS",
    .offer = offer_nccl_channels,
    .text = "Limit the channels of NCCL.",
    .code = "NCCL_MAX_NCHANNELS={}",
};

}  // namespace warpmark::optimize
