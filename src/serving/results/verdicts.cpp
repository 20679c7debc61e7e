#include "serving/results/verdicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>

#include "base/quantity.h"
#include "serving/results/own_tokens.h"

namespace warpmark::serving {
namespace {

constexpr double kMostLag_s = 1e-3;
constexpr double kMostLagShare = 0.05;
constexpr double kMostTokenShare = 0.02;

double lag_seconds(double ns) { return ns * 1e-9; }

double median_of(const ScenarioResult& result, const char* id) {
  const LoadMetric* metric = metric_of(result, id);
  const Percentile* median = metric == nullptr ? nullptr : percentile_of(*metric, 0.5);
  return median != nullptr && median->value ? *median->value : 0;
}

void judge_lag(ClientReport& client, const char* what, double p99_s, double metric_s, const char* metric) {
  if (p99_s > kMostLag_s) {
    client.reasons.push_back(
        fmt::format("{} lag: p99 {}, more than {}", what, format_seconds(p99_s), format_seconds(kMostLag_s)));
  } else if (metric_s > 0 && p99_s > kMostLagShare * metric_s) {
    client.reasons.push_back(fmt::format("{} lag: p99 {}, {} of the median {}", what, format_seconds(p99_s),
                                         format_percent(p99_s / metric_s), metric));
  }
}

std::optional<double> value_of(const RequestRecord& record, const std::string& metric) {
  const auto since = [](std::int64_t from, std::int64_t to) {
    return from > 0 && to > 0 ? std::optional(lag_seconds(static_cast<double>(to - from))) : std::nullopt;
  };
  const std::int64_t end = record.last_token_ns > 0 ? record.last_token_ns : record.ended_ns;
  if (metric == "ttft") return since(record.sent_ns, record.first_visible_ns);
  if (metric == "e2e") return since(record.sent_ns, end);
  if (metric == "ttfb") return since(record.sent_ns, record.first_byte_ns);
  if (metric == "queue_delay") return since(record.intended_ns, record.sent_ns);
  if (metric == "itl") return lag_seconds(static_cast<double>(record.longest_gap_ns));
  const auto tokens = static_cast<double>(record.output_tokens >= 0 ? record.output_tokens : record.events);
  if (tokens < 2 || record.events < 2) return std::nullopt;
  return lag_seconds(static_cast<double>(record.last_token_ns - record.first_token_ns)) / (tokens - 1);
}

void compare_tokens(const char* what, double asked, double told, TokenCheck& check) {
  if (!(asked > 0) || std::abs(told - asked) <= kMostTokenShare * asked) return;
  check.disagreements.push_back(fmt::format("{} tokens: {:.4g} asked for, {:.4g} told by the server ({:+.1f} %)", what,
                                            asked, told, 100 * (told - asked) / asked));
}

/// Of the share that `count` of `n` stand for: Clopper and Pearson, Biometrika 26, 1934.
Interval share_interval(std::int64_t count, std::int64_t n) {
  constexpr double kConfidence = 0.95, kTail = (1 - kConfidence) / 2;
  using Binomial = boost::math::binomial_distribution<double>;
  const auto trials = static_cast<double>(n), hits = static_cast<double>(count);
  return {Binomial::find_lower_bound_on_p(trials, hits, kTail), Binomial::find_upper_bound_on_p(trials, hits, kTail),
          kConfidence};
}

}  // namespace

ClientReport judge_client(const LoadOutcome& outcome, const ScenarioResult& result) {
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
  const double ttft_s = median_of(result, "ttft");
  judge_lag(client, "send", client.send_lag_p99_s, ttft_s > 0 ? ttft_s : median_of(result, "e2e"),
            ttft_s > 0 ? "TTFT" : "time from end to end");
  if (client.kernel_times) {
    judge_lag(client, "receive", client.receive_lag_p99_s, 0, "");
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
  double input_asked = 0, input_told = 0, output_asked = 0, output_told = 0, tokens = 0, events = 0;
  double n = 0, inputs = 0, outputs = 0, with_usage = 0, counted_here = 0;
  for (const auto& record : records) {
    if (!counted(record)) continue;
    n += 1;
    const PreparedRequest& request = plan.requests[record.prepared];
    if (record.counted_here) counted_here += 1;
    if (record.output_tokens >= 0) with_usage += 1;
    if (request.input_tokens > 0 && record.prompt_tokens >= 0) {
      inputs += 1;
      input_asked += static_cast<double>(request.input_tokens);
      input_told += static_cast<double>(record.prompt_tokens);
    }
    if (request.output_tokens > 0 && record.output_tokens >= 0 && !record.counted_here) {
      outputs += 1;
      output_asked += static_cast<double>(request.output_tokens);
      output_told += static_cast<double>(record.output_tokens);
    }
    if (record.output_tokens >= 0 && record.events > 1) {
      tokens += static_cast<double>(record.output_tokens);
      events += static_cast<double>(record.events);
    }
  }
  if (inputs > 0) check.input_asked = input_asked / inputs, check.input_told = input_told / inputs;
  if (outputs > 0) check.output_asked = output_asked / outputs, check.output_told = output_told / outputs;
  if (events > 0) check.tokens_per_event = tokens / events;
  if (n > 0) check.source = with_usage == n ? "usage" : with_usage > 0 ? "mixed" : "events";
  if (counted_here > 0) check.source = counted_here == n ? "tokenizer" : "mixed";
  if (inputs > 0) compare_tokens("input", *check.input_asked, *check.input_told, check);
  if (outputs > 0) compare_tokens("output", *check.output_asked, *check.output_told, check);
  compare_own_tokens(records, counted, plan, check);
  return check;
}

bool meets(const RequestRecord& record, const Slo& slo) {
  return std::all_of(slo.begin(), slo.end(), [&](const SloClause& clause) {
    if (clause.metric == "errors") return true;
    const auto value = value_of(record, clause.metric);
    return !value || *value < clause.limit;
  });
}

namespace {

/// Whether a lower percentile lies above the limit for certain, and so the one that is asked for too: of few requests
/// p99 has no interval, and the median may break its limit all the same.
bool broken_below(const LoadMetric& metric, const SloClause& clause) {
  return std::any_of(metric.percentiles.begin(), metric.percentiles.end(), [&](const Percentile& lower) {
    return lower.p <= clause.p && lower.interval && lower.interval->low >= clause.limit;
  });
}

}  // namespace

std::vector<SloOutcome> judge_slo(const Slo& slo, const ScenarioResult& result) {
  std::vector<SloOutcome> outcomes;
  for (const auto& clause : slo) {
    SloOutcome outcome{.text = clause.text, .verdict = "undecided"};
    if (clause.metric == "errors") {
      const auto ended = static_cast<double>(result.completed + result.failed);
      if (ended > 0) outcome.value = static_cast<double>(result.failed) / ended;
      if (ended > 0) outcome.interval = share_interval(result.failed, result.completed + result.failed);
    } else if (const LoadMetric* metric = metric_of(result, clause.metric)) {
      const Percentile* percentile = clause.p < 0 ? nullptr : percentile_of(*metric, clause.p);
      if (clause.p < 0) outcome.value = metric->mean;
      if (percentile != nullptr) outcome.value = percentile->value, outcome.interval = percentile->interval;
    }
    if (outcome.value && !outcome.interval) outcome.verdict = *outcome.value < clause.limit ? "met" : "missed";
    if (outcome.interval && outcome.interval->high < clause.limit) outcome.verdict = "met";
    if (outcome.interval && outcome.interval->low >= clause.limit) outcome.verdict = "missed";
    const LoadMetric* metric = clause.p < 0 ? nullptr : metric_of(result, clause.metric);
    if (metric != nullptr && broken_below(*metric, clause)) outcome.verdict = "missed";
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace warpmark::serving
