// torch.compile of the module that the program calls, in place.
#include "optimize/knobs/offers.h"

namespace warpmark::optimize {
namespace {

constexpr const char* kAnswers =
    "launch_overhead:cuda_graph launch_overhead:compile memory_bandwidth memory_bound_kernel";
constexpr const char* kAnswersWithoutGraph = "launch_overhead:compile memory_bandwidth memory_bound_kernel";

Offer offer_compile(const ProgramFacts& facts, [[maybe_unused]] const Settings& settings) {
  if (!torch_at_least(facts, 2, 2))
    return no_offer("torch " + facts.report.torch + " cannot compile a module in place");
  if (facts.report.modules.empty()) return no_offer("no module with parameters is called");
  if (facts.report.modules.front().compiled) return no_offer("the program does so");
  if (!facts.on_gpu())
    return no_offer("it needs a C++ compiler and pays seldom on a CPU; --try compile=default asks for it");
  Offer offer;
  const auto now = value_of(settings, "compile");
  for (const char* mode : {"default", "reduce-overhead", "max-autotune-no-cudagraphs"}) {
    if (now == mode || (!now.empty() && std::string_view(mode) == "default")) continue;
    const bool graph = std::string_view(mode) == "reduce-overhead";
    auto predicted = gain_of_share(model_share(facts), 1.05, 3, "the model");
    if (!now.empty()) predicted.low = 1, predicted.high = 1.2;
    offer.candidates.push_back({mode, std::move(predicted), graph ? kAnswers : kAnswersWithoutGraph});
  }
  return offer;
}

OptimizationAdvice compile_source([[maybe_unused]] const ProgramFacts& facts, [[maybe_unused]] std::string_view value) {
  return {
      .where = module_place(facts),
      .text = "Compile the module in place.",
      .code = value == "default" ? std::string("model.compile()") : fmt::format("model.compile(mode=\"{}\")", value),
      .predicted = {}};
}

}  // namespace

extern const Knob compile_knob{
    .id = "compile",
    .title = "torch.compile",
    .answers = kAnswers,
    .breaks = "minutes of compiling; shapes that change are compiled again; graph breaks",
    .undo = "leave model.compile() out",
    .numerics = Numerics::rounding,
    .values = "default|reduce-overhead|max-autotune|max-autotune-no-cudagraphs",
    .risk = 2,  // and its runs are the longest, so that others come first
    .variable = "",
    .kernels = "triton_",
    .switchable = true,
    .offer = offer_compile,
    .source = compile_source,
};

}  // namespace warpmark::optimize
