// What a tokenizer of ours counts, beside what the server says. Words that are tokenized again need not become the
// tokens they came from, and a chat template adds some to each prompt, which is learned from the first requests.
#pragma once

#include "base/result.h"
#include "serving/client/load_plan.h"
#include "serving/results/load_result.h"
#include "serving/results/verdicts.h"
#include "serving/tokens/tokenizer.h"

namespace warpmark::serving {

/// Counts the answers whose words were kept, after the load; where the server tells no count of a prompt or an answer,
/// ours takes its place.
/// Errors as of Tokenizer::encode and of RecordSpool.
[[nodiscard]] Status count_answers(const Tokenizer& tokenizer, const LoadPlan& plan, LoadOutcome& outcome);

/// Means of the requests that both have counted, and a sentence for each that differs by more than 2 %. Of prompts
/// those of one question; of answers those whose difference is more than the mark of their end. Pure.
void compare_own_tokens(const RequestRecords& records, const CountedRequest& counted, const LoadPlan& plan,
                        TokenCheck& check);

}  // namespace warpmark::serving
