// What the parts of `warpmark eval` read: settings of metrics, references and answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "accuracy/scoring/metric_set.h"
#include "accuracy/scoring/scores.h"
#include "base/result.h"
#include "evaluate/runner.h"
#include "warpmark/command.h"

namespace warpmark::apps {

struct EvalRequest {
  std::vector<std::string> references, predictions;
  std::string reference_format = "auto";
  accuracy::FieldNames fields;
  accuracy::ScoreSettings settings;
  accuracy::ScoreOptions scores;
  std::string metrics;
  std::optional<double> margin, equivalence;
  std::string again;
  double warn_drop = 0.01;
  std::int64_t flips = 5;
  std::string endpoint, command, key_variable, embeddings, embedding_model;
  evaluate::RunnerOptions runner;
  std::int64_t limit = 0;
  std::string run_folder;
  std::string speed_unit, plot;
  std::string format = "text";
  bool stores = true;
};

/// "normalized,no-punct,asian,case".
[[nodiscard]] Result<accuracy::TercomOptions> parse_ter(const std::string& text);
/// 1 - alpha.
[[nodiscard]] Result<double> parse_confidence(const std::string& alpha);

/// As accuracy::metric_set, with the WordNet of the environment.
[[nodiscard]] Result<accuracy::MetricSet> eval_metrics(const Context& context, const accuracy::ScoreSettings& settings,
                                                       const std::string& names);

struct EvalInputs {
  accuracy::Examples examples;
  std::string sha256;  ///< of the references
};

/// References, and answers of the files. Without references the first file's records hold the references themselves, as
/// `eval run` writes them. With a server that embeds all of them embedded.
[[nodiscard]] Result<EvalInputs> eval_inputs(Context& context, const EvalRequest& request,
                                             const std::vector<std::string>& outputs);

[[nodiscard]] accuracy::ScoreOptions eval_score_options(const EvalRequest& request, const std::string& sha256);

}  // namespace warpmark::apps
