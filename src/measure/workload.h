// Workload: the descriptor of a benchmark. Adding one is a file in src/workloads that defines a const Workload, and a
// line in src/workloads/catalog.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/catalog.h"
#include "base/result.h"
#include "device/device.h"
#include "model/cost.h"
#include "model/params.h"
#include "model/run.h"

namespace warpmark::measure {

struct Workload;
struct Case;
struct RoundOptions;

struct PrepareOptions {
  device::Device& device;
  const Params& params;
  std::size_t sets = 1;    ///< input sets to make: launch(stream, set) is called with set < sets
  std::uint64_t seed = 0;  ///< of the random inputs; the same seed gives the same inputs
  /// Where the first input of each set stands that another work makes (Prepared::handed_on); empty: random ones. Of
  /// workloads that are stages of another (src/workloads/vision/relevance_pipeline.cpp).
  std::span<const std::span<std::byte>> given{};
  /// Of a set, that need not be allocated.
  [[nodiscard]] std::size_t given_bytes() const { return given.empty() ? 0 : given.front().size(); }
};

/// A workload with its inputs made and its library handles created. prepare -> time -> check.
class Prepared : public device::Launchable {
 public:
  /// Fills the outputs of all sets with a bit pattern that no correct result has (NaN), so that unwritten elements are
  /// found. Called after the warm-up and before the timed launches.
  virtual Status poison() = 0;
  /// Compares the outputs of the timed launches on `set` with a reference in higher precision.
  virtual Result<ErrorCheck> check(std::size_t set) = 0;
  /// True where the quantity is the launch or the transfer as the host sees it, not the device's own time.
  [[nodiscard]] virtual bool host_clock() const { return false; }
  /// Memory of the output that a next stage takes, of the device; empty where it is no stage.
  [[nodiscard]] virtual std::span<std::byte> stage_output(std::size_t /*set*/) { return {}; }
  /// Facts about how it ran, known after prepare: {"algorithm", "..."}.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> notes() const { return {}; }
};

struct Workload {
  const char* id;
  const char* summary;  ///< one line
  std::span<const ParamSpec> params;
  /// FLOPs, bytes and footprint of one launch. Usage error that names the numbers and the fix for parameters that make
  /// no sense (a shape of 0, k > n, a budget too small). Pure.
  Result<Cost> (*cost)(const Workload& self, const Params& params);
  /// Whether this device can run it with these parameters. Cheap; does not allocate.
  device::Support (*supports)(const Workload& self, const DeviceInfo& device, const Params& params);
  Result<std::unique_ptr<Prepared>> (*prepare)(const Workload& self, const PrepareOptions& options);
  /// What `run` measures on this device when no parameter is given: overrides of the defaults, one entry a case.
  std::vector<Overrides> (*cases)(const Workload& self, const DeviceInfo& device);
  Mode default_mode = Mode::cold;
  /// For work that is done by a process of its own, such as a model's training: measures a whole round in place of
  /// prepare, and fills everything of the run but its names. `prepare` is then null.
  Status (*measure)(const Case& what, device::Device& device, const RoundOptions& options, Run& run) = nullptr;
  /// Parameters with what stands for something else ("0 is the preset's") replaced by it, so that a case says what ran.
  /// Null where nothing does; parameters that make no sense are left for `cost` to refuse.
  void (*spell_out)(const Workload& self, Params& params) = nullptr;
  const void* extension = nullptr;  ///< for workloads made at run time (plugins)
};

}  // namespace warpmark::measure
