// JSON of pytest-benchmark (--benchmark-json, .benchmarks/): plugin.py, session.py and stats.py of
// github.com/ionelmc/pytest-benchmark. Seconds for one iteration. The rounds of a test share one process and one
// set-up.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "exchange/import.h"
#include "exchange/quantities.h"
#include "model/run_query.h"
#include "report/results/build_parts.h"
#include "report/results/labels.h"
#include "stats/summary.h"

namespace warpmark::exchange {
namespace {

constexpr const char* kMedianAlone = "the file has the median of the rounds alone";
constexpr std::string_view kExtraInfo = "extra_info ";  // before the name of a note

bool detect_pytest_benchmark(const Document& document) {
  if (!document.json || !document.json->is_object()) return false;
  const Json& json = *document.json;
  return json.contains("machine_info") && json.contains("benchmarks") && json["benchmarks"].is_array();
}

void read_machine(JsonFields& fields, Session& session) {
  Machine& machine = session.machine;
  std::string system, release, brand, implementation, version;
  std::int64_t count = 0;
  fields.maybe("node", machine.hostname);
  fields.maybe("system", system);
  fields.maybe("release", release);
  fields.maybe("python_implementation", implementation);
  fields.maybe("python_version", version);
  fields.object("cpu", false, [&](JsonFields& cpu) {
    cpu.maybe(cpu.has("brand_raw") ? "brand_raw" : "brand", brand);  // newer and older py-cpuinfo
    cpu.maybe("count", count);
  });
  machine.hostname = clean_text(machine.hostname);
  machine.kernel = clean_text(std::string(trim(system + " " + release)));
  if (!implementation.empty()) machine.software.emplace_back(clean_text(implementation), clean_text(version));
  set_processor(session, brand, count, 0);
}

/// What a test stores with its result (`benchmark.extra_info`): numbers are metrics, everything else a note.
Status read_extra_info(JsonFields& fields, Run& run) {
  if (!fields.has("extra_info") || !fields.json()["extra_info"].is_object()) return {};
  for (const auto& [key, value] : fields.json()["extra_info"].items()) {
    std::vector<double> numbers;
    for (const Json& item : value.is_array() ? value : Json::array({value})) {
      if (item.is_number()) numbers.push_back(item.get<double>());
    }
    const std::size_t count = value.is_array() ? value.size() : 1;
    if (!numbers.empty() && numbers.size() == count) {
      WM_TRY(add_described(run, described(key), std::move(numbers)));
    } else {
      run.notes.emplace_back(std::string(kExtraInfo) + clean_text(key),
                             clean_text(value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
  return {};
}

/// A branch that is none is written in brackets, a commit that is none as "unversioned".
void read_commit(JsonFields& fields, Session& session) {
  fields.maybe("id", session.commit);
  fields.maybe("branch", session.branch);
  fields.maybe("dirty", session.dirty);
  session.commit = session.commit == "unversioned" ? "" : clean_text(session.commit);
  session.branch = session.branch.starts_with("(") ? "" : clean_text(session.branch);
}

Status read_benchmark(JsonFields& fields, Session& session) {
  std::string name, group;
  fields.required("name", name);
  fields.maybe("fullname", name);
  fields.maybe("group", group);
  Run& run = add_run(session, name, "cpu");
  keep_name(run);
  run.timing.method = "pytest-benchmark";
  if (!group.empty()) run.notes.emplace_back("group", clean_text(group));
  if (fields.has("params") && fields.json()["params"].is_object()) {
    for (const auto& [key, value] : fields.json()["params"].items()) {
      WM_TRY(set_param(run, clean_text(key), param_value(value.is_string() ? value.get<std::string>() : value.dump())));
    }
  }
  std::vector<double> data;
  double median = 0;
  std::int64_t rounds = 0;
  fields.object("stats", true, [&](JsonFields& stats) {
    stats.maybe("data", data);
    stats.maybe("rounds", rounds);
    stats.maybe("iterations", run.timing.launches_per_sample);
    if (data.empty()) stats.required("median", median);
  });
  if (data.empty()) {
    WM_TRY(add_summary_metric(run, kTime, median, kMedianAlone));
    run.notes.emplace_back("rounds", std::to_string(rounds));
  } else {
    WM_TRY(add_metric(run, kTime, std::move(data), Grouping::one_process));
  }
  return read_extra_info(fields, run);
}

Result<std::vector<Session>> read_pytest_benchmark(const Document& document) {
  if (!detect_pytest_benchmark(document)) return data_error("it has no 'machine_info' and 'benchmarks'");
  const Json& json = *document.json;
  const std::string version =
      json.contains("version") && json["version"].is_string() ? json["version"].get<std::string>() : "";
  ResultLimit limit(document.text);
  return read_object(json, foreign_session("pytest-benchmark", version), [&](JsonFields& fields, Session& session) {
    std::string date;
    fields.maybe("datetime", date);
    session.started = to_utc(date).value_or("");
    fields.object("machine_info", true, [&](JsonFields& machine) { read_machine(machine, session); });
    fields.object("commit_info", false, [&](JsonFields& commit) { read_commit(commit, session); });
    fields.each("benchmarks", [&](JsonFields& benchmark) {
      benchmark.keep(limit.add_after(read_benchmark(benchmark, session), session));
    });
  });
}

/// All that `pytest-benchmark compare` prints. Its own quartiles lie between other neighbours where rounds are few.
Json stats_json(const Run& run, const Metric& time) {
  std::vector<double> sorted = time.samples;
  std::sort(sorted.begin(), sorted.end());
  const Summary& summary = time.summary;
  const double q1 = stats::quantile_of_sorted(sorted, 0.25), q3 = stats::quantile_of_sorted(sorted, 0.75);
  const auto outside = [&](double low, double high) {
    return std::count_if(sorted.begin(), sorted.end(), [&](double x) { return x < low || x > high; });
  };
  const double fence = 1.5 * (q3 - q1);
  const auto beyond_fence = outside(q1 - fence, q3 + fence);
  const auto beyond_stdev = outside(summary.mean - summary.stdev, summary.mean + summary.stdev);
  double total = 0;
  for (const double sample : time.samples) total += sample;
  const auto at_least = std::lower_bound(sorted.begin(), sorted.end(), q1 - fence);
  const auto at_most = std::upper_bound(sorted.begin(), sorted.end(), q3 + fence);
  Json json{{"min", summary.min},
            {"max", summary.max},
            {"mean", summary.mean},
            {"stddev", summary.stdev},
            {"rounds", summary.n},
            {"median", summary.median},
            {"iqr", q3 - q1},
            {"q1", q1},
            {"q3", q3},
            {"iqr_outliers", beyond_fence},
            {"stddev_outliers", beyond_stdev},
            {"outliers", fmt::format("{};{}", beyond_stdev, beyond_fence)},
            {"ld15iqr", at_least == sorted.end() ? sorted.back() : *at_least},
            {"hd15iqr", at_most == sorted.end() ? sorted.back() : *at_most},
            {"ops", summary.mean > 1e-300 ? Json(1 / summary.mean) : Json(nullptr)},
            {"total", total},
            {"iterations", run.timing.launches_per_sample}};
  if (note_text(run, "time").empty()) {
    json["data"] = time.samples;
  } else if (const auto rounds = parse_integer(note_text(run, "rounds")); rounds.ok()) {
    json["rounds"] = *rounds;
  }
  return json;
}

/// Metrics other than the time go where a test would put them, if a name gives back unit and direction.
Json extra_info_json(const Run& run) {
  Json extra = Json::object();
  for (const Metric& metric : run.metrics) {
    const auto name = name_that_describes(metric);
    if (metric.id == "time" || metric.samples.empty() || !name) continue;
    extra[*name] = metric.samples.size() == 1 ? Json(metric.samples[0]) : Json(metric.samples);
  }
  for (const auto& [name, text] : run.notes) {
    if (name.starts_with(kExtraInfo)) extra[name.substr(kExtraInfo.size())] = text;
  }
  return extra;
}

Json benchmark_json(const Run& run, const Metric& time) {
  Json params(nullptr);
  for (const auto& [name, value] : run.params.items()) params[name] = to_text(value);
  const std::string name = report::case_name(run), group(note_text(run, "group"));
  return {{"group", group.empty() ? Json(nullptr) : Json(group)},
          {"name", name},
          {"fullname", name},
          {"params", params},
          {"param", nullptr},
          {"extra_info", extra_info_json(run)},
          {"options", Json::object()},
          {"stats", stats_json(run, time)}};
}

Json machine_json(const Session& session) {
  Json cpu = Json::object();
  cpu["brand"] = session.machine.cpu;
  for (const auto& device : session.machine.devices) {
    if (device.backend == "cpu") cpu["count"] = device.compute_units;
  }
  const std::string& kernel = session.machine.kernel;
  const bool named = kernel.starts_with("Linux ") || kernel.starts_with("Darwin ") || kernel.starts_with("Windows ");
  const auto blank = named ? kernel.find(' ') : std::string::npos;
  std::pair<std::string, std::string> python;
  for (const auto& [name, version] : session.machine.software) {
    if (name.ends_with("Python") || name == "PyPy") python = {name, version};
  }
  return {{"node", session.machine.hostname},
          {"processor", ""},
          {"machine", "x86_64"},
          {"python_compiler", ""},
          {"python_implementation", python.first},
          {"python_version", python.second},
          {"release", named ? kernel.substr(blank + 1) : kernel},
          {"system", named ? kernel.substr(0, blank) : "Linux"},
          {"cpu", cpu}};
}

Result<Exported> write_pytest_benchmark(const Session& session) {
  Json json{{"machine_info", machine_json(session)},
            {"commit_info",
             {{"id", session.commit.empty() ? "unversioned" : session.commit},
              {"time", nullptr},
              {"dirty", session.dirty},
              {"branch", session.branch.empty() ? "(unknown)" : session.branch}}},
            {"benchmarks", Json::array()}};
  std::size_t left_out = 0;
  for (const Run& run : session.runs) {
    const Metric* time = metric_of(run, "time");
    if (time == nullptr || !report::shows_speed(run)) {
      ++left_out;
      continue;
    }
    json["benchmarks"].push_back(benchmark_json(run, *time));
  }
  std::string date = session.started;
  if (date.ends_with('Z')) date.pop_back();  // the format's dates are UTC without saying so
  json["datetime"] = date;
  json["version"] = "warpmark " + session.build.version;
  return without_other_metrics(exported_json(json, json["benchmarks"].size(), left_out, "a time"), session,
                               [](const Metric& metric) { return metric.id == "time" || name_that_describes(metric); });
}

}  // namespace

extern const Format kPytestBenchmark{"pytest-benchmark",
                                     "JSON of pytest-benchmark",
                                     detect_pytest_benchmark,
                                     read_pytest_benchmark,
                                     write_pytest_benchmark,
                                     false,
                                     "pytest --benchmark-min-rounds=30 --benchmark-json=FILE"};

}  // namespace warpmark::exchange
