#include "optimize/facts.h"

#include <algorithm>

namespace warpmark::optimize {

std::int64_t ProgramFacts::short_epoch() const {
  constexpr double kShort_s = 5;
  const auto steps = report.loaders.empty() ? 0 : report.loaders.front().batches;
  return steps > 0 && static_cast<double>(steps) * seconds_per_step < kShort_s ? steps : 1;
}

std::int64_t whole_multiple(std::int64_t steps, std::int64_t epoch) { return (steps + epoch - 1) / epoch * epoch; }

bool ProgramFacts::on_gpu() const {
  return std::any_of(report.modules.begin(), report.modules.end(), [](const auto& m) { return m.device == "cuda"; });
}

bool ProgramFacts::waits_for_data() const { return phases.data >= 0.05; }

bool ProgramFacts::trains() const {
  const auto backward = [](const workers::StepTimes& step) { return step.backwards > 0; };
  return !report.optimizers.empty() || std::any_of(report.steps.begin(), report.steps.end(), backward);
}

void ProgramFacts::wait_for_data(double share) {
  const double before = 1 - phases.data, after = 1 - std::clamp(share, 0.0, 1.0);
  if (before > 0) {
    for (double* part : {&phases.forward, &phases.backward, &phases.optimizer, &phases.rest}) *part *= after / before;
  }
  phases.data = 1 - after;
}

PhaseShares phases_of(const workers::ProgramReport& report) {
  const auto& steps = report.steps;
  std::size_t first = 1;
  if (report.window) {
    const auto inside = static_cast<std::size_t>(report.window->steps);
    first = steps.size() > inside ? steps.size() - inside : 1;
  }
  if (steps.size() < first + 1) return {};
  const double total = steps.back().end_s - steps[first - 1].end_s;
  if (!(total > 0)) return {};
  PhaseShares shares{};
  for (std::size_t i = first; i < steps.size(); ++i) {
    shares.data += steps[i].wait_s / total;
    shares.forward += steps[i].forward_s / total;
    shares.backward += steps[i].backward_s / total;
    shares.optimizer += steps[i].optimizer_s / total;
  }
  const double sum = shares.data + shares.forward + shares.backward + shares.optimizer;
  if (sum > 1) {  // phases of several threads, or one within another: shares of what is known
    shares.data /= sum, shares.forward /= sum, shares.backward /= sum, shares.optimizer /= sum;
  }
  shares.rest = std::max(0.0, 1 - sum);
  return shares;
}

ProgramFacts facts_of(workers::ProgramReport report, std::optional<double> gpu_utilization) {
  ProgramFacts facts;
  facts.gpu_utilization = gpu_utilization;
  facts.phases = phases_of(report);
  if (report.window) {
    facts.seconds_per_step = report.window->seconds / static_cast<double>(report.window->steps);
  } else if (report.steps.size() > 1) {
    facts.seconds_per_step =
        (report.steps.back().end_s - report.steps.front().end_s) / static_cast<double>(report.steps.size() - 1);
  }
  facts.report = std::move(report);
  return facts;
}

double amdahl(double share, double factor) { return 1 / (1 - share + share / factor); }

}  // namespace warpmark::optimize
