// Where the results of `warpmark load run` go as they come: the terminal, the store, files.
#pragma once

#include <memory>
#include <string>

#include "base/options.h"
#include "base/result.h"
#include "model/run.h"
#include "serving/results/load_result.h"
#include "store/store.h"
#include "warpmark/command.h"
#include "warpmark/load/load_request.h"

namespace warpmark::apps {

struct LoadFiles {
  std::string json, html, requests_csv, vllm_json;
  std::string folder_name, base_folder;  ///< of an experiment
  bool resumes = false;
  bool stores = true;
};

struct LoadOutputs {
  Context& context;
  LoadFiles files;
  std::unique_ptr<store::Store> store;  ///< null with --no-store
  Session session;
  serving::LoadReport report;
  std::string folder;        ///< of the experiment; empty without one
  std::string records_file;  ///< in it, of the load that is under way; empty without a folder
};

/// Finds out before the load what cannot be written. With --resume the report begins with what is there already. What a
/// load that was killed left in the experiment folder becomes a CSV file there.
[[nodiscard]] Result<LoadOutputs> open_load_outputs(Context& context, const ParsedOptions& options,
                                                    const LoadRequest& request);

/// Whether --resume found this step done.
[[nodiscard]] bool done_earlier(const serving::LoadReport& report, const LoadStep& step);

/// Stores and writes one result. Environment error, after that, where its records could not be kept to the end.
[[nodiscard]] Status keep_load(LoadOutputs& outputs, serving::ScenarioResult result);

[[nodiscard]] Status write_load_outputs(const LoadOutputs& outputs);

/// Shows the page, writes the files and ends the stored session; the exit code, or the error that ended measuring.
[[nodiscard]] Result<int> finish_load(LoadOutputs& outputs, const Status& measured, bool interrupted);

}  // namespace warpmark::apps
