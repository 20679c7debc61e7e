// The optimizer updates parameters one by one: many tiny kernels, and many passes over the same memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/evidence/updates.h"
#include "analyze/names/ranges.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr Advice kUpdateTogether = {
    .kind = AdviceKind::code,
    .text = "Update all parameters in one jitted call, best within that of the step.",
    .jax = "update = jax.jit(optimizer.update, donate_argnums=(0, 1))",
};
constexpr Advice kOneBuffer = {
    .kind = AdviceKind::code,
    .text = "Keep parameters, gradients and moments of all layers in one buffer each, and update them in one pass.",
    .native = "adamw<<<blocks, 256, 0, stream>>>(parameters, gradients, first_moments, second_moments, count, rate);",
};

std::string kernels_text(double a_step) {
  const long count = std::lround(std::max(1.0, a_step));
  return fmt::format("{} kernel{}", format_count(count), count == 1 ? "" : "s");
}

constexpr std::string_view kOfTorch[] = {"Adadelta", "Adafactor", "Adagrad", "Adam", "Adamax",
                                         "AdamW",    "ASGD",      "LBFGS",   "Muon", "NAdam",
                                         "RAdam",    "RMSprop",   "Rprop",   "SGD",  "SparseAdam"};

/// PyTorch's fix by the class that was recorded and what it has (documentation of torch.optim: fused versions, and
/// `capturable`, which SGD does not need).
Recommendation torch_fix(const std::string& name, const Updates& updates, double steps) {
  const bool fuses = name == "AdamW" || name == "Adam" || name == "SGD" || name == "Adagrad";
  const auto made = [&name](std::string_view options) {
    return std::ranges::find(kOfTorch, name) != std::end(kOfTorch)
               ? fmt::format("torch.optim.{}(model.parameters(), lr=lr, {})", name, options)
               : fmt::format("{}(model.parameters(), lr=lr, {})  # if it can, as those of torch.optim can", name,
                             options);
  };
  if (fuses && updates.fused * 2 <= updates.gpu_ns) {
    return {AdviceKind::code, "Update all parameters with one kernel.", made("fused=True")};
  }
  if (!fuses && updates.multi_tensor * 2 < updates.kernels) {
    return {AdviceKind::code, "Update lists of parameters together.", made("foreach=True")};
  }
  if (updates.kernels - updates.multi_tensor > kFewUpdateKernels * steps) {
    return {AdviceKind::code, "Scale, clip and copy lists of parameters at once, too: the update itself is fused.",
            "torch._foreach_mul_([p.grad for p in model.parameters()], scale)"};
  }
  const std::string options = std::string(fuses ? "fused=True" : "foreach=True") +
                              (name == "SGD" || name == "Adagrad" ? "" : ", capturable=True");
  return {
      AdviceKind::code,
      "Capture the step in a CUDA graph to remove the launch overhead that is left: the optimizer is already fused.",
      made(options) + "  # within torch.cuda.graph"};
}

std::vector<Finding> apply_optimizer(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const Updates updates = updates_in_steps(rank);
  if (updates.kernels == 0) return {};
  const double lost = evidence.attribution.lost_ns(AttributedTo::optimizer);
  if (lost <= 0) return {};
  const double step = rank.undisturbed_step_ns();
  Finding finding =
      make_finding(kOptimizerRule, lost, step,
                   "The optimizer's update loses " + time_text(lost) + " per step (" + format_percent(lost / step) +
                       ") in " + kernels_text(updates.kernels / rank.step_count()));
  finding.evidence = {
      count_fact("optimizer_kernels_per_step", "Kernels of the optimizer per step",
                 updates.kernels / rank.step_count()),
      share_fact("optimizer_multi_tensor_share", "Of them for many parameters at once",
                 updates.multi_tensor / updates.kernels),
      time_fact("optimizer_gpu_per_step", "GPU time of the optimizer, per step", updates.gpu_ns / rank.step_count()),
      time_fact("optimizer_idle_per_step", "GPU idle in the optimizer, per step", rank.part_ns(Part::idle_optimizer)),
  };
  if (evidence.framework == Framework::pytorch) {
    const std::string name = optimizer_class(rank.timeline->names);
    finding.recommendations = {torch_fix(name.empty() ? "AdamW" : name, updates, rank.step_count())};
  } else {
    advise(evidence, {kUpdateTogether, kOneBuffer}, finding);
  }
  show_works(
      rank, [&rank](std::size_t i) { return rank.list.works[i].category == Category::optimizer; }, finding);
  return {finding};
}

void change_optimizer(const Evidence& evidence, double success, Change& change) {
  update_together(evidence, success, change);
}

}  // namespace

constinit const Rule kOptimizerRule = {"optimizer",    "launch_overhead", "Are parameters updated one by one?",
                                       Need::gpu_work, apply_optimizer,   change_optimizer};

}  // namespace warpmark::analyze
