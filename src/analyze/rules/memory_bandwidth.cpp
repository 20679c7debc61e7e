// Kernels that only move data: chains of elementwise kernels, each reading and writing everything once more, gathers,
// and conversions between layouts.
#include "analyze/rules/rules.h"

namespace warpmark::analyze {

namespace {

/// Of what fusing could save, what is blamed: passes over memory are part of every program, and how far a compiler gets
/// is not known beforehand, where a wait or a copy was recorded as it is. The gain has an interval for that.
constexpr double kSurelyReached = 0.5;

std::vector<Finding> apply(const Evidence& evidence) {
  const RankEvidence& rank = evidence.rank();
  const double lost = avoidable_ns(rank, Owner::memory_bandwidth) * kSurelyReached;
  if (lost <= 0) return {};
  const double step = rank.undisturbed_step_ns();
  const KernelBlame& blame = rank.blame;
  Finding finding =
      make_finding(kMemoryBandwidthRule, lost, step,
                   "Kernels that only move data take " + ms_text(owned_ns(rank, Owner::memory_bandwidth)) +
                       " a step, about " + ms_text(lost) + " (" + percent_text(lost / step) + ") of it avoidable");
  finding.evidence = {
      time_fact("data_movement_per_step", "Elementwise chains, gathers and layout conversions, per step",
                owned_ns(rank, Owner::memory_bandwidth)),
      time_fact("data_movement_avoidable_per_step", "Of it avoidable by fusing, per step", lost),
      count_fact("elementwise_chains", "Chains of elementwise kernels in the recording",
                 static_cast<double>(blame.chains)),
      count_fact(
          "chain_length", "Kernels in a chain, mean",
          static_cast<double>(blame.chain_kernels) / static_cast<double>(std::max<std::int64_t>(1, blame.chains))),
      count_fact("gathers", "Gather and scatter kernels in the recording", static_cast<double>(blame.gathers)),
      count_fact("layout_conversions", "Layout conversions in the recording",
                 static_cast<double>(blame.layout_conversions)),
  };
  finding.recommendations = {
      {AdviceKind::code, "Let a compiler fuse elementwise chains into single passes over memory.",
       "model = torch.compile(model)"},
  };
  if (blame.layout_conversions > 0) {
    finding.recommendations.push_back({AdviceKind::code,
                                       "Keep one layout throughout, so that nothing has to be converted.",
                                       "model = model.to(memory_format=torch.channels_last)"});
  }
  if (blame.gathers > 0) {
    finding.recommendations.push_back({AdviceKind::code,
                                       "Gather once, in the order in memory (sort the indices), and in 16 bits.",
                                       "index, order = torch.sort(index)"});
  }
  show_works(
      rank, [&rank](std::size_t i) { return rank.blame.owner[i] == Owner::memory_bandwidth; }, finding);
  return {finding};
}

void change(const Evidence& evidence, double success, Change& change) {
  shrink_owned(evidence, Owner::memory_bandwidth, success, change);
}

}  // namespace

constinit const Rule kMemoryBandwidthRule = {
    "memory_bandwidth", "memory_bandwidth", "Do kernels move data needlessly?", Need::gpu_work, apply, change,
    {1.0, 0.1}};

}  // namespace warpmark::analyze
