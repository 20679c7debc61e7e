#include "report/formats/google_benchmark.h"
#include "report/formats/reporter.h"

#include <array>
#include <map>

#include "base/json.h"
#include "model/names.h"
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
  context["warpmark_cpu_time"] = "repeats real_time: the CPU time is not measured";
  context["warpmark_failed"] = Json::array();
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

void put_times(Json& json, double seconds) {
  json["real_time"] = seconds * kNanosecondsPerSecond;
  json["cpu_time"] = seconds * kNanosecondsPerSecond;
  json["time_unit"] = "ns";
}

void add_samples(Json& benchmarks, const Run& run, const Metric& time, const Family& family) {
  const auto name = case_name(run);
  const auto* bandwidth = metric_of(run, "bandwidth");
  const auto* flops = metric_of(run, "flop_rate");
  for (std::size_t i = 0; i < time.samples.size(); ++i) {
    Json json = entry(name, family, "iteration", time.samples.size());
    json["repetition_index"] = i;
    json["threads"] = 1;
    json["iterations"] = run.timing.launches_per_sample;
    put_times(json, time.samples[i]);
    if (bandwidth != nullptr && i < bandwidth->samples.size()) json["bytes_per_second"] = bandwidth->samples[i];
    if (flops != nullptr && i < flops->samples.size()) json["flops_per_second"] = flops->samples[i];
    if (!run.reason.empty()) json["label"] = std::string(name_of(run.outcome)) + ": " + run.reason;
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
  for (const auto& aggregate : kAggregates) {
    Json json = entry(name, family, "aggregate", time.samples.size());
    json["name"] = name + "_" + aggregate.name;
    json["threads"] = 1;
    json["aggregate_name"] = aggregate.name;
    json["aggregate_unit"] = aggregate.unit;
    json["iterations"] = time.samples.size();
    const double value = time.summary.*aggregate.value;
    // A coefficient of variation is a ratio and has no nanoseconds; the format names a time unit all the same.
    put_times(json, std::string_view(aggregate.unit) == "time" ? value : value / kNanosecondsPerSecond);
    for (const auto& [id, key] :
         {std::pair{"bandwidth", "bytes_per_second"}, std::pair{"flop_rate", "flops_per_second"}}) {
      if (const auto* rate = metric_of(run, id)) json[key] = rate->summary.*aggregate.value;
    }
    benchmarks.push_back(std::move(json));
  }
}

Json failure_json(const Run& run) {
  return {{"name", case_name(run)}, {"outcome", name_of(run.outcome)}, {"reason", run.reason}};
}

}  // namespace

Json google_benchmark_json(const Session& session) {
  Json json{{"context", context_json(session)}, {"benchmarks", Json::array()}};
  std::map<std::string, Family> families;
  for (const auto& run : session.runs) {
    const auto [found, is_new] = families.try_emplace(run.workload);
    Family& family = found->second;
    if (is_new) family.index = families.size() - 1;
    const auto* time = metric_of(run, "time");
    if (run.outcome == Outcome::failed || run.outcome == Outcome::error) {
      json["context"]["warpmark_failed"].push_back(failure_json(run));
    }
    if (!shows_speed(run) || time == nullptr) continue;
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
