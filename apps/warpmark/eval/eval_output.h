// Scores as people see them, in files, and in the store.
#pragma once

#include <string>
#include <vector>

#include "accuracy/scoring/scores.h"
#include "base/json.h"
#include "base/options.h"
#include "base/result.h"
#include "warpmark/command.h"

namespace warpmark::apps {

void print_scores(Context& context, const std::vector<accuracy::Score>& scores, const accuracy::Examples& examples);

/// As text or as "warpmark.scores/1", there with the fields of `beside`.
void print_scores_as(Context& context, const std::string& format, const std::vector<accuracy::Score>& scores,
                     const accuracy::Examples& examples, const Json& beside);

/// Into --json, and unless --no-store into the store as a session of Runs.
[[nodiscard]] Status keep_scores(Context& context, const ParsedOptions& options,
                                 const std::vector<accuracy::Score>& scores, const Json& beside);

}  // namespace warpmark::apps
