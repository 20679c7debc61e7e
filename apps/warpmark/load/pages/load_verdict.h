// What a load test says: the number that was asked for, whether the client was reliable, why, and what to run next.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "model/report.h"
#include "serving/results/level_search.h"
#include "serving/results/load_result.h"

namespace warpmark::apps {

/// Of one load: "met" without objectives where anything was answered.
[[nodiscard]] serving::LevelVerdict level_verdict(const serving::ScenarioResult& result);

/// "136.3 requests/s, 2722 output tokens/s, TTFT p95 22.13 ms ±5.2 %".
[[nodiscard]] std::string numbers_text(const serving::ScenarioResult& result);

struct LoadVerdict {
  Paragraph headline;
  std::vector<Paragraph> why;
  std::string next;     ///< what the command is for
  std::string command;  ///< which may be pasted
};
[[nodiscard]] LoadVerdict verdict_of(const serving::LoadReport& report);

/// "machine": what kept the client from being in time, a sentence; empty for a reliable one.
[[nodiscard]] std::string cause_text(const serving::ClientReport& client);

}  // namespace warpmark::apps
