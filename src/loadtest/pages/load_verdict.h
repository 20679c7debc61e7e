// What a load test says: the number that was asked for, whether the client was reliable, why, and what to run next.
// Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/report.h"
#include "serving/results/level_search.h"
#include "serving/results/load_result.h"

namespace warpmark::loadtest {

/// Of one load: "met" without objectives where anything was answered.
[[nodiscard]] serving::LevelVerdict level_verdict(const serving::ScenarioResult& result);

/// "136.3 requests/s, 2722 output tokens/s, TTFT p95 22.13 ms ±5.2 %".
[[nodiscard]] std::string numbers_text(const serving::ScenarioResult& result);

/// That repeats the load, with these options changed; without options that name files of results, which hold the load
/// that was measured. Empty where the report does not know its options.
[[nodiscard]] std::string command_with(const serving::LoadReport& report,
                                       const std::map<std::string, std::string>& changed = {});

/// How `load run` ends, in words and as its exit code, which are of one cause: the gravest that holds for any load.
struct LoadVerdict {
  int code = 0;
  std::string reason;  ///< of the code: "SLO missed with 8 users: ttft:p95<15ms (20.33 ms)"; empty for 0
  Paragraph headline{"", Tone::good};  ///< begins with the reason
  std::vector<Paragraph> why = {};
  std::string next = {};     ///< what the command is for
  std::string command = {};  ///< which may be pasted
};
[[nodiscard]] LoadVerdict verdict_of(const serving::LoadReport& report);

/// "machine": what kept the client from being in time, a sentence; empty for a reliable one.
[[nodiscard]] std::string cause_text(const serving::ClientReport& client);

}  // namespace warpmark::loadtest
