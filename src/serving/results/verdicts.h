// Judgements on a load: whether the client kept up, whether token counts agree, whether an objective is met. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "serving/client/load_plan.h"
#include "serving/results/load_result.h"
#include "serving/results/slo.h"

namespace warpmark::serving {

struct LoadLimits {
  double duration_s = 0;           ///< of --max-time-per-run; 0 without
  std::int64_t most_requests = 0;  ///< of --max-requests-per-run; 0 without
  double wall_s = 0;               ///< that the load took
  bool everything_sent = false;    ///< it ended as all requests were sent, not by its time
};

/// "--max-time-per-run 5m" or "--max-requests-per-run 320" for so many times the requests; empty where the load was
/// bounded by neither.
[[nodiscard]] std::string option_for_more(const LoadLimits& limits, double times);

/// "needs 299 requests, have 60: --max-time-per-run 5m".
[[nodiscard]] std::string needs_more(const LoadLimits& limits, std::int64_t needed, std::int64_t have);

/// Whether a request is among those that the numbers of a load are of.
using CountedRequest = std::function<bool(const RequestRecord&)>;

/// Unreliable where p99 of sending late or of reading late is above one limit: 5 % of the smallest objective, but at
/// least 1 ms; without objectives 5 % of the median TTFT (end to end where nothing streams), but at most 1 ms.
[[nodiscard]] ClientReport judge_client(const LoadOutcome& outcome, const ScenarioResult& result, const Slo& slo = {});

/// Tokens as asked for beside tokens as told by the server, of the counted requests; more than 2 % apart is a
/// disagreement.
[[nodiscard]] TokenCheck check_tokens(const RequestRecords& records, const CountedRequest& counted,
                                      const LoadPlan& plan);

/// Whether one finished request is within all limits. What is undefined for it (the TPOT of one token) is met; what a
/// buffered answer hides is not.
[[nodiscard]] bool meets(const RequestRecord& record, const Slo& slo);

/// Undecided ones say why, and which option decides them.
[[nodiscard]] std::vector<SloOutcome> judge_slo(const Slo& slo, const ScenarioResult& result,
                                                const LoadLimits& limits = {});

/// How much of the prompts the server had cached, as it says, of first questions; a warning where that is more than
/// prompts that are all different have in common.
[[nodiscard]] PromptCheck check_prompts(const RequestRecords& records, const CountedRequest& counted,
                                        const LoadPlan& plan);

}  // namespace warpmark::serving
