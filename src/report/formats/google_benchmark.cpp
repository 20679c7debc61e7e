#include "report/formats/google_benchmark.h"
#include "report/formats/catalog.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/json.h"
#include "base/units.h"
#include "model/names.h"
#include "model/run_query.h"
#include "report/results/build_parts.h"
#include "report/results/labels.h"

namespace warpmark::report {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

Json caches_json(const DeviceInfo& cpu) {
  Json caches = Json::array();
  for (const auto& cache : cpu.caches) {
    std::string type = cache.kind;
    if (!type.empty() && type[0] >= 'a' && type[0] <= 'z') type[0] = static_cast<char>(type[0] - 'a' + 'A');
    caches.push_back({{"type", type}, {"level", cache.level}, {"size", cache.bytes}, {"num_sharing", cache.shared_by}});
  }
  return caches;
}

Json context_json(const Session& session) {
  Json context{{"date", session.started}, {"host_name", session.machine.hostname}, {"executable", "warpmark"}};
  context["caches"] = Json::array();
  for (const auto& device : session.machine.devices) {
    if (device.backend != "cpu") continue;
    if (device.compute_units > 0) context["num_cpus"] = device.compute_units;
    if (device.max_clock_hz > 0) context["mhz_per_cpu"] = static_cast<std::int64_t>(device.max_clock_hz / 1e6 + 0.5);
    context["caches"] = caches_json(device);
    break;
  }
  context["load_avg"] = Json::array();
  context["library_version"] = "warpmark " + session.build.version;
  context["library_build_type"] = session.build.type == "Debug" ? "debug" : "release";
  context["json_schema_version"] = 1;
  context["warpmark_session"] = session.id;
  const bool measured = std::any_of(session.runs.begin(), session.runs.end(),
                                    [](const Run& run) { return metric_of(run, "cpu_time") != nullptr; });
  if (!measured) context["warpmark_cpu_time"] = "repeats real_time: the CPU time is not measured";
  context["warpmark_outcomes"] = Json::array();
  return context;
}

struct Family {
  std::size_t index = 0;
  std::size_t instances = 0;
};

Json entry(const std::string& name, const Family& family, const char* run_type, std::size_t repetitions) {
  return {{"name", name},     {"family_index", family.index}, {"per_family_instance_index", family.instances},
          {"run_name", name}, {"run_type", run_type},         {"repetitions", repetitions}};
}

void put_times(Json& json, double real_s, double cpu_s) {
  json["real_time"] = real_s * kNanosecondsPerSecond;
  json["cpu_time"] = cpu_s * kNanosecondsPerSecond;
  json["time_unit"] = "ns";
}

/// What the format calls a metric; a user's counter keeps its name.
std::string key_of(const Metric& metric) {
  if (metric.id == "bandwidth") return "bytes_per_second";
  if (metric.id == "flop_rate") return "flops_per_second";
  if (metric.id == "item_rate") return "items_per_second";
  return metric.id;
}

bool is_time(const Metric& metric) { return metric.id == "time" || metric.id == "cpu_time"; }

std::int64_t threads_of(const Run& run) {
  const auto threads = parse_integer(note_text(run, kThreadsNote));
  return threads.ok() ? *threads : 1;
}

void add_samples(Json& benchmarks, const Run& run, const Metric& time, const Family& family) {
  const auto name = case_name(run);
  const auto* cpu = metric_of(run, "cpu_time");
  const std::string aggregate(note_text(run, kAggregateNote));
  for (std::size_t i = 0; i < time.samples.size(); ++i) {
    Json json = entry(name, family, aggregate.empty() ? "iteration" : "aggregate", time.samples.size());
    if (aggregate.empty()) {
      json["repetition_index"] = i;
    } else {
      json["name"] = name + "_" + aggregate;
      json["aggregate_name"] = aggregate;
    }
    json["threads"] = threads_of(run);
    json["iterations"] = run.timing.launches_per_sample;
    put_times(json, time.samples[i], cpu != nullptr && i < cpu->samples.size() ? cpu->samples[i] : time.samples[i]);
    for (const Metric& metric : run.metrics) {
      if (!is_time(metric) && i < metric.samples.size()) json[key_of(metric)] = metric.samples[i];
    }
    for (const auto& [key, text] : run.notes) {
      if (text == kNotANumber) json[key] = nullptr;
    }
    const std::string label(note_text(run, "label"));
    if (!label.empty()) {
      json["label"] = label;
    } else if (!run.reason.empty()) {
      json["label"] = outcome_label(run);
    }
    benchmarks.push_back(std::move(json));
  }
}

void add_aggregates(Json& benchmarks, const Run& run, const Metric& time, const Family& family) {
  struct Aggregate {
    const char* name;
    const char* unit;
    double Summary::*value;
  };
  constexpr std::array<Aggregate, 4> kAggregates{{{"mean", "time", &Summary::mean},
                                                  {"median", "time", &Summary::median},
                                                  {"stddev", "time", &Summary::stdev},
                                                  {"cv", "percentage", &Summary::cv}}};
  const auto name = case_name(run);
  const auto* cpu = metric_of(run, "cpu_time");
  for (const auto& aggregate : kAggregates) {
    Json json = entry(name, family, "aggregate", time.samples.size());
    json["name"] = name + "_" + aggregate.name;
    json["threads"] = threads_of(run);
    json["aggregate_name"] = aggregate.name;
    json["aggregate_unit"] = aggregate.unit;
    json["iterations"] = time.samples.size();
    const double value = time.summary.*aggregate.value;
    const double cpu_value = cpu != nullptr ? cpu->summary.*aggregate.value : value;
    // A coefficient of variation is a ratio and has no nanoseconds; the format names a time unit all the same.
    const double scale = std::string_view(aggregate.unit) == "time" ? 1 : kNanosecondsPerSecond;
    put_times(json, value / scale, cpu_value / scale);
    for (const Metric& metric : run.metrics) {
      if (!is_time(metric) && metric.summary.n > 0) json[key_of(metric)] = metric.summary.*aggregate.value;
    }
    benchmarks.push_back(std::move(json));
  }
}

Json outcome_json(const Run& run, std::size_t index) {
  return {{"index", index}, {"name", case_name(run)}, {"outcome", name_of(run.outcome)}, {"reason", run.reason}};
}

}  // namespace

std::string outcome_label(const Run& run) { return std::string(name_of(run.outcome)) + ": " + run.reason; }

Json google_benchmark_json(const Session& session) {
  Json json{{"context", context_json(session)}, {"benchmarks", Json::array()}};
  std::map<std::string, Family> families;
  std::size_t kept = 0;
  for (const auto& run : session.runs) {
    const auto [found, is_new] = families.try_emplace(run.workload);
    Family& family = found->second;
    if (is_new) family.index = families.size() - 1;
    const auto* time = metric_of(run, "time");
    const bool written = shows_speed(run) && time != nullptr;
    if (!written && is_measured(run.outcome)) continue;
    if (run.outcome != Outcome::passed) json["context"]["warpmark_outcomes"].push_back(outcome_json(run, kept));
    ++kept;
    if (!written) continue;
    add_samples(json["benchmarks"], run, *time, family);
    if (time->samples.size() > 1) add_aggregates(json["benchmarks"], run, *time, family);
    ++family.instances;
  }
  return json;
}

extern const SessionWriter kGoogleBenchmarkWriter{
    "google-benchmark", "JSON as written by Google Benchmark", "json",
    [](const Session& session) { return dump_json(google_benchmark_json(session)) + "\n"; }};

}  // namespace warpmark::report
