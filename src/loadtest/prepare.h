// From what is asked to what is measured: files are read, keys found, and what excludes each other is refused.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "loadtest/request.h"
#include "loadtest/surroundings.h"

namespace warpmark::loadtest {

struct LoadQuestions;

/// One scenario at one concurrency or rate.
struct LoadStep {
  serving::Traffic traffic;
  /// All that makes it what it is beside scenario, arrivals, level, batch and turns; what is as usual is left out.
  std::map<std::string, std::string> parameters;
  double level = 0;  ///< users or requests/s
};

/// A request, changed to what holds for it (LoadGen's rules decide some of it), with all that it names.
struct PreparedLoad : LoadRequest {
  serving::Target target;  ///< unused for a workload
  std::vector<LoadStep> steps;
  std::vector<std::pair<std::string, std::string>> labels;  ///< "engine", "gpu_type", ...
  std::uint64_t seed = 1;                                   ///< of the whole command; loads derive theirs
  double price_per_hour = 0;                                ///< of all GPUs of the server
  std::shared_ptr<const LoadQuestions> questions;           ///< of the task; may be null
};

/// Usage error for what does not go together, data error for a file that cannot be used.
[[nodiscard]] Result<PreparedLoad> prepare(LoadRequest request, const Surroundings& around);

/// One a scenario, level, batch size and number of turns. `task`: of the scenarios, where none is given.
[[nodiscard]] Result<std::vector<LoadStep>> steps_of(const LoadRequest& request, const char* task);

}  // namespace warpmark::loadtest
