#include "optimize/priors.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace warpmark::optimize {
namespace {

constexpr const char* kSource = "docs/results/analysis-2026-11-21.csv";

}  // namespace

std::span<const TechniquePrior> priors() {
  // bottleneck, programs, median, lower and upper quartile, range of guides. A test computes them again.
  static const TechniquePrior kPriors[] = {
      {"data_loading", 76, 3.20, 2.19, 4.84, 1.1, 1.3, kSource},
      {"precision", 80, 3.08, 2.02, 4.50, 1.4, 1.8, kSource},
      {"launch_overhead", 81, 5.26, 3.39, 7.67, 1.3, 2, kSource},
      {"attention", 67, 2.88, 2.33, 3.79, 1.3, 1.6, kSource},
      {"memory_bandwidth", 66, 3.00, 1.90, 6.29, std::nullopt, std::nullopt, kSource},
      {"optimizer", 58, 1.50, 1.33, 1.73, std::nullopt, std::nullopt, kSource},
      {"host_transfer", 74, 2.71, 1.81, 4.31, std::nullopt, std::nullopt, kSource},
      {"multi_gpu_comm", 106, 1.46, 1.22, 2.01, 1.1, 1.2, kSource},
      {"memory_allocation", 46, 1.69, 1.31, 4.02, std::nullopt, std::nullopt, kSource},
      {"cpu_gpu_sync", 81, 1.57, 1.26, 2.86, 1.05, 1.15, kSource},
  };
  return kPriors;
}

std::optional<TechniquePrior> prior_of(std::string_view id) {
  const Knob* knob = find_in(knobs(), id);
  if (knob == nullptr) return std::nullopt;
  // Checkpointing is answer to the same finding, but it makes room and takes time; no program has its flaw in how its
  // process is set up.
  if (id == "checkpoint.blocks" || id.starts_with("process.") || id.starts_with("python.")) return std::nullopt;
  const auto answers = split(knob->answers, ' ');
  if (answers.empty()) return std::nullopt;
  const std::string rule = answers.front().substr(0, answers.front().find(':'));
  const auto all = priors();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& prior) { return prior.bottleneck == rule; });
  if (found == all.end()) return std::nullopt;
  return *found;
}

}  // namespace warpmark::optimize
