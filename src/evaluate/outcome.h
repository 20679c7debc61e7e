// From the replies of a run to examples that can be scored, records that can be compared later, and what it took: time,
// tokens, money.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "accuracy/scoring/examples.h"
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

}  // namespace warpmark::evaluate
