#include "warpmark/load/load_exit.h"

#include <fmt/format.h>

#include <algorithm>

#include "warpmark/load/load.h"
#include "warpmark/load/pages/load_text.h"
#include "warpmark/load/pages/load_verdict.h"

namespace warpmark::apps {

int load_exit_code(Context& context, const serving::LoadReport& report, bool interrupted) {
  if (interrupted) return kInterrupted;
  const auto because = [&](int code, const serving::ScenarioResult& result, const std::string& why) {
    return exit_because(context, code, fmt::format("{}, {}: {}", result.scenario, level_text(result), why));
  };
  const auto first = [&](auto holds) {
    const auto found = std::ranges::find_if(report.scenarios, holds);
    return found == report.scenarios.end() ? nullptr : &*found;
  };
  const auto* result = first([](const auto& load) { return load.completed == 0; });
  if (result != nullptr) return because(kEnvironment, *result, "no request was completed");
  if (report.search && report.search_met) return kSuccess;
  result = first([](const auto& load) { return load.too_many_errors; });
  if (result != nullptr) return because(kGateFailed, *result, "too many requests failed");
  result = first([](const auto& load) { return !load.client.trusted; });
  if (result != nullptr) {
    return because(kEnvironment, *result, "the client was unreliable. " + cause_text(result->client));
  }
  result = first([](const auto& load) { return load.mlperf && !load.mlperf->valid; });
  if (result != nullptr) return because(kGateFailed, *result, "the MLPerf run is INVALID");
  for (const auto& [verdict, code] : {std::pair{"missed", kGateFailed}, {"undecided", kInconclusive}}) {
    if (report.search && code == kInconclusive) return exit_because(context, code, *report.search);
    result = first([&](const auto& load) { return objective_with(load, verdict) != nullptr; });
    if (result == nullptr) continue;
    return because(code, *result, fmt::format("objective {} is {}", objective_with(*result, verdict)->text, verdict));
  }
  return kSuccess;
}

}  // namespace warpmark::apps
