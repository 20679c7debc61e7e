// The healthy case: the GPU is busy nearly all the time, with work that is hard to avoid.
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

/// Where nearly all the time goes to kernels whose names say nothing, what they lose shows in their metrics alone.
void ask_for_metrics(double own_share, Finding& finding) {
  finding.evidence.push_back(
      share_fact("own_kernel_share", "Kernels of the program's own, which a timeline does not look into", own_share));
  finding.recommendations = {
      {AdviceKind::measure,
       "Profile these kernels: strided or scattered access, double precision by accident and low occupancy show in "
       "kernel metrics alone.",
       "warpmark profile --ncu 5 -- <command>"}};
}

std::vector<Finding> apply_compute_bound(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double step = rank.undisturbed_step_ns();
  const double compute = rank.group_ns("compute");
  if (compute < kNearlyAll * step) return {};
  Finding finding =
      make_finding(kComputeBoundRule, 0, step, "The GPU computes " + format_percent(compute / step) + " of the step");
  finding.evidence = {
      time_fact("compute_per_step", "Kernels, per step", compute),
      share_fact("idle_share", "GPU idle", rank.group_ns("idle") / step),
  };
  finding.recommendations = {{AdviceKind::measure, "To go further, profile the costliest kernels one by one.",
                              "ncu --csv --page raw --print-units base --launch-count 200 <command> > kernels.csv"}};
  const double own = rank.part_ns(Part::other_kernels) / step;
  if (own * 2 > 1 && evidence.session->kernels.empty()) ask_for_metrics(own, finding);
  finding.gain = {1.0, 1.0, "nothing to remove"};
  return {finding};
}

}  // namespace

constinit const Rule kComputeBoundRule = {"compute_bound", "kernel_efficiency", "Is the GPU busy with useful work?",
                                          Need::gpu_work, apply_compute_bound};

}  // namespace warpmark::analyze
