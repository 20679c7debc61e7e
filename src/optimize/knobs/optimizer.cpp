// Settings of the optimizer.
#include <algorithm>
#include <array>
#include <string_view>

#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

// The optimizer's step in few kernels instead of some for each parameter.
// Of torch.optim 2.11.
constexpr std::array<std::string_view, 3> kFused{"Adam", "AdamW", "SGD"};
constexpr std::array<std::string_view, 8> kForeach{"RAdam",    "NAdam", "Adamax",  "Adagrad",
                                                   "Adadelta", "ASGD",  "RMSprop", "Rprop"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Offer offer_optimizer_implementation(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.optimizers.empty()) return no_offer("the program makes no optimizer of torch.optim");
  const auto& optimizer = facts.report.optimizers.front();
  if (optimizer.fused) return no_offer("the program does so");
  const bool can_fuse = contains(kFused, optimizer.name);
  if (!can_fuse && !contains(kForeach, optimizer.name)) {
    return no_offer(optimizer.name + " has neither a fused nor a foreach implementation");
  }
  if (can_fuse && optimizer.cuda && torch_at_least(facts, 2, optimizer.name == "SGD" ? 3 : 0)) {
    return one_offer("fused", gain_of_share(facts.phases.optimizer, 1.2, 8, "the optimizer"));
  }
  if (optimizer.foreach) {
    return no_offer(can_fuse ? "the program uses foreach, and fused needs parameters on a GPU"
                             : "the program uses foreach, and " + optimizer.name + " has no fused implementation");
  }
  if (facts.phases.optimizer < 0.03) return no_offer("the optimizer is a small part of a step");
  return one_offer("foreach", gain_of_share(facts.phases.optimizer, 0.9, optimizer.cuda ? 4 : 1.3, "the optimizer"));
}

OptimizationAdvice optimizer_implementation_source([[maybe_unused]] const ProgramFacts& facts,
                                                   [[maybe_unused]] std::string_view value) {
  return {
      .where = place_in(facts, Place::optimizer),
      .text = "Let the optimizer step all parameters at once.",
      .code = fmt::format("{}(..., {}=True)",
                          facts.report.optimizers.empty() ? "Optimizer" : facts.report.optimizers.front().name, value),
      .predicted = {}};
}

// Gradients are dropped instead of being filled with zeros.
Offer offer_optimizer_set_to_none(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (facts.report.optimizers.empty()) return no_offer("the program makes no optimizer of torch.optim");
  if (torch_at_least(facts, 2, 0)) return no_offer("this version of torch does it automatically");
  return one_offer("on", {.low = 1.0, .high = 1.05, .method = "saves a pass over the gradients"});
}

}  // namespace

extern const Knob optimizer_implementation_knob{
    .id = "optimizer.implementation",
    .title = "fused optimizer",
    .answers = "optimizer launch_overhead:fewer_launches",
    .breaks = "f16 with gradient scaling and clipping had defects in old releases",
    .undo = "leave fused=True out",
    .numerics = Numerics::rounding,
    .values = "fused|foreach",
    .kernels = "fused=fusedadam fused=fused_adam fused=fusedsgd fused=fusedadagrad foreach=multi_tensor_apply",
    .switchable = true,
    .bundled = true,
    .offer = offer_optimizer_implementation,
    .source = optimizer_implementation_source,
};

extern const Knob optimizer_set_to_none_knob{
    .id = "optimizer.set_to_none",
    .title = "gradients dropped, not zeroed",
    .answers = "optimizer",
    .breaks = "code that reads .grad between zero_grad and backward",
    .undo = "leave set_to_none=False",
    .numerics = Numerics::exact,
    .values = "on",
    .switchable = true,
    .bundled = true,
    .offer = offer_optimizer_set_to_none,
    .place = Place::optimizer,
    .text = "Drop gradients instead of zeroing them.",
    .code = "optimizer.zero_grad(set_to_none=True)",
};

}  // namespace warpmark::optimize
