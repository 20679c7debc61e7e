// The optimizer updates parameters one by one: many tiny kernels, and many passes over the same memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyze/lead.h"
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

constexpr double kHostLeft = 0.1;   // of the host time of an unfused optimizer
constexpr double kFewKernels = 40;  // a step: a fused or foreach optimizer needs fewer

// What a sparse update launches instead, a table: sorting and adding up the gradient, reading and writing two moments
// (torch/optim/_functional.py, sparse_adam; ATen/native/sparse/cuda).
constexpr double kSparseLaunches = 50;

constexpr Advice kUpdateTogether = {
    AdviceKind::code,
    "Update all parameters in one jitted call, best within that of the step.",
    nullptr,
    nullptr,
    "update = jax.jit(optimizer.update, donate_argnums=(0, 1))",
};
constexpr Advice kOneBuffer = {
    AdviceKind::code,
    "Keep parameters, gradients and moments of all layers in one buffer each, and update them in one pass.",
    "adamw<<<blocks, 256, 0, stream>>>(parameters, gradients, first_moments, second_moments, count, rate);",
};

std::string kernels_text(double a_step) {
  const long count = std::lround(std::max(1.0, a_step));
  return fmt::format("{} kernel{}", format_count(count), count == 1 ? "" : "s");
}

struct Updates {
  double kernels = 0;
  double multi_tensor = 0;
  double gpu_ns = 0;
  double fused = 0;  ///< ns in kernels that update many parameters at once from beginning to end
};

Updates updates_in_steps(const RankEvidence& rank) {
  Updates sum;
  for (const GpuWork& work : rank.list.works) {
    if (work.category != Category::optimizer || !rank.in_steps(work)) continue;
    sum.kernels += 1;
    sum.multi_tensor += is_multi_tensor(rank.timeline->name_of(work.event));
    const auto ns = static_cast<double>(work.end - work.start);
    sum.gpu_ns += ns;
    if (contains_any(rank.timeline->name_of(work.event), {"fusedoptimizer", "fusedadam", "fused_adam", "fusedsgd"}))
      sum.fused += ns;
  }
  return sum;
}

bool is_unfused(const RankEvidence& rank, const Updates& updates) {
  return updates.kernels / rank.step_count() > kFewKernels && updates.multi_tensor * 2 < updates.kernels;
}

/// Avoidable kernel time, and idle time of an optimizer that a fused one would not have, a step.
double recorded_loss_ns(const RankEvidence& rank, const Updates& updates) {
  const double idle =
      rank.over_host == OverHost::gradients ? 0 : rank.part_ns(Part::idle_optimizer);  // else of multi_gpu_comm
  return avoidable_ns(rank, Owner::optimizer) + idle * (is_unfused(rank, updates) ? 1 - kHostLeft : 0.5);
}

/// Replayed, and what the launches of sparse updates add to the host's time.
double foretell(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double gain = replayed(kOptimizerRule, evidence, kOptimizerRule.calibration.removed);
  const double tables = rank.blame.tables.tables / rank.step_count();
  const double launches = static_cast<double>(rank.replay.works().size()) / std::max(1, rank.replay.steps());
  if (tables == 0 || launches == 0) return gain;
  const double before = evidence.base_step_ns;
  return before / (before / gain + kSparseLaunches * tables * rank.dispatch_ns() / launches);
}

void add_tables(const RankEvidence& rank, Finding& finding) {
  const DenseTables& tables = rank.blame.tables;
  if (tables.tables == 0) return;
  finding.evidence.push_back(time_fact("dense_table_fill_per_step",
                                       "Zeroing the gradients of whole tables of embeddings, per step",
                                       tables.fill_ns / rank.step_count()));
  finding.evidence.push_back(time_fact("dense_table_update_per_step", "Updating all their rows, per step",
                                       tables.update_ns / rank.step_count()));
  finding.evidence.push_back(share_fact("dense_table_touched", "Of their rows had a gradient at most", tables.touched));
  finding.recommendations.insert(
      finding.recommendations.begin(),
      {AdviceKind::code,
       "Update only the rows of the table that a batch reads: sparse gradients and an optimizer that takes them.",
       "table = nn.Embedding(rows, width, sparse=True)\n"
       "optimizers = [torch.optim.SparseAdam(table.parameters()), torch.optim.AdamW(others, fused=True)]"});
}

/// "RMSprop", from the range that PyTorch records around an update; empty if it did not.
std::string optimizer_class(const Timeline& timeline) {
  constexpr std::string_view kBefore = "Optimizer.step#";
  for (NameId i = 0; i < timeline.names.size(); ++i) {
    std::string_view name = timeline.names.at(i);
    if (!name.starts_with(kBefore)) continue;
    name.remove_prefix(kBefore.size());
    return std::string(name.substr(0, name.find('.')));
  }
  return "";
}

/// PyTorch's cure by the class that was recorded and what it has (documentation of torch.optim: fused versions, and
/// `capturable`, which SGD does not need).
Recommendation torch_cure(const std::string& name, const Updates& updates, double steps) {
  const bool fuses = name == "AdamW" || name == "Adam" || name == "SGD" || name == "Adagrad";
  const auto made = [&name](std::string_view options) {
    return fmt::format("torch.optim.{}(model.parameters(), lr=lr, {})", name, options);
  };
  if (fuses && updates.fused * 2 <= updates.gpu_ns) {
    return {AdviceKind::code, "Update all parameters with one kernel.", made("fused=True")};
  }
  if (!fuses && updates.multi_tensor * 2 < updates.kernels) {
    return {AdviceKind::code, "Update lists of parameters together.", made("foreach=True")};
  }
  if (updates.kernels - updates.multi_tensor > kFewKernels * steps) {
    return {
        AdviceKind::code,
        "The update itself is fused: do what surrounds it (scaling, clipping, copies) for lists of parameters, too.",
        "torch._foreach_mul_([p.grad for p in model.parameters()], scale)"};
  }
  const std::string options = std::string(fuses ? "fused=True" : "foreach=True") +
                              (name == "SGD" || name == "Adagrad" ? "" : ", capturable=True");
  return {AdviceKind::code,
          "Parameters are updated together already: what is left is the host's way to it, which a graph of the step "
          "spares.",
          made(options) + "  # within torch.cuda.graph"};
}

std::vector<Finding> apply(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const Updates updates = updates_in_steps(rank);
  if (updates.kernels == 0) return {};
  const double lost = recorded_loss_ns(rank, updates) + late_updates_ns(evidence);
  if (lost <= 0) return {};
  const double step = rank.undisturbed_step_ns();
  Finding finding =
      make_finding(kOptimizerRule, lost, step,
                   "The optimizer's update loses " + time_text(lost) + " a step (" + format_percent(lost / step) +
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
    const std::string name = optimizer_class(*rank.timeline);
    finding.recommendations = {torch_cure(name.empty() ? "AdamW" : name, updates, rank.step_count())};
  } else {
    advise(evidence, {kUpdateTogether, kOneBuffer}, finding);
  }
  add_tables(rank, finding);
  show_works(
      rank, [&rank](std::size_t i) { return rank.list.works[i].category == Category::optimizer; }, finding);
  return {finding};
}

void change(const Evidence& evidence, double success, Change& change) {
  shrink_owned(evidence, Owner::optimizer, success, change);
  for (std::size_t r = 0; r < evidence.ranks.size(); ++r) {
    const bool unfused = is_unfused(evidence.ranks[r], updates_in_steps(evidence.ranks[r]));
    change.ranks[r].host_scale[static_cast<std::size_t>(HostCause::optimizer)] *=
        scaled(unfused ? kHostLeft : 0.5, success);
  }
}

}  // namespace

double late_updates_ns(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const Updates updates = updates_in_steps(rank);
  if (!is_unfused(rank, updates) || rank.over_host == OverHost::gradients) return 0;
  return further_loss_ns(kOptimizerRule, evidence, recorded_loss_ns(rank, updates));
}

constinit const Rule kOptimizerRule = {
    "optimizer", "launch_overhead", "Are parameters updated one by one?", Need::gpu_work, apply, change,
    {1.0, 0.1},  foretell};

}  // namespace warpmark::analyze
