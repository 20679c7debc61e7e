// Steps of the living process that are recorded: the folder of their traces, and what the analysis finds in these.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/fields/fields_fwd.h"
#include "model/optimization.h"
#include "optimize/facts.h"

namespace warpmark::optimize {

/// What was found in recorded steps.
struct StepRecording {
  bool gpu_work = false;
  double seconds_per_step = 0;  ///< with what recording cost; 0: not known
  std::vector<OptimizationFinding> findings;
  std::vector<FoundGain> found;
  std::vector<std::string> kernels;  ///< the different names
  std::string problem;               ///< why it could not be read

  /// Gains of the step as it is without the recording. A finding is taken to leave the same step behind, as the GPU's
  /// work is not slower while it is recorded; what the host lost only because it was recorded is then no gain.
  void bound_to(double unrecorded_s);
  /// Where the same findings are in the program, from a recording with stacks, which is slower.
  void take_places(const StepRecording& located);
  /// A sentence for the log.
  [[nodiscard]] std::string text() const;
};

extern const RecordOf<StepRecording> kStepRecording;  ///< as the journal keeps it

/// Of all traces in the folder. Where a recording cannot be read, the search goes on without.
[[nodiscard]] StepRecording analyze_traces(const std::filesystem::path& folder);

/// A folder that is removed with the object, and before.
class TraceFolder {
 public:
  explicit TraceFolder(std::filesystem::path folder);
  ~TraceFolder();
  TraceFolder(TraceFolder&&) = delete;
  TraceFolder& operator=(TraceFolder&&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace warpmark::optimize
