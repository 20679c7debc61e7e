// Embeddings of references and answers from a server, for the metrics that compare them: texts, and pictures where an
// answer has a field 'image'. What is embedded once is kept in the journal.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "accuracy/scoring/examples.h"
#include "evaluate/journal.h"
#include "evaluate/runner.h"

namespace warpmark::evaluate {

struct EmbedOptions {
  std::string identity;                        ///< of the model: decides with the text what is known already
  std::vector<std::filesystem::path> folders;  ///< by system: where the pictures that its answers name are
  RunnerOptions runner;
};

/// Fills in `embedding`, or the field 'token_embeddings' where the server embeds each token. Of several references the
/// first is taken. An answer that is empty or could not be embedded has a problem; a reference that could not is an
/// environment error, as nothing can be scored by it. Interrupted: environment error.
[[nodiscard]] Status embed_examples(accuracy::Examples& examples, Journal& journal, const MakeModel& make,
                                    const EmbedOptions& options,
                                    const std::function<void(const RunnerProgress&)>& progress);

}  // namespace warpmark::evaluate
