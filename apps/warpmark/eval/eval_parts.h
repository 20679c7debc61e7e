// The parts of `warpmark eval`, each in a file of its own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "accuracy/scoring/examples.h"
#include "accuracy/scoring/scores.h"
#include "base/json.h"
#include "base/options.h"
#include "base/result.h"
#include "evaluate/models/model.h"
#include "evaluate/runner.h"
#include "warpmark/command.h"
#include "warpmark/eval/eval_inputs.h"
#include "warpmark/terminal/progress.h"

namespace warpmark::apps {

[[nodiscard]] Result<int> eval_score(Context& context, const ParsedOptions& options, const EvalRequest& request);
[[nodiscard]] Result<int> eval_compare(Context& context, const ParsedOptions& options, const EvalRequest& request);
[[nodiscard]] Result<int> eval_pareto(Context& context, const ParsedOptions& options, const EvalRequest& request);
[[nodiscard]] Result<int> eval_run(Context& context, const ParsedOptions& options, const EvalRequest& request);
void show_run_progress(StepBar& bar, const evaluate::RunnerProgress& progress);
/// Of a request that names a server for it: embeddings of references and answers, whose files stand in `folders`, by
/// system.
[[nodiscard]] Status eval_embeddings(Context& context, const EvalRequest& request,
                                     const std::vector<std::filesystem::path>& folders, accuracy::Examples& examples);
/// The metrics and official tasks.
[[nodiscard]] Result<int> eval_list(Context& context, const ParsedOptions& options);

void print_scores(Context& context, const std::vector<accuracy::Score>& scores, const accuracy::Examples& examples);

/// As text or as "warpmark.scores/1", there with the fields of `beside`.
void print_scores_as(Context& context, const std::string& format, const std::vector<accuracy::Score>& scores,
                     const accuracy::Examples& examples, const Json& auxiliary);

/// Into --json, and where it is to be stored into the store as a session of Runs.
[[nodiscard]] Status keep_scores(Context& context, const ParsedOptions& options, const EvalRequest& request,
                                 const std::vector<accuracy::Score>& scores, const Json& auxiliary);

}  // namespace warpmark::apps
