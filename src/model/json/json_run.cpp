// Run as JSON, with its metrics, peak, error check and environment.
#include <charconv>
#include <cmath>

#include "base/json.h"
#include "model/json/json.h"
#include "model/json/json_parts.h"
#include "model/names.h"

namespace warpmark {
namespace {

// A relative error that is not a number has failed by any tolerance; JSON has no NaN or infinity to say so.
constexpr double kNotANumberError = 1e300;

Json percentile_to_json(const Percentile& percentile) {
  Json json{{"p", finite_number(percentile.p)}};
  put_optional(json, "value", percentile.value);
  put_interval(json, percentile.interval);
  put_text(json, "reason", percentile.reason);
  return json;
}

Json metric_to_json(const Metric& metric) {
  Json json{{"id", metric.id}, {"unit", metric.unit}, {"better", name_of(metric.better)}, {"samples", Json::array()}};
  for (const double sample : metric.samples) json["samples"].push_back(finite_number(sample));
  json["round_sizes"] = metric.round_sizes;
  const Summary& summary = metric.summary;
  json["n"] = summary.n;
  if (summary.n == 0) return json;
  json["median"] = finite_number(summary.median);
  put_interval(json, summary.median_interval);
  json["min"] = finite_number(summary.min);
  json["max"] = finite_number(summary.max);
  json["mean"] = finite_number(summary.mean);
  json["stdev"] = finite_number(summary.stdev);
  json["mad"] = finite_number(summary.mad);
  json["cv"] = finite_number(summary.cv);
  put_optional(json, "autocorrelation", summary.autocorrelation);
  json["percentiles"] = Json::array();
  for (const auto& percentile : summary.percentiles) json["percentiles"].push_back(percentile_to_json(percentile));
  json["outliers"] = summary.outliers;
  return json;
}

Json cost_to_json(const Cost& cost) {
  Json json = Json::object();
  put_known(json, "flops", cost.flops);
  put_known(json, "bytes", cost.bytes);
  put_known(json, "footprint_bytes", cost.footprint_bytes);
  put_text(json, "flop_type", cost.flop_type);
  put_text(json, "rate", cost.rate);
  put_text(json, "link", cost.link);
  return json;
}

Json peak_to_json(const Peak& peak) {
  Json json{{"bound", name_of(peak.bound)}};
  if (peak.share != 0) {
    json["percent"] = finite_number(peak.share * 100);
    json["share"] = peak.share;
  }
  put_known(json, "flops_per_second", peak.flops_per_second);
  put_known(json, "bytes_per_second", peak.bytes_per_second);
  put_known(json, "intensity", peak.intensity);
  if (peak.unreliable) json["unreliable"] = true;
  put_text(json, "ceiling", peak.ceiling);
  put_text(json, "reason", peak.reason);
  return json;
}

Json error_to_json(const ErrorCheck& error) {
  Json json{{"value", std::isfinite(error.value) ? error.value : kNotANumberError},
            {"tolerance", finite_number(error.tolerance)}};
  put_text(json, "norm", error.norm);
  put_text(json, "reference", error.reference);
  return json;
}

Json environment_to_json(const Environment& environment) {
  Json json{{"readings", Json::array()}};
  for (const auto& reading : environment.readings) {
    Json item{{"id", reading.id}, {"unit", reading.unit}};
    put_optional(item, "before", reading.before);
    put_optional(item, "after", reading.after);
    json["readings"].push_back(std::move(item));
  }
  json["disturbances"] = disturbances_json(environment.disturbances);
  return json;
}

Json warmup_to_json(const Warmup& warmup) {
  Json json{{"launches", warmup.launches}, {"seconds", finite_number(warmup.seconds)}, {"settled", warmup.settled}};
  put_text(json, "reason", warmup.reason);
  put_optional(json, "first_s", warmup.first_s);
  return json;
}

Json timing_to_json(const Timing& timing) {
  return {{"method", timing.method},
          {"resolution_s", finite_number(timing.resolution_s)},
          {"overhead_s", finite_number(timing.overhead_s)},
          {"launches_per_sample", timing.launches_per_sample},
          {"sets", timing.sets}};
}

Json params_to_json(const Params& params) {
  Json json = Json::object();
  for (const auto& [name, value] : params.items()) {
    std::visit([&, key = name](const auto& held) { json[key] = held; }, value);
  }
  return json;
}

/// Not measured at all: then warm-up and timing would only show their defaults.
bool was_measured(const Run& run) {
  const Warmup& warmup = run.warmup;
  const Timing& timing = run.timing;
  return warmup.launches != 0 || warmup.seconds != 0 || warmup.settled || !warmup.reason.empty() ||
         !timing.method.empty() || timing.resolution_s != 0 || timing.overhead_s != 0 ||
         timing.launches_per_sample != 1 || timing.sets != 1;
}

void put_measurement(Json& json, const Run& run) {
  json["metrics"] = Json::array();
  if (run.outcome != Outcome::failed) {
    for (const auto& metric : run.metrics) json["metrics"].push_back(metric_to_json(metric));
  }
  if (const Json cost = cost_to_json(run.cost); !cost.empty()) json["cost"] = cost;
  if (run.peak && run.outcome != Outcome::failed) json["peak"] = peak_to_json(*run.peak);
  if (run.error) json["error"] = error_to_json(*run.error);
  json["environment"] = environment_to_json(run.environment);
  if (was_measured(run)) {
    json["warmup"] = warmup_to_json(run.warmup);
    json["timing"] = timing_to_json(run.timing);
  }
}

std::optional<Interval> read_interval(JsonFields& fields) {
  if (!fields.has("ci_low")) return std::nullopt;
  Interval interval;
  fields.required("ci_low", interval.low);
  fields.required("ci_high", interval.high);
  fields.required("ci_confidence", interval.confidence);
  return interval;
}

Percentile read_percentile(JsonFields& fields) {
  Percentile percentile;
  fields.required("p", percentile.p);
  fields.maybe("value", percentile.value);
  percentile.interval = read_interval(fields);
  fields.maybe("reason", percentile.reason);
  return percentile;
}

Metric read_metric(JsonFields& fields) {
  Metric metric;
  fields.required("id", metric.id);
  fields.required("unit", metric.unit);
  fields.required_name("better", better_from, metric.better);
  fields.maybe("samples", metric.samples);
  fields.maybe("round_sizes", metric.round_sizes);
  Summary& summary = metric.summary;
  fields.required("n", summary.n);
  if (summary.n == 0) return metric;
  fields.required("median", summary.median);
  summary.median_interval = read_interval(fields);
  fields.required("min", summary.min);
  fields.required("max", summary.max);
  fields.required("mean", summary.mean);
  fields.required("stdev", summary.stdev);
  fields.required("mad", summary.mad);
  fields.required("cv", summary.cv);
  fields.maybe("autocorrelation", summary.autocorrelation);
  fields.each("percentiles", [&](JsonFields& item) { summary.percentiles.push_back(read_percentile(item)); });
  fields.maybe("outliers", summary.outliers);
  return metric;
}

Peak read_peak(JsonFields& fields) {
  Peak peak;
  fields.required_name("bound", bound_from, peak.bound);
  fields.maybe("share", peak.share);
  fields.maybe("flops_per_second", peak.flops_per_second);
  fields.maybe("bytes_per_second", peak.bytes_per_second);
  fields.maybe("intensity", peak.intensity);
  fields.maybe("mistrusted", peak.unreliable);
  fields.maybe("unreliable", peak.unreliable);
  fields.maybe("ceiling", peak.ceiling);
  fields.maybe("reason", peak.reason);
  return peak;
}

void read_environment(JsonFields& fields, Environment& environment) {
  fields.each("readings", [&](JsonFields& item) {
    auto& reading = environment.readings.emplace_back();
    item.required("id", reading.id);
    item.required("unit", reading.unit);
    item.maybe("before", reading.before);
    item.maybe("after", reading.after);
  });
  fields.each("disturbances", [&](JsonFields& item) {
    auto& event = environment.disturbances.emplace_back();
    item.required("id", event.id);
    item.required("cause", event.cause);
    item.maybe("invalidates", event.invalidates);
  });
}

void read_measurement(JsonFields& fields, Run& run) {
  fields.each("metrics", [&](JsonFields& item) { run.metrics.push_back(read_metric(item)); });
  fields.object("cost", false, [&](JsonFields& cost) {
    cost.maybe("flops", run.cost.flops);
    cost.maybe("bytes", run.cost.bytes);
    cost.maybe("footprint_bytes", run.cost.footprint_bytes);
    cost.maybe("flop_type", run.cost.flop_type);
    cost.maybe("rate", run.cost.rate);
    cost.maybe("link", run.cost.link);
  });
  for (const char* key : {"roof", "peak"}) {  // its name in files of before, with "mistrusted" for "unreliable"
    fields.object(key, false, [&](JsonFields& peak) { run.peak = read_peak(peak); });
  }
  fields.object("error", false, [&](JsonFields& item) {
    auto& error = run.error.emplace();
    item.required("value", error.value);
    item.required("tolerance", error.tolerance);
    item.maybe("norm", error.norm);
    item.maybe("reference", error.reference);
  });
  fields.object("environment", false, [&](JsonFields& item) { read_environment(item, run.environment); });
  fields.object("warmup", false, [&](JsonFields& item) {
    item.required("launches", run.warmup.launches);
    item.required("seconds", run.warmup.seconds);
    item.required("settled", run.warmup.settled);
    item.maybe("reason", run.warmup.reason);
    item.maybe("first_s", run.warmup.first_s);
  });
  fields.object("timing", false, [&](JsonFields& item) {
    item.required("method", run.timing.method);
    item.required("resolution_s", run.timing.resolution_s);
    item.required("overhead_s", run.timing.overhead_s);
    item.required("launches_per_sample", run.timing.launches_per_sample);
    item.required("sets", run.timing.sets);
  });
}

void read_params(JsonFields& fields, Params& params) {
  for (const auto& [name, value] : fields.json().items()) {
    if (value.is_string()) {
      params.set(name, value.get<std::string>());
    } else if (value.is_number_float()) {
      params.set(name, value.get<double>());
    } else if (value.is_number_integer()) {
      params.set(name, value.get<std::int64_t>());
    } else {
      fields.fail(name, std::string("must be a text or a number, not ") + value.type_name());
    }
  }
}

void read_seed(JsonFields& fields, std::uint64_t& seed) {
  std::string text;
  fields.maybe("seed", text);
  if (text.empty()) return;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (status != std::errc{} || end != text.data() + text.size()) {
    fields.fail("seed", "must be a 64-bit number as decimal text, not '" + text + "'");
  }
}

}  // namespace

void put_interval(Json& json, const std::optional<Interval>& interval) {
  if (!interval) return;
  json["ci_low"] = finite_number(interval->low);
  json["ci_high"] = finite_number(interval->high);
  json["ci_confidence"] = finite_number(interval->confidence);
}

Json interval_json(const Interval& interval) {
  return {{"low", finite_number(interval.low)},
          {"high", finite_number(interval.high)},
          {"confidence", finite_number(interval.confidence)}};
}

Json disturbances_json(const std::vector<Disturbance>& disturbances) {
  Json json = Json::array();
  for (const auto& item : disturbances) {
    json.push_back({{"id", item.id}, {"cause", item.cause}, {"invalidates", item.invalidates}});
  }
  return json;
}

Json to_json(const Run& run) {
  Json json{{"id", run.id},
            {"index", run.index},
            {"workload", run.workload},
            {"params", params_to_json(run.params)},
            {"device", run.device},
            {"mode", name_of(run.mode)},
            {"outcome", name_of(run.outcome)}};
  put_text(json, "reason", run.reason);
  if (run.fault) json["fault"] = name_of(*run.fault);
  if (run.out_of_memory) json["out_of_memory"] = true;
  put_text(json, "hint", run.hint);
  put_measurement(json, run);
  put_text(json, "stopped_because", run.stopped_because);
  json["converged"] = run.converged;
  json["rounds"] = run.rounds;
  json["seed"] = std::to_string(run.seed);
  put_named_texts(json, "notes", run.notes);
  put_text(json, "started", run.started);
  put_text(json, "repro", run.repro);
  return json;
}

void read_run(JsonFields& fields, Run& run) {
  fields.required("id", run.id);
  fields.maybe("index", run.index);
  fields.required("workload", run.workload);
  fields.object("params", true, [&](JsonFields& params) { read_params(params, run.params); });
  fields.required("device", run.device);
  fields.required_name("mode", mode_from, run.mode);
  fields.required_name("outcome", outcome_from, run.outcome);
  fields.maybe("reason", run.reason);
  fields.maybe("out_of_memory", run.out_of_memory);
  if (fields.has("fault")) fields.required_name("fault", error_kind_from, run.fault.emplace());
  fields.maybe("hint", run.hint);
  read_measurement(fields, run);
  fields.maybe("stopped_because", run.stopped_because);
  fields.maybe("converged", run.converged);
  fields.maybe("rounds", run.rounds);
  read_seed(fields, run.seed);
  fields.maybe("notes", run.notes);
  fields.maybe("started", run.started);
  fields.maybe("repro", run.repro);
}

Result<Run> run_from_json(const Json& json) { return read_document<Run>(json, read_run); }

}  // namespace warpmark
