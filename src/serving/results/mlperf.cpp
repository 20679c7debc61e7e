#include "serving/results/mlperf.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "model/fields/names.h"
#include "serving/results/request_values.h"

namespace warpmark::serving {
namespace {

constexpr double kMlperfConfidence = 0.99;
constexpr MlperfScenario kScenarios[] = {MlperfScenario::single_stream, MlperfScenario::multi_stream,
                                         MlperfScenario::server, MlperfScenario::offline};

double span_s(std::int64_t from_ns, std::int64_t to_ns) { return static_cast<double>(to_ns - from_ns) * 1e-9; }

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

/// P(at most `late` of h + late are late), each being late with 1 - p.
double odds(std::int64_t h, std::int64_t late, double p) {
  return boost::math::ibeta(static_cast<double>(h), static_cast<double>(late + 1), p);
}

/// Latencies of queries from when each was due, sorted. A query of several samples ends with its last; one that failed
/// is as late as can be.
std::vector<double> query_latencies(const ScenarioResult& result) {
  std::vector<double> of_samples, of_queries;
  std::int64_t last_due_ns = -1;
  for (const auto& record : result.records) {  // by when they were due
    if (record.fault == Fault::censored) continue;
    const double latency = record.fault == Fault::none ? span_s(record.intended_ns, record.ended_ns) : HUGE_VAL;
    of_samples.push_back(latency);
    if (record.intended_ns != last_due_ns) of_queries.push_back(0);
    of_queries.back() = std::max(of_queries.back(), latency);
    last_due_ns = record.intended_ns;
  }
  // Samples of one query are due at one moment.
  auto& latencies = of_queries.size() * 2 <= of_samples.size() ? of_queries : of_samples;
  std::sort(latencies.begin(), latencies.end());
  return std::move(latencies);
}

/// As LoadGen takes it: the value at n x p.
std::optional<double> loadgen_percentile(const std::vector<double>& sorted, double p) {
  if (sorted.empty()) return std::nullopt;
  const auto at = static_cast<std::size_t>(p * static_cast<double>(sorted.size()));
  const double value = sorted[std::min(at, sorted.size() - 1)];
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> limited_value(const RequestRecord& record, const std::string& metric) {
  if (record.fault != Fault::none) return HUGE_VAL;
  if (metric == "ttft") return record.first_token_ns > 0 ? span_s(record.intended_ns, record.first_token_ns) : HUGE_VAL;
  if (metric == "e2e") return span_s(record.intended_ns, record.ended_ns);
  if (is_buffered(record)) return HUGE_VAL;  // it hides what is limited
  return tpot_of(record);
}

void judge_server_limit(const SloClause& clause, const ScenarioResult& result, double p, MlperfVerdict& verdict) {
  std::vector<double> values;
  for (const auto& record : result.records) {
    if (record.fault == Fault::censored) continue;
    if (const auto value = limited_value(record, clause.metric)) values.push_back(*value);
  }
  std::sort(values.begin(), values.end());
  const auto n = static_cast<std::int64_t>(values.size());
  const auto late =
      static_cast<std::int64_t>(values.end() - std::upper_bound(values.begin(), values.end(), clause.limit));
  const auto at = loadgen_percentile(values, p);
  verdict.checks.push_back({"performance constraint " + clause.text, at && *at <= clause.limit,
                            fmt::format("p{:g} is {}", 100 * p, at ? format_seconds(*at) : "not reached")});
  const std::int64_t needed = queries_in_time_needed(late, p);
  const bool enough = n >= needed + late;
  verdict.checks.push_back(
      {"early stopping " + clause.metric, enough,
       enough ? fmt::format("{} of {} queries were late", late, n)
              : fmt::format("{} of {} queries were late: {} more in time are needed", late, n, needed + late - n)});
}

void judge_percentile(const std::vector<double>& latencies, double p, MlperfVerdict& verdict) {
  const auto n = static_cast<std::int64_t>(latencies.size());
  const auto discarded = discarded_latencies(n, p);
  if (!discarded) {
    verdict.checks.push_back(
        {"early stopping", false,
         fmt::format("{} queries were processed: {} are needed", n, queries_in_time_needed(1, p) + 1)});
    return;
  }
  const double estimate = latencies[static_cast<std::size_t>(n - *discarded - 1)];
  if (std::isfinite(estimate)) verdict.estimate = estimate;
  verdict.checks.push_back(
      {"early stopping", std::isfinite(estimate), fmt::format("{} highest of {} latencies discarded", *discarded, n)});
}

}  // namespace

constexpr auto kMlperfScenarioNames =
    in_order(MlperfScenario::offline, "SingleStream", "MultiStream", "Server", "Offline");
const char* name_of(MlperfScenario scenario) {
  return name_in(kMlperfScenarioNames, static_cast<std::int64_t>(scenario));
}

Result<MlperfRules> mlperf_rules(std::string_view name) {
  for (const auto scenario : kScenarios) {
    if (!same_word(name, name_of(scenario))) continue;
    MlperfRules rules{.scenario = scenario, .percentile = 0.99};
    if (scenario == MlperfScenario::single_stream) rules.percentile = 0.9, rules.least_queries = 64;
    if (scenario == MlperfScenario::multi_stream) rules.samples_per_query = 8, rules.least_queries = 662;
    if (scenario == MlperfScenario::server) rules.least_queries = 100;
    if (scenario == MlperfScenario::offline) rules.least_queries = 24'576;
    return rules;
  }
  return usage_error(fmt::format("'{}' is no scenario of LoadGen", name), "SingleStream, MultiStream, Server, Offline");
}

std::int64_t queries_in_time_needed(std::int64_t late, double p, double confidence) {
  std::int64_t low = 1, high = 1;
  while (!(odds(high, late, p) < 1 - confidence)) high *= 2;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (odds(middle, late, p) < 1 - confidence) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

std::optional<std::int64_t> discarded_latencies(std::int64_t n, double p, double confidence) {
  if (n < queries_in_time_needed(1, p, confidence) + 1) return std::nullopt;
  // The largest t with n >= h(t) + t, which grows with t; the t-th highest latency bounds the percentile.
  std::int64_t low = 1, high = n;
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (n >= queries_in_time_needed(middle, p, confidence) + middle) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low - 1;
}

MlperfVerdict judge_mlperf(const MlperfRules& rules, const ScenarioResult& result, const Slo& slo) {
  MlperfVerdict verdict{.scenario = name_of(rules.scenario)};
  const auto latencies = query_latencies(result);
  const bool queries_of_many = rules.scenario == MlperfScenario::multi_stream;
  verdict.queries = rules.scenario == MlperfScenario::offline || !queries_of_many
                        ? result.completed + result.failed
                        : static_cast<std::int64_t>(latencies.size());
  std::int64_t last_due = result.began_ns, last_end = result.began_ns;
  for (const auto& record : result.records) {
    last_due = std::max(last_due, record.intended_ns);
    if (record.fault == Fault::none) last_end = std::max(last_end, record.ended_ns);
  }
  const bool offline = rules.scenario == MlperfScenario::offline;
  verdict.duration_s = span_s(result.began_ns, offline ? last_end : last_due);
  verdict.checks.push_back(
      {"minimum duration", verdict.duration_s >= rules.least_duration_s,
       fmt::format("{} of {}{}", format_seconds(verdict.duration_s), format_seconds(rules.least_duration_s),
                   offline && verdict.duration_s < rules.least_duration_s
                       ? "; more samples take longer: --max-requests-per-run N"
                       : "")});
  verdict.checks.push_back({"minimum queries", verdict.queries >= rules.least_queries,
                            fmt::format("{} of {}", verdict.queries, rules.least_queries)});
  if (result.failed > 0) {
    verdict.checks.push_back({"every query answered", false, fmt::format("{} failed", result.failed)});
  }
  if (offline || rules.scenario == MlperfScenario::server) {
    verdict.metric = offline ? "samples per second" : "scheduled queries per second";
    verdict.unit = offline ? "samples/s" : "queries/s";
    const auto n = static_cast<double>(verdict.queries);
    if (verdict.duration_s > 0) verdict.value = (offline ? n : n - 1) / verdict.duration_s;
  } else {
    verdict.metric = fmt::format("{:g}th percentile latency", 100 * rules.percentile);
    verdict.unit = "s";
    verdict.value = loadgen_percentile(latencies, rules.percentile);
    judge_percentile(latencies, rules.percentile, verdict);
  }
  if (rules.scenario == MlperfScenario::server) {
    for (const auto& clause : slo) {
      if (clause.metric != "errors") judge_server_limit(clause, result, rules.percentile, verdict);
    }
  }
  if (!result.client.trusted) {
    verdict.checks.push_back({"client in time", false, "the client was unreliable: its lateness is in these numbers"});
  }
  verdict.valid =
      std::all_of(verdict.checks.begin(), verdict.checks.end(), [](const auto& check) { return check.met; });
  return verdict;
}

}  // namespace warpmark::serving
