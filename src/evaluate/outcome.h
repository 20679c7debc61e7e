// From the replies of a run to examples that can be scored, records that can be compared later, and what it took: time,
// tokens, money.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/scoring/examples.h"
#include "base/result.h"
#include "evaluate/items.h"
#include "evaluate/models/model.h"
#include "evaluate/runner.h"

namespace warpmark::evaluate {

struct Efficiency {
  std::vector<double> latencies_s;  ///< of replies, cached ones as they were when asked
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  std::size_t without_usage = 0;  ///< replies that do not tell their tokens
  double cost = 0;
};

struct TaskOutcome {
  accuracy::Examples examples;       ///< systems: the plain variant, named by the model, then the others
  std::vector<std::string> records;  ///< by system: jsonl with references and answers, as eval compare reads them
  Efficiency efficiency;
};

/// The reply to the request with this hash; nullptr without one.
using FindReply = std::function<const Reply*(const std::string& hash)>;

/// Executes code in the sandbox where the task says so. A reply that is empty or no UTF-8, and an item without one, is
/// an answer with a problem; one that was cut off is scored as it is. Samples of an item: each of them for code, else
/// the most frequent extracted answer.
[[nodiscard]] Result<TaskOutcome> outcome_of(const Task& task, const std::vector<accuracy::Record>& data,
                                             const std::vector<Item>& items, const RunnerResult& result,
                                             const FindReply& find_reply, const std::string& system,
                                             const std::atomic<bool>* interrupted);

/// How likely a model says that a text is: out of the log-probabilities in its reply.
/// The sum over the tokens that hold a character of the text that is weighed, as lm-evaluation-harness sums them; of a
/// command's reply also its "log_likelihood". Data error where the reply does not tell.
[[nodiscard]] Result<double> log_likelihood_of(const Item& item, const Reply& reply);

/// Of A, B, ... as the first token: the mass over its spellings with and without space. A letter that is not among the
/// tokens the server lists gets the log-probability of the least of these, which is more than its own. Data error where
/// no letter is listed.
[[nodiscard]] Result<std::vector<double>> letter_log_likelihoods(const Reply& reply, std::size_t choices);

/// Log-probabilities of the spellings of a word as the first token, whatever their case and the white space around
/// them; empty if none is listed. Data error where the server lists nothing.
[[nodiscard]] Result<std::vector<double>> spelling_logprobs(const Reply& reply, std::string_view lower_case_word);

}  // namespace warpmark::evaluate
