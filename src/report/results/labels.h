// Short names of runs for people: "gemm m=n=k=1024 f32". Only parameters that tell runs of a workload apart are named,
// and the size and data type; all of them where a workload ran with one set of parameters only.
#pragma once

#include <map>
#include <set>
#include <string>

#include "model/run.h"

namespace warpmark::report {

class RunLabels {
 public:
  explicit RunLabels(const Session& session);

  /// Workload and parameters.
  [[nodiscard]] std::string of(const Run& run) const;
  /// Also the mode, and the device where the session used several: unique within a session.
  [[nodiscard]] std::string full(const Run& run) const;
  /// Of a result without a peak: as full(), but a command by its words and without a mode that nobody chose.
  [[nodiscard]] std::string plain(const Run& run) const;
  /// full() without the workload, for places that are about one workload.
  [[nodiscard]] std::string within_workload(const Run& run) const;
  /// The parameters alone; `without` is left out.
  [[nodiscard]] std::string params(const Run& run, std::string_view without = {}) const;

 private:
  std::map<std::string, std::set<std::string>, std::less<>> shown_;  // by workload
  bool several_devices_ = false;
};

/// The note of a run from another tool that holds the whole name it had there.
inline constexpr const char* kNameNote = "name in its tool";

/// That name, or "gemm/m:1024/dtype:f32/cold/cpu": for formats of other tools. The same in the next session.
[[nodiscard]] std::string case_name(const Run& run);

}  // namespace warpmark::report
