// One load as text: its facts, a line each, and its latencies.
#include "loadtest/pages/load_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "report/draw/format.h"

namespace warpmark::loadtest {
namespace {

using serving::LoadMetric;
using serving::ScenarioResult;

struct Row {
  const char* id;
  const char* name;
};

constexpr Row kLatencies[] = {{"ttft", "TTFT"},
                              {"ttft_any", "TTFT with reasoning"},
                              {"ttft_from_due", "TTFT from due"},
                              {"tpot", "TPOT"},
                              {"itl", "ITL"},
                              {"chunk_gap", "chunk gap"},
                              {"e2e", "end to end"},
                              {"e2e_from_due", "end to end, from due"},
                              {"session", "session"},
                              {"session_server", "session, in the server"},
                              {"queue_delay", "queue delay"},
                              {"connect", "connect"}};
constexpr Row kRates[] = {{"request_throughput", "requests"},
                          {"goodput", "good requests"},
                          {"output_throughput", "output tokens"},
                          {"input_throughput", "input tokens"}};

std::string value_text(double value, const LoadMetric& metric) {
  return metric.unit == "s" ? format_seconds(value) : format_significant(value, 4);
}

/// The same number from sending as from when it was due says nothing new.
bool repeats(const ScenarioResult& result, const LoadMetric& metric) {
  const auto same = [&](const char* id, const char* other) {
    const LoadMetric* twin = serving::metric_of(result, other);
    const auto *mine = serving::percentile_of(metric, 0.5),
               *its = twin == nullptr ? nullptr : serving::percentile_of(*twin, 0.5);
    return metric.id == id && its != nullptr && mine != nullptr && mine->value && its->value &&
           std::abs(*mine->value - *its->value) <= 0.01 * *its->value;
  };
  return same("ttft_any", "ttft") || same("ttft_from_due", "ttft") || same("e2e_from_due", "e2e") ||
         same("chunk_gap", "itl");
}

std::string rates_text(const ScenarioResult& result) {
  std::string text;
  for (const auto& [id, name] : kRates) {
    const LoadMetric* metric = serving::metric_of(result, id);
    if (metric == nullptr || metric->mean == 0) continue;
    text += fmt::format("{}{} {}/s", text.empty() ? "" : ", ", format_significant(metric->mean, 4), name);
    if (metric->mean_interval) {
      const double half = (metric->mean_interval->high - metric->mean) / metric->mean;
      text += fmt::format(" ±{} %", format_significant(100 * half, 2));
    }
  }
  if (text.empty()) return {};
  return text + (result.whole_load
                     ? ", over all of the load"
                     : fmt::format(", over {} of {}", format_seconds(result.window_s), format_seconds(result.wall_s)));
}

std::string p95_text(const LoadMetric& metric) {
  const Percentile* p95 = serving::percentile_of(metric, 0.95);
  return p95 == nullptr || !p95->value ? "-" : value_text(*p95->value, metric);
}

/// Energy, memory and cost, where they are known.
std::string resources_text(const ScenarioResult& result) {
  std::vector<std::string> parts;
  const auto add = [&](const char* id, auto text) {
    if (const LoadMetric* metric = serving::metric_of(result, id)) parts.push_back(text(*metric));
  };
  add("gpu_power", [](const LoadMetric& m) { return fmt::format("{} W", format_significant(m.mean, 3)); });
  add("gpu_utilization", [](const LoadMetric& m) { return "GPU busy " + format_percent(m.mean); });
  add("gpu_memory", [](const LoadMetric& m) { return report::format_bytes(m.max) + " of GPU memory at most"; });
  add("gpu_memory_share", [](const LoadMetric& m) { return format_percent(m.max) + " of the GPUs' memory"; });
  add("engine_memory",
      [](const LoadMetric& m) { return report::format_bytes(m.max) + " of the engine's memory at most"; });
  add("output_throughput_per_gpu",
      [](const LoadMetric& m) { return format_significant(m.mean, 4) + " output tokens/s per GPU"; });
  add("output_throughput_per_user",
      [](const LoadMetric& m) { return format_significant(m.mean, 4) + " output tokens/s per user"; });
  add("tokens_per_joule", [](const LoadMetric& m) { return format_significant(m.mean, 3) + " output tokens/J"; });
  add("requests_waiting", [](const LoadMetric& m) {
    return fmt::format("{} requests waiting (p95 {})", format_significant(m.mean, 3), p95_text(m));
  });
  add("cache_usage", [](const LoadMetric& m) {
    const Percentile* p95 = serving::percentile_of(m, 0.95);
    return "cache " + format_percent(m.mean) + " full (p95 " + format_percent(p95 == nullptr ? m.max : *p95->value) +
           ")";
  });
  add("cost_per_request", [](const LoadMetric& m) { return format_significant(m.mean, 3) + " a request"; });
  add("cost_per_million_output_tokens",
      [](const LoadMetric& m) { return format_significant(m.mean, 3) + " per million output tokens"; });
  add("session_external_share",
      [](const LoadMetric& m) { return format_percent(m.mean) + " of a session outside the server"; });
  add("session_tool_share", [](const LoadMetric& m) { return format_percent(m.mean) + " by tools"; });
  add("session_transfer_share", [](const LoadMetric& m) { return format_percent(m.mean) + " between its turns"; });
  return join(parts, ", ");
}

std::string counts_text(const ScenarioResult& result) {
  std::string text = fmt::format("{} requests in {}", format_count(result.sent), format_seconds(result.wall_s));
  if (result.warmup > 0) text += fmt::format(", {} of warm-up left out", result.warmup);
  if (result.failed > 0) {
    text += fmt::format(", {} failed (", result.failed);
    bool first = true;
    for (const auto& [name, count] : result.errors) {
      text += fmt::format("{}{} {}", first ? "" : ", ", name, count);
      first = false;
    }
    text += ")";
  }
  if (result.completed < result.sent) text += fmt::format(", {} completed", result.completed);
  if (result.censored > 0) text += fmt::format(", {} under way at the end", result.censored);
  if (result.never_sent > 0) text += fmt::format(", {} due and never sent", result.never_sent);
  return text + "; " + result.stopped_because;
}

/// How good the answers were.
std::string quality_text(const ScenarioResult& result) {
  const auto& quality = *result.quality;
  std::string text = fmt::format("{} ({} of {} questions):", quality.task, quality.asked, quality.of);
  for (const auto& metric : result.metrics) {
    if (!metric.id.starts_with("quality.")) continue;
    text += fmt::format(" {} {:.4g}", metric.id.substr(std::string_view("quality.").size()), metric.mean);
    if (metric.mean_interval) {
      text += fmt::format(" [{:.4g}, {:.4g}]", metric.mean_interval->low, metric.mean_interval->high);
    }
  }
  if (quality.unanswered > 0) text += fmt::format("; {} without a usable answer", quality.unanswered);
  return text;
}

/// What a tokenizer of our own counted, and how long that took.
std::string own_tokens_text(const serving::TokenCheck& tokens) {
  const auto& own = *tokens.own;
  std::string text = "by " + own.tokenizer + ":";
  const auto add = [&](const char* what, std::optional<double> ours, std::optional<double> theirs) {
    if (!ours) return;
    text += fmt::format(" {} {} a request{},", format_significant(*ours, 4), what,
                        theirs ? fmt::format(" ({} reported)", format_significant(*theirs, 4)) : "");
  };
  add("in", own.input, tokens.input_reported);
  add("out", own.output, tokens.output_reported);
  return text + fmt::format(" {} of them counted in {}, apart from the load", format_count(own.tokens),
                            format_seconds(own.seconds));
}

std::string client_text(const serving::ClientReport& client) {
  std::string text = fmt::format("{}; p99 lag of sending {}, of receiving {}; limit {}; busy {}", client.verdict(),
                                 format_seconds(client.send_lag_p99_s),
                                 client.kernel_times ? format_seconds(client.receive_lag_p99_s) : "unknown",
                                 format_seconds(client.lag_limit_s), format_percent(client.busy_share));
  for (const auto& share : client.shares) text += fmt::format("; {}: {} requests", share.host, share.requests);
  return text;
}

constexpr std::string_view kOfTurn = "_turn_";  // "ttft_turn_2": the steps of sessions
bool is_of_turn(const LoadMetric& metric) { return metric.id.find(kOfTurn) != std::string::npos; }

Table metrics_table(const char* of) {
  return {{{of},
           {"n", Align::right, 3},
           {"mean", Align::right, 4},
           {"sd", Align::right, 2},
           {"p50", Align::right},
           {"p90", Align::right, 5},
           {"p95", Align::right, 1},
           {"p99", Align::right},
           {"max", Align::right, 6}},
          {}};
}

void add_metric(Table& table, const LoadMetric& metric, const std::string& name) {
  table.rows.push_back({{name},
                        {format_count(metric.n)},
                        {value_text(metric.mean, metric)},
                        {metric.n > 1 ? value_text(metric.stdev, metric) : "-"},
                        {with_interval(serving::percentile_of(metric, 0.5), metric)},
                        {marked_value(serving::percentile_of(metric, 0.9), metric)},
                        {marked_value(serving::percentile_of(metric, 0.95), metric)},
                        {with_interval(serving::percentile_of(metric, 0.99), metric)},
                        {value_text(metric.max, metric)}});
}

void add_mlperf(const serving::MlperfVerdict& verdict, Table& table) {
  table.rows.push_back({{"MLPerf"}, {mlperf_text(verdict), verdict.valid ? Tone::good : Tone::bad}});
  for (const auto& check : verdict.checks) {
    table.rows.push_back(
        {{check.name}, {(check.met ? "met: " : "NOT MET: ") + check.text, check.met ? Tone::plain : Tone::bad}});
  }
}

}  // namespace

std::string level_text(const serving::ScenarioResult& result) {
  if (result.batch > 1) {
    serving::ScenarioResult one;
    one.arrivals = result.arrivals, one.users = result.users, one.rate = result.rate;
    return level_text(one) + fmt::format(", {} {}", result.batch, result.mlperf ? "samples a query" : "documents");
  }
  if (result.turns > 1) {
    serving::ScenarioResult one;
    one.arrivals = result.arrivals, one.users = result.users, one.rate = result.rate;
    return level_text(one) + fmt::format(", {} turns", result.turns);
  }
  if (result.arrivals == "closed") return fmt::format("{} {}", result.users, result.users == 1 ? "user" : "users");
  if (result.arrivals == "trace") return "as recorded";
  if (result.rate == 0) return "all at once";
  return fmt::format("{:g} requests/s, {}", result.rate, result.arrivals);
}

std::string marked_value(const Percentile* percentile, const LoadMetric& metric) {
  if (percentile == nullptr || !percentile->value) return "-";
  return value_text(*percentile->value, metric) + (percentile->reason.empty() ? "" : " *");
}

std::string with_interval(const Percentile* percentile, const LoadMetric& metric) {
  std::string text = marked_value(percentile, metric);
  if (percentile == nullptr || !percentile->interval || *percentile->value == 0) return text;
  const double value = *percentile->value,
               far = std::max(percentile->interval->high - value, value - percentile->interval->low);
  return text + fmt::format(" ±{} %", format_significant(100 * far / value, 2));
}

std::string mlperf_text(const serving::MlperfVerdict& verdict) {
  const auto number = [&](double value) {
    return verdict.unit == "s" ? format_seconds(value) : format_significant(value, 4) + " " + verdict.unit;
  };
  std::string text = fmt::format("{}: {}", verdict.scenario, verdict.valid ? "VALID" : "INVALID");
  if (verdict.value) text += fmt::format(", {} {}", verdict.metric, number(*verdict.value));
  if (verdict.estimate) text += fmt::format(", early stopping estimate {}", number(*verdict.estimate));
  return text;
}

std::string objective_value(const serving::SloOutcome& outcome) {
  if (!outcome.value) return {};
  const bool share = outcome.text.starts_with("errors");
  return share ? format_percent(*outcome.value) : format_seconds(*outcome.value);
}

const serving::SloOutcome* objective_with(const ScenarioResult& result, std::string_view verdict) {
  const auto found = std::ranges::find(result.slo, verdict, &serving::SloOutcome::verdict);
  return found == result.slo.end() ? nullptr : &*found;
}

std::string objective_text(const serving::SloOutcome& outcome) {
  std::string text = outcome.verdict;
  if (outcome.value) text += ": " + objective_value(outcome);
  return text + (outcome.reason.empty() ? "" : "; " + outcome.reason);
}

std::string few_requests_text(const ScenarioResult& result) {
  for (const auto& metric : result.metrics) {
    const Percentile* starred = nullptr;  // the one that needs the most
    for (const double p : {0.5, 0.9, 0.95, 0.99}) {
      const Percentile* percentile = serving::percentile_of(metric, p);
      if (percentile != nullptr && percentile->value && !percentile->reason.empty()) starred = percentile;
    }
    if (starred == nullptr) continue;
    return fmt::format("* value of the sample, without an interval: {} {}", serving::percentile_name(starred->p),
                       starred->reason);
  }
  return {};
}

Table load_latencies_of(const ScenarioResult& result) {
  Table table = metrics_table("latency");
  for (const auto& [id, name] : kLatencies) {
    const LoadMetric* metric = serving::metric_of(result, id);
    if (metric != nullptr && !repeats(result, *metric)) add_metric(table, *metric, name);
  }
  for (const auto& metric : result.metrics) {
    if (!is_of_turn(metric)) continue;
    const auto at = metric.id.find(kOfTurn);
    const std::string what = metric.id.substr(0, at), turn = metric.id.substr(at + kOfTurn.size());
    add_metric(table, metric, (what == "ttft" ? "TTFT" : what == "tpot" ? "TPOT" : "end to end") + (", turn " + turn));
  }
  return table;
}

Table load_others_of(const ScenarioResult& result) {
  Table table = metrics_table("metric");
  for (const auto& metric : result.metrics) {
    const bool latency = std::ranges::any_of(kLatencies, [&](const Row& row) { return metric.id == row.id; });
    if ((latency && !repeats(result, metric)) || is_of_turn(metric)) continue;
    add_metric(table, metric, metric.unit == "s" ? metric.id : metric.id + ", " + metric.unit);
  }
  return table;
}

Table load_facts_of(const ScenarioResult& result) {
  Table table{{{""}, {""}}, {}};
  const auto add = [&](const char* name, std::string text, Tone tone = Tone::plain) {
    if (!text.empty()) table.rows.push_back({{name}, {std::move(text), tone}});
  };
  add("requests", counts_text(result));
  add("first error", result.first_error, Tone::bad);
  add("rates", rates_text(result));
  add("resources", resources_text(result));
  for (const auto& outcome : result.slo) {
    const Tone tone = outcome.verdict == "met" ? Tone::good : outcome.verdict == "missed" ? Tone::bad : Tone::warning;
    table.rows.push_back({{"SLO " + outcome.text}, {objective_text(outcome), tone}});
  }
  if (result.mlperf) add_mlperf(*result.mlperf, table);
  if (result.quality) add("quality", quality_text(result));
  if (result.tokens.own) add("tokens", own_tokens_text(result.tokens));
  for (const auto& disagreement : result.tokens.disagreements) {
    add("tokens", "counts disagree: " + disagreement, Tone::warning);
  }
  const LoadMetric* output = serving::metric_of(result, "output_throughput");
  if (result.tokens.source == "events" && output != nullptr && output->mean > 0) {
    add("tokens", "the server reports no counts: each event counts as one output token, input tokens are unknown");
  }
  if (result.buffered > 0) {
    const char* late = result.client.trusted ? "" : ", or read late by this client";
    add("buffered",
        fmt::format("{} of {} answers were buffered by the server or a proxy{}: they arrived all at once, which "
                    "shows no TPOT and no ITL, and their TTFT is when all was there",
                    result.buffered, result.completed, late),
        Tone::warning);
  }
  const auto& prompts = result.prompts;
  if (!prompts.warning.empty()) {
    add("prefix cache", "WARNING: " + prompts.warning, Tone::warning);
  } else if (prompts.cached && *prompts.cached > 0) {
    add("prefix cache", fmt::format("the server had {} of the prompts' tokens ({} prompts)",
                                    format_percent(*prompts.cached), prompts.kind));
  }
  add("client", client_text(result.client), result.client.trusted ? Tone::plain : Tone::warning);
  return table;
}

}  // namespace warpmark::loadtest
