// Chooses the fastest of cuDNN's plans for a graph by timing them, and launches it on any of several input sets.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/device.h"
#include "workloads/module/dnn/cudnn.h"

namespace warpmark::workloads::dnn {

/// The addresses of one input set, in the order of PlanRunnerOptions::ids.
using Pointers = std::vector<void*>;

struct PlanRunnerOptions {
  std::vector<std::int64_t> ids;  ///< of the graph's tensors that are not virtual
  std::vector<Pointers> sets;
  std::size_t candidates = 8;  ///< plans to time
  std::span<const cudnnBackendNumericalNote_t> excluded;
};

class PlanRunner {
 public:
  /// Builds the candidate plans, times each on the device's stream over the sets in turn and keeps the fastest with its
  /// workspace. Unsupported error if cuDNN offers none.
  [[nodiscard]] static Result<PlanRunner> create(device::Device& device, const Cudnn& cudnn, const Descriptor& graph,
                                                 const PlanRunnerOptions& options);

  /// Enqueues the plan on input set `set`.
  Status launch(device::Stream stream, std::size_t set) const;

  /// {"library", "cuDNN 9.19.0"}, {"algorithm", "engine 28, knobs ..."}, {"candidates", "8 timed, ..."}, workspace.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> notes() const;

 private:
  Status choose(device::Device& device, std::vector<Plan> plans, const PlanRunnerOptions& options);
  Status bind(device::Device& device, const PlanRunnerOptions& options, std::int64_t workspace_bytes);
  [[nodiscard]] Result<double> time(device::Stream stream, const Plan& plan, double give_up_s) const;

  const Cudnn* cudnn_ = nullptr;
  Plan plan_;
  std::unique_ptr<device::Buffer> workspace_;
  std::vector<Descriptor> packs_;  ///< one a set
  std::string trials_;
};

}  // namespace warpmark::workloads::dnn
