// What `warpmark load run` shows.
#include <fmt/format.h>

#include <algorithm>

#include "base/quantity.h"
#include "base/text.h"
#include "model/report.h"
#include "report/draw/format.h"
#include "report/draw/table.h"
#include "warpmark/load/load.h"
#include "warpmark/terminal/report_output.h"

namespace warpmark::apps {
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
                          {"goodput", "goodput"},
                          {"output_throughput", "output tokens"},
                          {"input_throughput", "input tokens"}};

std::string value_text(double value, const LoadMetric& metric) {
  return metric.unit == "s" ? format_seconds(value) : format_significant(value, 4);
}

/// The value of a sample that is too small to say how far off it is has a mark.
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

/// Lines broken between words.
std::string wrapped(const Context& context, const std::string& text) {
  std::string out;
  for (const auto& line : split(text, '\n')) {
    if (line.empty()) continue;
    for (const auto& part : report::wrap(line, static_cast<std::size_t>(std::max(context.width, 40))))
      out += part + "\n";
  }
  return out;
}

/// What the marked values need: of the first metric that has any.
std::string few_requests_line(const ScenarioResult& result) {
  for (const auto& metric : result.metrics) {
    for (const double p : {0.5, 0.9, 0.95, 0.99}) {
      const Percentile* percentile = serving::percentile_of(metric, p);
      if (percentile == nullptr || !percentile->value || percentile->reason.empty()) continue;
      const Percentile* highest = serving::percentile_of(metric, 0.99);
      return fmt::format("* value of the sample, without an interval: {} {}\n", serving::percentile_name(highest->p),
                         highest->reason);
    }
  }
  return {};
}

Table latency_table(const ScenarioResult& result) {
  Table table{{{"latency"},
               {"n", Align::right, 2},
               {"mean", Align::right, 3},
               {"sd", Align::right, 1},
               {"p50", Align::right},
               {"p90", Align::right, 4},
               {"p95", Align::right},
               {"p99", Align::right},
               {"max", Align::right, 5}},
              {}};
  const auto add = [&](const LoadMetric& metric, const std::string& name) {
    table.rows.push_back({{name},
                          {format_count(metric.n)},
                          {value_text(metric.mean, metric)},
                          {metric.n > 1 ? value_text(metric.stdev, metric) : "-"},
                          {with_interval(serving::percentile_of(metric, 0.5), metric)},
                          {marked_value(serving::percentile_of(metric, 0.9), metric)},
                          {marked_value(serving::percentile_of(metric, 0.95), metric)},
                          {with_interval(serving::percentile_of(metric, 0.99), metric)},
                          {value_text(metric.max, metric)}});
  };
  for (const auto& [id, name] : kLatencies) {
    const LoadMetric* metric = serving::metric_of(result, id);
    if (metric != nullptr && !repeats(result, *metric)) add(*metric, name);
  }
  for (const auto& metric : result.metrics) {  // "ttft_turn_2": the steps of sessions
    const auto at = metric.id.find("_turn_");
    if (at == std::string::npos) continue;
    const std::string what = metric.id.substr(0, at), turn = metric.id.substr(at + 6);
    add(metric, (what == "ttft" ? "TTFT" : what == "tpot" ? "TPOT" : "end to end") + (", turn " + turn));
  }
  return table;
}

std::string rate_lines(const ScenarioResult& result) {
  std::string text;
  for (const auto& [id, name] : kRates) {
    const LoadMetric* metric = serving::metric_of(result, id);
    if (metric == nullptr || metric->mean == 0) continue;
    text += fmt::format("{}{}/s", text.empty() ? "" : ", ", format_significant(metric->mean, 4) + " " + name);
    if (metric->mean_interval) {
      text += fmt::format(" ±{} %",
                          format_significant(100 * (metric->mean_interval->high - metric->mean) / metric->mean, 2));
    }
  }
  if (text.empty()) return {};
  return text + fmt::format(" over {} of {}\n", result.whole_load ? "all" : format_seconds(result.window_s),
                            format_seconds(result.wall_s));
}

std::string p95_text(const LoadMetric& metric) {
  const Percentile* p95 = serving::percentile_of(metric, 0.95);
  return p95 == nullptr || !p95->value ? "-" : value_text(*p95->value, metric);
}

/// Energy, memory and cost, where they are known.
std::string resource_line(const ScenarioResult& result) {
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
  return parts.empty() ? "" : join(parts, ", ") + "\n";
}

std::string counts_line(const ScenarioResult& result) {
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
  if (result.censored > 0) text += fmt::format(", {} under way at the end", result.censored);
  if (result.never_sent > 0) text += fmt::format(", {} due and never sent", result.never_sent);
  return text + "; " + result.stopped_because + "\n";
}

std::string mlperf_text(const serving::MlperfVerdict& verdict) {
  const auto number = [&](double value) {
    return verdict.unit == "s" ? format_seconds(value) : format_significant(value, 4) + verdict.unit.substr(1);
  };
  std::string text = fmt::format("{}: {}", verdict.scenario, verdict.valid ? "VALID" : "INVALID");
  if (verdict.value) text += fmt::format(", {} {}", verdict.metric, number(*verdict.value));
  if (verdict.estimate) text += fmt::format(", early stopping estimate {}", number(*verdict.estimate));
  text += "\n";
  for (const auto& check : verdict.checks) {
    text += fmt::format("  {} {}: {}\n", check.met ? "met" : "NOT MET", check.name, check.text);
  }
  return text;
}

/// How good the answers were, beside how fast.
std::string quality_line(const ScenarioResult& result) {
  if (!result.quality) return {};
  const auto& quality = *result.quality;
  std::string text = fmt::format("quality, {} ({} of {} questions):", quality.task, quality.asked, quality.of);
  for (const auto& metric : result.metrics) {
    if (!metric.id.starts_with("quality.")) continue;
    text += fmt::format(" {} {:.4g}", metric.id.substr(std::string_view("quality.").size()), metric.mean);
    if (metric.mean_interval) {
      text += fmt::format(" [{:.4g}, {:.4g}]", metric.mean_interval->low, metric.mean_interval->high);
    }
  }
  if (quality.unanswered > 0) text += fmt::format("; {} without a usable answer", quality.unanswered);
  return text + "\n";
}

/// What a tokenizer of our own counted, and how long that took.
std::string own_tokens_line(const serving::TokenCheck& tokens) {
  if (!tokens.own) return {};
  const auto& own = *tokens.own;
  std::string text = "tokens by " + own.tokenizer + ":";
  const auto add = [&](const char* what, std::optional<double> ours, std::optional<double> theirs) {
    if (!ours) return;
    text += fmt::format(" {} {} a request{},", format_significant(*ours, 4), what,
                        theirs ? fmt::format(" ({} reported)", format_significant(*theirs, 4)) : "");
  };
  add("in", own.input, tokens.input_told);
  add("out", own.output, tokens.output_told);
  return text + fmt::format(" {} of them counted in {}, apart from the load\n", format_count(own.tokens),
                            format_seconds(own.seconds));
}

/// Whether prompts may have been in a prefix cache.
std::string prompts_line(const ScenarioResult& result) {
  const auto& prompts = result.prompts;
  if (!prompts.warning.empty()) return "WARNING: " + prompts.warning + "\n";
  if (!prompts.cached || *prompts.cached == 0) return {};
  return fmt::format("prefix cache: the server had {} of the prompts' tokens ({} prompts)\n",
                     format_percent(*prompts.cached), prompts.kind);
}

std::string objective_lines(const ScenarioResult& result) {
  std::string text;
  for (const auto& outcome : result.slo) {
    text += fmt::format("objective {}: {}", outcome.text, outcome.verdict);
    const bool share = outcome.text.starts_with("errors");
    if (outcome.value)
      text += fmt::format(" ({})", share ? format_percent(*outcome.value) : format_seconds(*outcome.value));
    text += (outcome.reason.empty() ? "" : "; " + outcome.reason) + "\n";
  }
  return text;
}

std::string client_lines(const serving::ClientReport& client) {
  std::string text =
      fmt::format("client: {}; p99 lag of sending {}, of receiving {}{}, busy {}\n", client.verdict(),
                  format_seconds(client.send_lag_p99_s), format_seconds(client.receive_lag_p99_s),
                  client.kernel_times ? "" : " (not known: no kernel times)", format_percent(client.busy_share));
  for (const auto& share : client.shares) text += fmt::format("  {}: {} requests\n", share.host, share.requests);
  for (const auto& reason : client.reasons) text += "  " + reason + "\n";
  return text;
}

}  // namespace

LoadText load_text_of(const ScenarioResult& result) {
  LoadText text{.before = counts_line(result), .latencies = latency_table(result), .after = "", .client = ""};
  if (!result.first_error.empty()) text.before += "first error: " + result.first_error + "\n";
  text.before += rate_lines(result) + resource_line(result);
  text.after = few_requests_line(result) + own_tokens_line(result.tokens) + quality_line(result) + prompts_line(result);
  if (result.buffered > 0) {
    const char* late = result.client.trusted ? "" : ", or read late by this client";
    text.after += fmt::format(
        "{} of {} answers were buffered by the server or a proxy{}: they arrived all at once, which "
        "shows no TPOT and no ITL, and their TTFT is when all was there\n",
        result.buffered, result.completed, late);
  }
  for (const auto& disagreement : result.tokens.disagreements) {
    text.after += "token counts disagree: " + disagreement + "\n";
  }
  const LoadMetric* output = serving::metric_of(result, "output_throughput");
  if (result.tokens.source == "events" && output != nullptr && output->mean > 0) {
    text.after += "the server reports no token counts: output tokens are counted as events, input tokens are unknown\n";
  }
  text.after += objective_lines(result);
  if (result.mlperf) text.after += mlperf_text(*result.mlperf);
  text.client = client_lines(result.client);
  return text;
}

std::string scenario_text(const Context& context, const ScenarioResult& result) {
  const LoadText text = load_text_of(result);
  const std::string table =
      text.latencies.rows.empty() ? "" : report::render_table(text.latencies, render_options(context));
  return fmt::format("{}, {}\n", result.scenario, level_text(result)) + wrapped(context, text.before) + table +
         wrapped(context, text.after) + text.client + "\n";
}

namespace {

/// Of the load with the highest rate; of several whose client kept up.
std::string headline(const std::vector<ScenarioResult>& results) {
  const ScenarioResult* best = nullptr;
  double most = 0;
  for (const auto& result : results) {
    const auto* rate = serving::metric_of(result, "request_throughput");
    if (rate == nullptr || rate->mean <= most || !result.client.trusted) continue;
    best = &result;
    most = rate->mean;
  }
  if (best == nullptr) return {};
  std::string text =
      fmt::format("{}, {}: {} requests/s", best->scenario, level_text(*best), format_significant(most, 4));
  if (const auto* tokens = serving::metric_of(*best, "output_throughput"); tokens != nullptr && tokens->mean > 0) {
    text += fmt::format(", {} output tokens/s", format_significant(tokens->mean, 4));
  }
  if (const auto* ttft = serving::metric_of(*best, "ttft"); ttft != nullptr) {
    text += ", TTFT p95 " + with_interval(serving::percentile_of(*ttft, 0.95), *ttft);
  }
  if (best->failed > 0)
    text += fmt::format(", {} failed",
                        report::format_plural(static_cast<std::size_t>(best->failed), "request", "requests"));
  return (results.size() > 1 ? "Highest rate: " : "") + text + ".\n";
}

}  // namespace

std::string summary_text(const Context& context, const std::vector<ScenarioResult>& results) {
  const auto table = results.size() < 2
                         ? std::string()
                         : report::render_table(load_summary_of(results), render_options(context)) + "\n";
  return table + wrapped(context, headline(results));
}

Table load_summary_of(const std::vector<ScenarioResult>& results) {
  Table table{{{"scenario"},
               {"load"},
               {"requests/s", Align::right},
               {"output tokens/s", Align::right},
               {"TTFT p50", Align::right},
               {"TTFT sd", Align::right, 2},
               {"TTFT p95", Align::right},
               {"TTFT p99", Align::right, 1},
               {"TPOT p50", Align::right, 3},
               {"TPOT p95", Align::right, 4},
               {"errors", Align::right, 3},
               {"client", Align::left, 4}},
              {}};
  for (const auto& result : results) {
    const auto rate = [&](const char* id) {
      const LoadMetric* metric = serving::metric_of(result, id);
      return metric == nullptr ? std::string("-") : format_significant(metric->mean, 4);
    };
    const auto time = [&](const char* id, double p) {
      const LoadMetric* metric = serving::metric_of(result, id);
      const Percentile* percentile = metric == nullptr ? nullptr : serving::percentile_of(*metric, p);
      return metric == nullptr ? std::string("-") : marked_value(percentile, *metric);
    };
    const LoadMetric* ttft = serving::metric_of(result, "ttft");
    table.rows.push_back(
        {{result.scenario},
         {level_text(result)},
         {rate("request_throughput")},
         {rate("output_throughput")},
         {time("ttft", 0.5)},
         {ttft == nullptr || ttft->n < 2 ? "-" : value_text(ttft->stdev, *ttft)},
         {time("ttft", 0.95)},
         {time("ttft", 0.99)},
         {time("tpot", 0.5)},
         {time("tpot", 0.95)},
         {format_count(result.failed), result.failed > 0 ? Tone::bad : Tone::plain},
         {result.client.trusted ? "reliable" : "unreliable", result.client.trusted ? Tone::plain : Tone::warning}});
  }
  return table;
}

}  // namespace warpmark::apps
