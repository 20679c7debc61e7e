// What the parts of `warpmark eval` read: settings of metrics, references and answers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "accuracy/scoring/scores.h"
#include "accuracy/text/meteor.h"
#include "base/options.h"
#include "base/result.h"
#include "warpmark/command.h"

namespace warpmark::apps {

/// Metrics by the names on the command line, with what they need to live.
struct EvalMetrics {
  std::vector<accuracy::NamedMetric> metrics;
  std::unique_ptr<accuracy::WordNet> wordnet;
};

/// "bleu,chrf" with the options of metrics. Usage error for unknown names and impossible settings.
[[nodiscard]] Result<EvalMetrics> eval_metrics(const Context& context, const ParsedOptions& options,
                                               const std::string& names);

[[nodiscard]] accuracy::FieldNames eval_fields(const ParsedOptions& options);

struct EvalInputs {
  accuracy::Examples examples;
  std::string sha256;  ///< of the references
};

/// References of --ref, answers of the files. Without --ref the first file's records hold the references themselves, as
/// `eval run` writes them. With --embeddings all of them embedded.
[[nodiscard]] Result<EvalInputs> eval_inputs(Context& context, const ParsedOptions& options,
                                             const std::vector<std::string>& outputs);

[[nodiscard]] Result<accuracy::ScoreOptions> eval_score_options(const ParsedOptions& options,
                                                                const std::string& sha256);

}  // namespace warpmark::apps
