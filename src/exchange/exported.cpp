#include "exchange/exported.h"

#include <fmt/format.h>

#include <set>

namespace warpmark::exchange {

Result<Exported> exported(std::string text, std::size_t written, std::size_t left_out, const std::string& needed) {
  if (written == 0) {
    return usage_error("no run of the session has " + needed + ", which is what this format holds",
                       "the format 'warpmark' holds everything");
  }
  Exported result{std::move(text), {}};
  if (left_out > 0) {
    result.left_out.push_back(fmt::format("{} {} without {}", left_out, left_out == 1 ? "run" : "runs", needed));
  }
  return result;
}

Result<Exported> without_other_metrics(Result<Exported> result, const Session& session,
                                       bool (*holds)(const Metric& metric)) {
  if (!result.ok()) return result;
  std::set<std::string> others;
  for (const Run& run : session.runs) {
    for (const Metric& metric : run.metrics) {
      if (!holds(metric)) others.insert(metric.id);
    }
  }
  std::string names;
  for (const auto& name : others) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) result->left_out.push_back("metrics that the format has no place for: " + names);
  return result;
}

Result<Exported> exported_json(const Json& json, std::size_t written, std::size_t left_out, const std::string& needed) {
  return exported(dump_json(json) + "\n", written, left_out, needed);
}

}  // namespace warpmark::exchange
