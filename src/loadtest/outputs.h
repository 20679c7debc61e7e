// Where the results of a load test are kept as they come: the store, and files.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "loadtest/prepare.h"
#include "model/run.h"
#include "serving/results/load_result.h"
#include "store/store.h"

namespace warpmark::loadtest {

struct LoadOutputs {
  const Surroundings& around;
  LoadFiles files;
  std::unique_ptr<store::Store> store;  ///< null with --no-store
  Session session;
  serving::LoadReport report;
  std::string folder;        ///< of the experiment; empty without one
  std::string records_file;  ///< in it, of the load that is under way; empty without a folder
};

/// Finds out before the load what cannot be written. With --resume the report begins with what is there already. What a
/// load that was killed left in the experiment folder becomes a CSV file there.
[[nodiscard]] Result<LoadOutputs> open_outputs(const PreparedLoad& load, const Surroundings& around);

/// Whether --resume found this step done.
[[nodiscard]] bool done_earlier(const serving::LoadReport& report, const LoadStep& step);

/// Stores and writes one result. Environment error, after that, where its records could not be kept to the end.
[[nodiscard]] Status keep_load(LoadOutputs& outputs, serving::ScenarioResult result);

/// Writes what is known once all are measured, and ends the stored session. `measured`: the error that ended measuring.
[[nodiscard]] Status finish_outputs(LoadOutputs& outputs, const Status& measured, bool interrupted);

}  // namespace warpmark::loadtest
