#include "serving/results/verdicts.h"

#include <fmt/format.h>
#include <boost/math/distributions/binomial.hpp>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "serving/results/own_tokens.h"
#include "serving/results/request_values.h"
#include "stats/summary.h"

namespace warpmark::serving {
namespace {

constexpr double kMostLag_s = 1e-3;
constexpr double kMostLagShare = 0.05;
constexpr double kMostTokenShare = 0.02;
constexpr double kConfidence = 0.95;

double lag_seconds(double ns) { return ns * 1e-9; }

double median_of(const ScenarioResult& result, const char* id) {
  const LoadMetric* metric = metric_of(result, id);
  const Percentile* median = metric == nullptr ? nullptr : percentile_of(*metric, 0.5);
  return median != nullptr && median->value ? *median->value : 0;
}

double smallest_limit(const Slo& slo) {
  double least = 0;
  for (const auto& clause : slo) {
    if (clause.metric != "errors" && (least == 0 || clause.limit < least)) least = clause.limit;
  }
  return least;
}

/// Of p99 of the lags: a share of the smallest latency that the result is about.
double lag_limit(const ScenarioResult& result, const Slo& slo) {
  if (const double objective_s = smallest_limit(slo); objective_s > 0) {
    return std::max(kMostLag_s, kMostLagShare * objective_s);
  }
  const double ttft_s = median_of(result, "ttft"), latency_s = ttft_s > 0 ? ttft_s : median_of(result, "e2e");
  return latency_s > 0 ? std::min(kMostLag_s, kMostLagShare * latency_s) : kMostLag_s;
}

void compare_tokens(const char* what, double asked, double reported, TokenCheck& check) {
  if (!(asked > 0) || std::abs(reported - asked) <= kMostTokenShare * asked) return;
  check.disagreements.push_back(fmt::format("{} tokens: {:.4g} asked for, {:.4g} reported by the server ({:+.1f} %)",
                                            what, asked, reported, 100 * (reported - asked) / asked));
}

/// Of the share that `count` of `n` stand for: Clopper and Pearson, Biometrika 26, 1934.
Interval share_interval(std::int64_t count, std::int64_t n) {
  constexpr double kTail = (1 - kConfidence) / 2;
  using Binomial = boost::math::binomial_distribution<double>;
  const auto trials = static_cast<double>(n), hits = static_cast<double>(count);
  return {Binomial::find_lower_bound_on_p(trials, hits, kTail), Binomial::find_upper_bound_on_p(trials, hits, kTail),
          kConfidence};
}

/// Rounded up to what a person would write.
std::string round_time(double seconds) {
  if (seconds <= 60) return fmt::format("{:g}s", std::ceil(seconds / 5) * 5);
  const double minutes = seconds / 60;
  return fmt::format("{:g}m", minutes <= 10 ? std::ceil(minutes) : std::ceil(minutes / 5) * 5);
}

/// Whether a lower percentile lies above the limit for certain, and so the one that is asked for too: of few requests
/// p99 has no interval, and the median may break its limit all the same.
bool broken_below(const LoadMetric& metric, const SloClause& clause) {
  return std::any_of(metric.percentiles.begin(), metric.percentiles.end(), [&](const Percentile& lower) {
    return lower.p <= clause.p && lower.interval && lower.interval->low >= clause.limit;
  });
}

std::string why_undefined(const SloClause& clause, const ScenarioResult& result) {
  if (result.completed == 0) return "no request was answered";
  const bool between_tokens = clause.metric == "tpot" || clause.metric == "itl";
  if (between_tokens && result.buffered > 0) return "answers were buffered by the server or a proxy";
  if (metric_of(result, "ttft_any") == nullptr) return "answers were not streamed: leave out --no-stream";
  if (clause.metric == "ttft") return "answers hold nothing but reasoning";
  return between_tokens ? "answers have one token each" : "it was not measured";
}

/// An interval on both sides of the limit gets narrower with the root of the requests. 0 for one too close to it.
double times_to_narrow(const SloClause& clause, const SloOutcome& outcome) {
  constexpr double kMostTimes = 100, kSpare = 1.2;
  const double value = *outcome.value, distance = std::abs(clause.limit - value);
  const double half = value < clause.limit ? outcome.interval->high - value : value - outcome.interval->low;
  const double times = distance > 0 ? kSpare * (half / distance) * (half / distance) : kMostTimes;
  return times >= kMostTimes ? 0 : std::max(times, 2.0);
}

std::string why_open(const SloClause& clause, const SloOutcome& outcome, const LoadLimits& limits) {
  const std::string text = "its interval holds the limit";
  const double times = times_to_narrow(clause, outcome);
  if (times == 0) return text + ", which it is too close to";
  const std::string option = option_for_more(limits, times);
  return option.empty() ? text : text + ": " + option;
}

bool never_failed(const SloClause& clause, const SloOutcome& outcome, const ScenarioResult& result) {
  return clause.metric == "errors" && result.failed == 0 && outcome.interval;
}

/// Without a failure.
std::int64_t requests_for(const SloClause& clause) {
  return static_cast<std::int64_t>(std::ceil(std::log(0.025) / std::log1p(-clause.limit)));
}

/// How many times the requests decide an objective; 0 where more of them do not.
double times_to_decide(const SloClause& clause, const SloOutcome& outcome, const ScenarioResult& result) {
  const auto times = [](std::int64_t needed, std::int64_t have) {
    return have > 0 && needed > have ? static_cast<double>(needed) / static_cast<double>(have) : 0;
  };
  if (never_failed(clause, outcome, result)) return times(requests_for(clause), result.completed);
  if (outcome.interval) return times_to_narrow(clause, outcome);
  const LoadMetric* metric = clause.p > 0 ? metric_of(result, clause.metric) : nullptr;
  return metric == nullptr ? 0 : times(stats::samples_needed(clause.p, kConfidence), metric->n);
}

std::string why_undecided(const SloClause& clause, const SloOutcome& outcome, const ScenarioResult& result,
                          const LoadLimits& limits) {
  if (never_failed(clause, outcome, result)) return needs_more(limits, requests_for(clause), result.completed);
  if (outcome.interval) return why_open(clause, outcome, limits);
  const LoadMetric* metric = metric_of(result, clause.metric);
  if (metric == nullptr) return why_undefined(clause, result);
  const Percentile* percentile = percentile_of(*metric, clause.p);
  if (percentile == nullptr) return "this percentile is not computed: p25, p50, p75, p90, p95, p99, p99.9 are";
  return percentile->reason;
}

void take_value(const SloClause& clause, const ScenarioResult& result, SloOutcome& outcome) {
  if (clause.metric == "errors") {
    const std::int64_t ended = result.completed + result.failed;
    if (ended == 0) return;
    outcome.value = static_cast<double>(result.failed) / static_cast<double>(ended);
    outcome.interval = share_interval(result.failed, ended);
    return;
  }
  const LoadMetric* metric = metric_of(result, clause.metric);
  if (metric == nullptr) return;
  const Percentile* percentile = clause.p < 0 ? nullptr : percentile_of(*metric, clause.p);
  if (clause.p < 0) outcome.value = metric->mean;
  if (percentile != nullptr) outcome.value = percentile->value, outcome.interval = percentile->interval;
}

}  // namespace

ClientReport judge_client(const LoadOutcome& outcome, const ScenarioResult& result, const Slo& slo) {
  ClientReport client;
  client.send_lag_p50_s = lag_seconds(outcome.send_lag.quantile_ns(0.5));
  client.send_lag_p99_s = lag_seconds(outcome.send_lag.quantile_ns(0.99));
  client.send_lag_max_s = lag_seconds(static_cast<double>(outcome.send_lag.most_ns()));
  client.receive_lag_p50_s = lag_seconds(outcome.receive_lag.quantile_ns(0.5));
  client.receive_lag_p99_s = lag_seconds(outcome.receive_lag.quantile_ns(0.99));
  client.receive_lag_max_s = lag_seconds(static_cast<double>(outcome.receive_lag.most_ns()));
  client.kernel_times = outcome.kernel_times && outcome.receive_lag.n() > 0;
  client.busy_share = outcome.busy_share;
  client.cpu_s = outcome.cpu_s;
  client.lag_limit_s = lag_limit(result, slo);
  const auto judge = [&](const char* what, double p99_s) {
    if (p99_s <= client.lag_limit_s) return;
    client.reasons.push_back(
        fmt::format("p99 lag of {} {}, limit {}", what, format_seconds(p99_s), format_seconds(client.lag_limit_s)));
  };
  judge("sending", client.send_lag_p99_s);
  if (client.kernel_times) {
    judge("receiving", client.receive_lag_p99_s);
  } else if (outcome.busy_share > 0.9) {
    client.reasons.push_back(fmt::format("no receive times from the kernel, and the client was busy {} of the time",
                                         format_percent(outcome.busy_share)));
  }
  client.shares = outcome.shares;
  client.trusted = client.reasons.empty();
  return client;
}

TokenCheck check_tokens(const RequestRecords& records, const CountedRequest& counted, const LoadPlan& plan) {
  TokenCheck check{.source = "none"};
  double input_asked = 0, input_reported = 0, output_asked = 0, output_reported = 0, tokens = 0, events = 0;
  double n = 0, inputs = 0, outputs = 0, with_usage = 0, counted_here = 0;
  for (const auto& record : records) {
    if (!counted(record)) continue;
    n += 1;
    const PreparedRequest& request = plan.requests[record.prepared];
    if (record.counted_here) counted_here += 1;
    if (record.output_tokens >= 0) with_usage += 1;
    // A template adds to each part of a conversation; the first question alone has the size that was asked for.
    const bool sized = request.input_tokens > 0 && record.turn == 0;
    if (sized && record.prompt_tokens >= 0 && !record.prompt_counted_here) {
      inputs += 1;
      input_asked += static_cast<double>(request.input_tokens);
      input_reported += static_cast<double>(record.prompt_tokens);
    }
    if (request.output_tokens > 0 && record.output_tokens >= 0 && !record.counted_here) {
      outputs += 1;
      output_asked += static_cast<double>(request.output_tokens);
      output_reported += static_cast<double>(record.output_tokens);
    }
    if (record.output_tokens >= 0 && record.events > 1) {
      tokens += static_cast<double>(record.output_tokens);
      events += static_cast<double>(record.events);
    }
  }
  if (inputs > 0) check.input_asked = input_asked / inputs, check.input_reported = input_reported / inputs;
  if (outputs > 0) check.output_asked = output_asked / outputs, check.output_reported = output_reported / outputs;
  if (events > 0) check.tokens_per_event = tokens / events;
  if (n > 0) check.source = with_usage == n ? "usage" : with_usage > 0 ? "mixed" : "events";
  if (counted_here > 0) check.source = counted_here == n ? "tokenizer" : "mixed";
  if (inputs > 0) compare_tokens("input", *check.input_asked, *check.input_reported, check);
  if (outputs > 0) compare_tokens("output", *check.output_asked, *check.output_reported, check);
  compare_own_tokens(records, counted, plan, check);
  return check;
}

PromptCheck check_prompts(const RequestRecords& records, const CountedRequest& counted, const LoadPlan& plan) {
  constexpr double kMostCachedShare = 0.02;
  PromptCheck check{.kind = plan.prompts, .seed = plan.seed};
  double cached = 0, tokens = 0, n = 0;
  for (const auto& record : records) {
    if (!counted(record) || record.turn > 0 || record.cached_tokens < 0 || record.prompt_tokens <= 0) continue;
    cached += static_cast<double>(record.cached_tokens);
    tokens += static_cast<double>(record.prompt_tokens);
    n += 1;
  }
  if (n == 0) return check;
  check.cached = cached / tokens;
  const double shared = plan.shared_tokens * n;
  if ((check.kind == "unique" || check.kind == "conversation") && cached > shared + kMostCachedShare * tokens) {
    check.warning = fmt::format(
        "prompts were sent to be unique, but the server had {} of their tokens in its prefix cache: TTFT is shorter "
        "than "
        "without it",
        format_percent(*check.cached));
  }
  return check;
}

bool meets(const RequestRecord& record, const Slo& slo) {
  return std::all_of(slo.begin(), slo.end(), [&](const SloClause& clause) {
    if (clause.metric == "errors") return true;
    const auto value = value_of_request(record, clause.metric);
    const bool hidden = is_buffered(record) && (clause.metric == "tpot" || clause.metric == "itl");
    return value ? *value < clause.limit : !hidden;
  });
}

std::vector<SloOutcome> judge_slo(const Slo& slo, const ScenarioResult& result, const LoadLimits& limits) {
  std::vector<SloOutcome> outcomes;
  for (const auto& clause : slo) {
    SloOutcome outcome{.text = clause.text, .verdict = "undecided"};
    take_value(clause, result, outcome);
    const bool mean = clause.p < 0 && outcome.value && !outcome.interval;
    if (mean) outcome.verdict = *outcome.value < clause.limit ? "met" : "missed";
    if (outcome.interval && outcome.interval->high < clause.limit) outcome.verdict = "met";
    if (outcome.interval && outcome.interval->low >= clause.limit) outcome.verdict = "missed";
    const LoadMetric* metric = clause.p < 0 ? nullptr : metric_of(result, clause.metric);
    if (metric != nullptr && broken_below(*metric, clause)) outcome.verdict = "missed";
    const bool hidden = result.buffered > 0 && (clause.metric == "tpot" || clause.metric == "itl");
    if (hidden && outcome.verdict == "met") {
      outcome.verdict = "undecided";
      outcome.reason =
          fmt::format("{} of {} answers were buffered by the server or a proxy", result.buffered, result.completed);
    } else if (outcome.verdict == "undecided") {
      outcome.reason = why_undecided(clause, outcome, result, limits);
      const double times = times_to_decide(clause, outcome, result);
      if (times > 0) outcome.option = option_for_more(limits, times);
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

std::string option_for_more(const LoadLimits& limits, double times) {
  if (limits.most_requests > 0 && (limits.everything_sent || limits.duration_s <= 0)) {
    return fmt::format("--max-requests-per-run {:g}", std::ceil(times * static_cast<double>(limits.most_requests)));
  }
  const double seconds = limits.duration_s > 0 ? limits.duration_s : limits.wall_s;
  return seconds > 0 ? "--max-time-per-run " + round_time(times * seconds) : "";
}

std::string needs_more(const LoadLimits& limits, std::int64_t needed, std::int64_t have) {
  std::string text = fmt::format("needs {} requests, have {}", needed, have);
  if (have == 0) return text;
  const std::string option = option_for_more(limits, static_cast<double>(needed) / static_cast<double>(have));
  return option.empty() ? text : text + ": " + option;
}

}  // namespace warpmark::serving
