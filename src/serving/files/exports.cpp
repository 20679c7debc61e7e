#include "serving/files/exports.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/csv.h"
#include "base/result.h"
#include "serving/results/request_values.h"

namespace warpmark::serving {
namespace {

double since(std::int64_t from_ns, std::int64_t to_ns) { return static_cast<double>(to_ns - from_ns) * 1e-9; }

std::string time_field(std::int64_t began_ns, std::int64_t ns) {
  return ns > 0 ? fmt::format("{:.9f}", since(began_ns, ns)) : "";
}
std::string count_field(std::int64_t count) { return count >= 0 ? std::to_string(count) : ""; }

/// Statistics of vLLM's result, in milliseconds; null where the load does not show them.
Json milliseconds(std::optional<double> seconds) { return seconds ? Json(1000 * *seconds) : Json(nullptr); }

Json percentile_ms(const LoadMetric* metric, double p) {
  const Percentile* percentile = metric == nullptr ? nullptr : percentile_of(*metric, p);
  return milliseconds(percentile == nullptr ? std::nullopt : percentile->value);
}

Json rate_mean(const ScenarioResult& result, const char* id) {
  const LoadMetric* metric = metric_of(result, id);
  return metric == nullptr ? Json(nullptr) : Json(metric->mean);
}

using R = const RequestRecord&;

struct VllmList {
  const char* name;
  Json (*value)(R record, std::int64_t began_ns);
};

bool was_answered(R r) { return r.fault == Fault::none; }

/// By the server, a tokenizer, or as events: TokenCheck::source.
std::int64_t counted_tokens(R r) { return r.output_tokens >= 0 ? r.output_tokens : r.events; }

const char* source_of_tokens(R r) {
  if (r.output_tokens < 0) return r.events > 0 ? "events" : "";
  return r.counted_here ? "tokenizer" : "usage";
}

/// Of the answered ones; null where one is not known.
Json sum_of(const RequestRecords& records, std::int64_t (*count)(R)) {
  std::int64_t sum = 0;
  for (const auto& r : records) {
    if (!was_answered(r)) continue;
    if (count(r) < 0) return nullptr;
    sum += count(r);
  }
  return sum;
}

constexpr VllmList kVllmLists[] = {
    {"input_lens", [](R r, std::int64_t) { return r.prompt_tokens >= 0 ? Json(r.prompt_tokens) : Json(nullptr); }},
    {"output_lens", [](R r, std::int64_t) { return was_answered(r) ? Json(counted_tokens(r)) : Json(nullptr); }},
    {"ttfts",
     [](R r, std::int64_t) { return r.first_token_ns > 0 ? Json(since(r.sent_ns, r.first_token_ns)) : Json(nullptr); }},
    {"itls", [](R r, std::int64_t) { return Json(r.gaps_s); }},
    {"latencies",
     [](R r, std::int64_t) { return was_answered(r) ? Json(since(r.sent_ns, answer_end_ns(r))) : Json(nullptr); }},
    {"start_times", [](R r, std::int64_t began_ns) { return Json(since(began_ns, r.sent_ns)); }},
    {"errors",
     [](R r, std::int64_t) {
       return Json(was_answered(r) ? std::string() : fmt::format("{}: {}", name_of(r.fault), r.message));
     }},
};

}  // namespace

void write_requests_csv(const LoadReport& report, const TakeText& take) {
  take(
      "scenario,load,turn,due_s,sent_s,first_byte_s,first_token_s,first_visible_s,last_token_s,ended_s,connect_s,"
      "input_tokens,output_tokens,output_tokens_by,reasoning_tokens,cached_tokens,events,longest_gap_s,status,fault,"
      "message\n");
  for (const auto& result : report.scenarios) {
    const std::string load =
        result.arrivals == "closed" ? std::to_string(result.users) : fmt::format("{:g}", result.rate);
    for (const auto& r : result.records) {
      const auto at = [&](std::int64_t ns) { return time_field(result.began_ns, ns); };
      const std::string output = r.events > 0 ? count_field(counted_tokens(r)) : count_field(r.output_tokens);
      take(fmt::format("{},{},{},{},{},{},{},{},{},{},{:.9f},{},{},{},{},{},{},{:.9f},{},{},{}\n",
                       csv_field(result.scenario), load, r.turn, at(r.intended_ns), at(r.sent_ns), at(r.first_byte_ns),
                       at(r.first_token_ns), at(r.first_visible_ns), at(r.last_token_ns), at(r.ended_ns),
                       since(0, r.connect_ns), count_field(r.prompt_tokens), output, source_of_tokens(r),
                       count_field(r.reasoning_tokens), count_field(r.cached_tokens), r.events,
                       since(0, r.longest_gap_ns), r.status, name_of(r.fault), csv_field(r.message)));
    }
  }
}

void write_vllm_json(const LoadReport& report, const ScenarioResult& result, const TakeText& take) {
  std::string model;
  for (const auto& [key, value] : report.target) {
    if (key == "model") model = value;
  }
  Json json{{"date", report.started},
            {"endpoint_type", "openai-chat"},
            {"backend", "openai-chat"},
            {"label", nullptr},
            {"model_id", model},
            {"tokenizer_id", model},
            {"num_prompts", result.sent - result.censored}};
  json["request_rate"] = result.arrivals == "closed" ? Json("inf") : Json(result.rate);
  json["burstiness"] = 1.0;
  json["max_concurrency"] = result.arrivals == "closed" ? Json(result.users) : Json(nullptr);
  json["duration"] = result.wall_s;
  json["completed"] = result.completed;
  json["failed"] = result.failed;
  json["total_input_tokens"] = sum_of(result.records, [](R r) { return r.prompt_tokens; });
  json["total_output_tokens"] = sum_of(result.records, counted_tokens);
  json["output_tokens_by"] = result.tokens.source;
  json["request_throughput"] = rate_mean(result, "request_throughput");
  json["output_throughput"] = rate_mean(result, "output_throughput");
  json["total_token_throughput"] = rate_mean(result, "total_throughput");
  if (metric_of(result, "goodput") != nullptr) json["request_goodput"] = rate_mean(result, "goodput");
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"ttft", "ttft_any"}, {"tpot", "tpot"}, {"itl", "chunk_gap"}, {"e2el", "e2e"}};
  for (const auto& [theirs, ours] : kNames) {
    const std::string end = std::string("_") + theirs + "_ms";
    const LoadMetric* metric = metric_of(result, ours);
    json["mean" + end] = milliseconds(metric == nullptr ? std::nullopt : std::optional(metric->mean));
    json["median" + end] = percentile_ms(metric, 0.5);
    json["std" + end] = milliseconds(metric == nullptr ? std::nullopt : std::optional(metric->stdev));
    json["p95" + end] = percentile_ms(metric, 0.95);
    json["p99" + end] = percentile_ms(metric, 0.99);
  }
  JsonLists lists(json, take);
  for (const auto& [name, value] : kVllmLists) {
    lists.add(name, result.records, [&, value = value](const RequestRecord& record) -> std::optional<Json> {
      if (record.fault == Fault::censored) return std::nullopt;
      return value(record, result.began_ns);
    });
  }
  lists.end();
}

JsonLists::JsonLists(const Json& members, const TakeText& take) : take_(take) {
  WM_CHECK(members.is_object() && !members.empty());
  const std::string text = dump_json(members);
  take_(std::string_view(text).substr(0, text.size() - 2));  // without the brace on the last line
}

void JsonLists::add(std::string_view name, const RequestRecords& records,
                    const std::function<std::optional<Json>(const RequestRecord&)>& entry) {
  take_(fmt::format(",\n  \"{}\": [", name));
  const char* before = "\n    ";
  for (const auto& record : records) {
    const auto value = entry(record);
    if (!value) continue;
    take_(before + dump_json(*value, -1));
    before = ",\n    ";
  }
  take_("\n  ]");
}

void JsonLists::end() { take_("\n}\n"); }

}  // namespace warpmark::serving
