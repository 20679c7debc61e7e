#include "serving/results/evaluate_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/units.h"
#include "serving/results/request_values.h"
#include "serving/results/verdicts.h"
#include "stats/summary.h"

namespace warpmark::serving {
namespace {

constexpr std::size_t kRateParts = 20;

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

struct Window {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  [[nodiscard]] bool holds(std::int64_t ns) const { return ns >= begin_ns && ns < end_ns; }
  [[nodiscard]] double length_s() const { return seconds(end_ns - begin_ns); }
};

/// A load of a given size is all of it, from the first request due to the last answer; of a load of a given time, what
/// comes after that time is left out.
Window whole_window(const LoadOutcome& outcome) {
  Window window{outcome.began_ns, outcome.everything_sent ? outcome.ended_ns + 1 : outcome.stopped_ns};
  // Where all were sent within the beginning there is no time at which the load was full.
  const std::int64_t wall = outcome.ended_ns - outcome.began_ns;
  if (outcome.stopped_ns - outcome.began_ns < wall / 5) window.end_ns = outcome.ended_ns;
  return window;
}

/// Leaves out the beginning (and, if asked, the end) of the window.
Window steady_window(const LoadOutcome& outcome, const EvaluationOptions& options) {
  Window window = whole_window(outcome);
  const auto length = static_cast<double>(window.end_ns - window.begin_ns);
  if (options.warmup_ratio > 0 || options.cooldown_ratio > 0) {
    window.begin_ns += static_cast<std::int64_t>(options.warmup_ratio * length);
    window.end_ns -= static_cast<std::int64_t>(options.cooldown_ratio * length);
    return window;
  }
  if (!options.find_warmup) return window;
  WarmupSeries series;
  for (const auto& record : outcome.records) {
    if (record.fault != Fault::none) continue;
    series.add(seconds(answer_end_ns(record) - record.sent_ns), record.intended_ns);
  }
  if (const std::int64_t end_ns = series.end_ns(); end_ns > 0 && end_ns < window.end_ns) {
    window.begin_ns = std::max(window.begin_ns, end_ns);
  }
  return window;
}

using Value = std::function<std::optional<double>(const RequestRecord&)>;

std::optional<double> between(std::int64_t from_ns, std::int64_t to_ns) {
  if (from_ns == 0 || to_ns == 0) return std::nullopt;
  return seconds(to_ns - from_ns);
}

struct RequestMetric {
  const char* id;
  const char* unit;
  Better better;
  Value value;
};

std::vector<RequestMetric> request_metrics() {
  using R = const RequestRecord&;
  const auto count = [](std::int64_t n) {
    return n >= 0 ? std::optional<double>(static_cast<double>(n)) : std::nullopt;
  };
  return {
      {"ttft", "s", Better::lower, ttft_of},
      {"ttft_any", "s", Better::lower, [](R r) { return between(r.sent_ns, r.first_token_ns); }},
      {"ttft_from_due", "s", Better::lower, [](R r) { return between(r.intended_ns, r.first_visible_ns); }},
      {"tpot", "s", Better::lower, tpot_of},
      {"e2e", "s", Better::lower, e2e_of},
      {"e2e_from_due", "s", Better::lower, [](R r) { return between(r.intended_ns, answer_end_ns(r)); }},
      {"ttfb", "s", Better::lower, [](R r) { return between(r.sent_ns, r.first_byte_ns); }},
      {"queue_delay", "s", Better::lower, [](R r) { return between(r.intended_ns, r.sent_ns); }},
      {"connect", "s", Better::lower,
       [](R r) { return r.connect_ns > 0 ? std::optional(seconds(r.connect_ns)) : std::nullopt; }},
      {"longest_gap", "s", Better::lower,
       [](R r) { return r.events > 1 ? std::optional(seconds(r.longest_gap_ns)) : std::nullopt; }},
      {"input_tokens", "tokens", Better::neither, [=](R r) { return count(r.prompt_tokens); }},
      {"output_tokens", "tokens",
       Better::neither,  // counted by events where the server says nothing: TokenCheck::source
       [](R r) { return r.events > 0 ? std::optional(output_tokens_of(r)) : std::nullopt; }},
      {"reasoning_tokens", "tokens", Better::neither, [=](R r) { return count(r.reasoning_tokens); }},
      {"cached_tokens", "tokens", Better::neither, [=](R r) { return count(r.cached_tokens); }},
      {"output_speed", "tokens/s", Better::higher,
       [](R r) {
         const auto tpot = tpot_of(r);
         return tpot && *tpot > 0 ? std::optional(1 / *tpot) : std::nullopt;
       }},
  };
}

/// All tokens after the first by all of their time: the mean of single speeds would be ruled by the fastest answers.
void set_mean_speed(const LoadOutcome& outcome, const CountedRequest& counted, ScenarioResult& result) {
  double tokens = 0, time_s = 0;
  for (const auto& record : outcome.records) {
    const auto tpot = counted(record) ? tpot_of(record) : std::nullopt;
    if (!tpot) continue;
    tokens += output_tokens_of(record) - 1;
    time_s += *tpot * (output_tokens_of(record) - 1);
  }
  for (auto& metric : result.metrics) {
    if (metric.id == "output_speed" && time_s > 0) metric.mean = tokens / time_s;
  }
}

bool add_event_gaps(const RequestRecord& record, std::vector<double>& gaps) {
  if (is_buffered(record)) return false;
  gaps.insert(gaps.end(), record.gaps_s.begin(), record.gaps_s.end());
  return true;
}

/// Gaps between tokens; nothing, and false, where events hold several tokens and the server does not say how many each.
bool add_token_gaps(const RequestRecord& record, std::vector<double>& gaps) {
  if (is_buffered(record)) return false;
  if (record.gap_tokens.empty()) {
    if (record.output_tokens >= 0 && record.output_tokens != record.events) return false;
    return add_event_gaps(record, gaps);
  }
  if (std::find(record.gap_tokens.begin(), record.gap_tokens.end(), 0) != record.gap_tokens.end()) return false;
  for (std::size_t i = 0; i < record.gaps_s.size(); ++i) {
    const int tokens = record.gap_tokens[i];
    gaps.insert(gaps.end(), static_cast<std::size_t>(tokens), static_cast<double>(record.gaps_s[i]) / tokens);
  }
  return true;
}

void add_gap_metric(const char* id, const LoadOutcome& outcome, const CountedRequest& counted,
                    bool (*add)(const RequestRecord&, std::vector<double>&), double confidence,
                    ScenarioResult& result) {
  std::size_t count = 0;
  for (const auto& record : outcome.records) count += counted(record) ? record.gaps_s.size() : 0;
  PooledValues gaps;
  gaps.values.reserve(count);  // a vector that grows needs three times its memory for a moment
  std::int64_t untold = 0, by_events = 0;
  for (const auto& record : outcome.records) {
    if (record.gaps_s.empty() || !counted(record)) continue;
    if (!add(record, gaps.values)) {
      ++untold;
      continue;
    }
    gaps.ends.push_back(gaps.values.size());
    by_events += add == add_token_gaps && record.output_tokens < 0 && record.gap_tokens.empty() ? 1 : 0;
  }
  if (gaps.ends.empty()) return;
  result.metrics.push_back(pooled_metric(id, std::move(gaps), confidence));
  std::string& method = result.metrics.back().interval_method;
  if (outcome.gaps_of_one_in > 1) {
    method += fmt::format("; of one in {} requests, drawn at random", outcome.gaps_of_one_in);
  }
  if (untold > 0) method += fmt::format("; {} requests left out", untold);
  if (by_events > 0) method += "; an event counts as one token, as the server reports no counts";
}

/// An amount that came over a time, evenly: in each part of the window what lies in it.
struct Spread {
  std::int64_t from_ns = 0, to_ns = 0;
  double amount = 0;
};

void add_over(std::vector<double>& parts, const Window& window, const Spread& spread) {
  const double part_ns = static_cast<double>(window.end_ns - window.begin_ns) / static_cast<double>(parts.size());
  const auto from = static_cast<double>(spread.from_ns - window.begin_ns),
             to = static_cast<double>(std::max(spread.to_ns, spread.from_ns + 1) - window.begin_ns);
  const auto last = static_cast<double>(parts.size() - 1);
  const double first = std::clamp(std::floor(from / part_ns), 0.0, last),
               end = std::min(std::floor(to / part_ns), last);
  for (double part = first; part <= end; ++part) {
    const double within = std::min(to, (part + 1) * part_ns) - std::max(from, part * part_ns);
    if (within > 0) parts[static_cast<std::size_t>(part)] += spread.amount * within / (to - from);
  }
}

void add_output(std::vector<double>& parts, const Window& window, const RequestRecord& record) {
  if (record.events == 0) return;
  const double tokens = output_tokens_of(record), each = tokens / static_cast<double>(record.events);
  if (record.first_token_ns == 0) return add_over(parts, window, {record.sent_ns, answer_end_ns(record), tokens});
  std::int64_t at = record.first_token_ns;
  add_over(parts, window, {at, at, each});
  if (record.gaps_s.empty()) return add_over(parts, window, {at, record.last_token_ns, tokens - each});
  for (const float gap : record.gaps_s) {
    at = std::min(at + static_cast<std::int64_t>(static_cast<double>(gap) * 1e9), record.last_token_ns);  // floats
    add_over(parts, window, {at, at, each});
  }
}

/// A request counts with the share of its time that lies in the window, as its tokens do: requests/s and tokens/s are
/// of the same work, and a window that cuts through requests makes neither of them smaller. What failed is no work; the
/// tokens of answers that were under way at the end are.
void add_rates(const LoadOutcome& outcome, const Window& window, const EvaluationOptions& options,
               ScenarioResult& result) {
  if (window.end_ns <= window.begin_ns) return;
  std::vector<double> requests(kRateParts), output(kRateParts), input(kRateParts), good(kRateParts);
  bool all_inputs_known = true;
  for (const auto& record : outcome.records) {
    if (record.fault == Fault::censored) add_output(output, window, record);
    if (record.fault != Fault::none) continue;
    add_output(output, window, record);
    const Spread whole{record.sent_ns, answer_end_ns(record), 1};
    add_over(requests, window, whole);
    if (meets(record, options.good_requests())) add_over(good, window, whole);
    all_inputs_known = all_inputs_known && record.prompt_tokens >= 0;
    const std::int64_t read_ns = record.first_token_ns > 0 ? record.first_token_ns : record.first_byte_ns;
    add_over(input, window, {record.sent_ns, read_ns, static_cast<double>(record.prompt_tokens)});
  }
  const double part_s = window.length_s() / kRateParts;
  const auto add = [&](const char* id, const char* unit, std::vector<double> parts) {
    const double rate = std::accumulate(parts.begin(), parts.end(), 0.0) / window.length_s();
    for (double& part : parts) part /= part_s;
    result.metrics.push_back(rate_metric(id, unit, rate, parts, options.confidence));
  };
  std::vector<double> total = output;
  for (std::size_t i = 0; i < kRateParts; ++i) total[i] += input[i];
  add("request_throughput", "requests/s", std::move(requests));
  add("output_throughput", "tokens/s", std::move(output));
  if (all_inputs_known && result.completed > 0) {
    add("input_throughput", "tokens/s", std::move(input));
    add("total_throughput", "tokens/s", std::move(total));
  }
  if (!options.good_requests().empty()) add("goodput", "requests/s", std::move(good));
}

std::string error_class(const RequestRecord& record) {
  const bool with_status = record.fault == Fault::http_status || record.fault == Fault::redirect ||
                           (record.fault == Fault::stream_error && record.status != 200);
  return with_status ? fmt::format("{}_{}", name_of(record.fault), record.status) : name_of(record.fault);
}

void count_requests(const LoadOutcome& outcome, ScenarioResult& result) {
  for (const auto& record : outcome.records) {
    ++result.sent;
    result.retried += record.retried ? 1 : 0;
    result.without_done += record.without_done ? 1 : 0;
    if (record.fault == Fault::none) {
      ++result.completed;
      result.buffered += is_buffered(record) ? 1 : 0;
    } else if (record.fault == Fault::censored) {
      ++result.censored;
      result.oldest_censored_s = std::max(result.oldest_censored_s, seconds(record.ended_ns - record.begun_ns));
    } else {
      ++result.failed;
      ++result.errors[error_class(record)];
      if (result.first_error.empty()) result.first_error = error_class(record) + ": " + record.message;
    }
  }
}

/// What few samples cannot support says how to get more.
void add_needs(const LoadLimits& limits, double confidence, ScenarioResult& result) {
  for (auto& metric : result.metrics) {
    for (auto& percentile : metric.percentiles) {
      const std::int64_t needed = stats::samples_needed(percentile.p, confidence);
      if (metric.n < needed) percentile.reason = needs_more(limits, needed, metric.n);
    }
  }
}

}  // namespace

ScenarioResult evaluate_load(LoadOutcome outcome, const LoadPlan& plan, const EvaluationOptions& options) {
  ScenarioResult result;
  result.wall_s = seconds(outcome.ended_ns - outcome.began_ns);
  result.never_sent = outcome.never_sent;
  result.stopped_because = outcome.stopped_because;
  result.interrupted = outcome.interrupted || !outcome.problem.empty();
  result.problem = outcome.problem;
  result.too_many_errors = outcome.too_many_errors;
  result.began_ns = outcome.began_ns;
  count_requests(outcome, result);
  const Window window = steady_window(outcome, options);
  result.window_s = window.length_s();
  result.window_begin_s = seconds(window.begin_ns - outcome.began_ns);
  result.whole_load = window.begin_ns == outcome.began_ns && window.end_ns > outcome.ended_ns;
  const auto counted = [&](const RequestRecord& record) {
    return record.fault == Fault::none && window.holds(record.intended_ns);
  };
  for (const auto& record : outcome.records) result.warmup += record.fault == Fault::none && !counted(record) ? 1 : 0;
  for (const auto& metric : request_metrics()) {
    std::vector<double> samples;  // of one metric at a time: of a long load there are millions
    samples.reserve(outcome.records.size());
    for (const auto& record : outcome.records) {
      if (!counted(record)) continue;
      if (const auto value = metric.value(record)) samples.push_back(*value);
    }
    if (samples.empty()) continue;
    result.metrics.push_back(
        request_metric(metric.id, metric.unit, metric.better, std::move(samples), options.confidence));
  }
  set_mean_speed(outcome, counted, result);
  add_gap_metric("chunk_gap", outcome, counted, add_event_gaps, options.confidence, result);
  add_gap_metric("itl", outcome, counted, add_token_gaps, options.confidence, result);
  add_rates(outcome, window, options, result);
  result.tokens = check_tokens(outcome.records, counted, plan);
  if (result.tokens.own) {
    result.tokens.own->tokens = plan.tokenizing.tokens + outcome.tokenizing.tokens;
    result.tokens.own->seconds = plan.tokenizing.seconds + outcome.tokenizing.seconds;
  }
  result.prompts = check_prompts(outcome.records, counted, plan);
  const LoadLimits limits{plan.duration_s, plan.most_requests, result.wall_s, outcome.everything_sent};
  add_needs(limits, options.confidence, result);
  result.client = judge_client(outcome, result, options.slo);
  result.slo = judge_slo(options.slo, result, limits);
  result.records = std::move(outcome.records);
  return result;
}

}  // namespace warpmark::serving
