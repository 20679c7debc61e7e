// JSON of Google Benchmark, schema version 1: src/json_reporter.cc of github.com/google/benchmark. Times are in
// "time_unit". Every repetition sets up its benchmark anew and reports the mean of its iterations: it is a round of one
// sample. The aggregates repeat what the repetitions say and are read only where they are all there is.
#include "report/formats/google_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/json.h"
#include "exchange/formats/google_names.h"
#include "exchange/import.h"
#include "exchange/quantities.h"
#include "model/names.h"
#include "model/run_query.h"
#include "report/results/build_parts.h"

namespace warpmark::exchange {
namespace {

bool detect_google_benchmark(const Document& document) {
  if (!document.json || !document.json->is_object()) return false;
  const Json& json = *document.json;
  return json.contains("context") && json["context"].is_object() && json.contains("benchmarks") &&
         json["benchmarks"].is_array();
}

/// Everything of an entry that is not a user's counter.
const std::set<std::string, std::less<>>& known_keys() {
  static const std::set<std::string, std::less<>> keys{"name",
                                                       "family_index",
                                                       "per_family_instance_index",
                                                       "run_name",
                                                       "run_type",
                                                       "repetitions",
                                                       "threads",
                                                       "repetition_index",
                                                       "iterations",
                                                       "real_time",
                                                       "cpu_time",
                                                       "time_unit",
                                                       "aggregate_name",
                                                       "aggregate_unit",
                                                       "label",
                                                       "error_occurred",
                                                       "error_message",
                                                       "skipped",
                                                       "skip_message",
                                                       "cpu_coefficient",
                                                       "big_o",
                                                       "real_coefficient",
                                                       "rms"};
  return keys;
}

/// One benchmark of the file, its repetitions together.
struct Benchmark {
  std::string name, label, error, skipped;
  std::int64_t repetitions = 0, errors = 0, iterations = 0, threads = 1;
  std::set<std::int64_t> indexes;                     ///< of the repetitions, where the file has them
  std::map<std::string, std::vector<double>> values;  ///< by key of the entry; times in seconds
  std::vector<std::string> order;                     ///< of the keys
  std::set<std::string> not_numbers;                  ///< counters that are NaN somewhere
  std::string aggregate;                              ///< name of the aggregate they are, if they are one
};

/// Family, instance, name, and the how-many-th of benchmarks that share all these.
struct Key {
  std::int64_t family = 0, instance = 0;
  std::string name;
  std::int64_t twin = 0;
  auto operator<=>(const Key&) const = default;
};

/// Names of the benchmarks with aggregates, whose entries of one name are repetitions; others of one name are different
/// benchmarks.
std::set<std::string, std::less<>> aggregated(const Json& benchmarks) {
  std::set<std::string, std::less<>> names, found;
  const auto name_of = [](const Json& entry) {
    return entry.is_object() && entry.contains("name") && entry["name"].is_string() ? entry["name"].get<std::string>()
                                                                                    : std::string();
  };
  for (const Json& entry : benchmarks) names.insert(name_of(entry));
  for (const auto& name : names) {
    const auto base = google_base_name(name);
    if (base.size() < name.size() && names.contains(base)) found.insert(std::string(base));
  }
  return found;
}

class GoogleBenchmarkReader {
 public:
  GoogleBenchmarkReader(const Document& document, Session& session, bool has_cpu_time)
      : session_(session),
        has_cpu_time_(has_cpu_time),
        cases_(document.text),
        results_(document.text),
        aggregated_(aggregated((*document.json)["benchmarks"])) {}

  Status entry(JsonFields& fields) {
    Key key;
    std::string name, type, aggregate;
    fields.required("name", name);
    fields.maybe("run_type", type);
    fields.maybe("aggregate_name", aggregate);
    fields.maybe("family_index", key.family);
    fields.maybe("per_family_instance_index", key.instance);
    key.name = name;
    fields.maybe("run_name", key.name);
    if (type.empty()) {  // before 1.5 the name alone tells an aggregate
      const auto base = google_base_name(name);
      const bool fit = fields.has("cpu_coefficient") || fields.has("rms");
      if (fit || (base.size() < name.size() && aggregated_.contains(base))) {
        type = "aggregate";
        aggregate = name.substr(base.size() + 1);
        key.name = std::string(base);
      }
    }
    const bool is_aggregate = type == "aggregate";
    if (is_aggregate && aggregate != "median" && aggregate != "mean") {
      if (aggregate == "BigO" || aggregate == "RMS") ++fits_;
      return {};
    }
    auto& place = is_aggregate ? (aggregate == "median" ? medians_ : means_) : repetitions_;
    std::optional<std::int64_t> index;
    if (fields.has("repetition_index") && !is_aggregate) fields.required("repetition_index", index.emplace());
    while (!is_aggregate && place.contains(key) && !is_repetition(place.at(key), index)) ++key.twin;
    const auto [found, is_new] = place.try_emplace(key);
    if (is_new && seen_.insert(key).second) order_.push_back(key);
    if (is_new) WM_TRY(cases_.add(1));
    Benchmark& benchmark = found->second;
    if (index) benchmark.indexes.insert(*index);
    ++benchmark.repetitions;
    benchmark.name = key.name;
    benchmark.aggregate = aggregate;
    read_entry(fields, benchmark);
    return {};
  }

  Status finish() {
    // Results of one name are numbered in this order, and families may stand in any order in the file.
    std::stable_sort(order_.begin(), order_.end(), [](const Key& a, const Key& b) {
      return std::tie(a.family, a.instance) < std::tie(b.family, b.instance);
    });
    for (const Key& key : order_) {
      const auto* benchmark = find(repetitions_, key);
      if (benchmark == nullptr) benchmark = find(medians_, key);
      if (benchmark == nullptr) benchmark = find(means_, key);
      if (benchmark == nullptr) continue;
      WM_TRY(add(*benchmark));
      WM_TRY(results_.add(session_.runs.back()));
    }
    if (fits_ > 0) {
      session_.remarks.push_back(
          fmt::format("{} fits of complexity (BigO, RMS) are not read: they are no times", fits_));
    }
    return {};
  }

 private:
  using Benchmarks = std::map<Key, Benchmark>;

  static const Benchmark* find(const Benchmarks& in, const Key& key) {
    const auto found = in.find(key);
    return found == in.end() ? nullptr : &found->second;
  }

  /// Whether one more entry repeats the benchmark, or is another of its name.
  [[nodiscard]] bool is_repetition(const Benchmark& benchmark, const std::optional<std::int64_t>& index) const {
    return index ? !benchmark.indexes.contains(*index) : aggregated_.contains(benchmark.name);
  }

  void read_entry(JsonFields& fields, Benchmark& benchmark) {
    bool failed = false, skipped = false;
    if (benchmark.aggregate.empty() && benchmark.iterations == 0) fields.maybe("iterations", benchmark.iterations);
    fields.maybe("threads", benchmark.threads);
    fields.maybe("label", benchmark.label);
    fields.maybe("error_occurred", failed);
    if (fields.has("skipped") && fields.json()["skipped"].is_boolean()) fields.maybe("skipped", skipped);
    if (fields.has("skip_message") || skipped) {
      benchmark.skipped = "the benchmark skipped it";
      fields.maybe("skip_message", benchmark.skipped);
      return;
    }
    if (failed) {
      ++benchmark.errors;
      benchmark.error = "it reported an error";
      fields.maybe("error_message", benchmark.error);
      return;
    }
    std::string unit = "ns";
    fields.maybe("time_unit", unit);
    const double scale = unit == "ns" ? 1e9 : unit == "us" ? 1e6 : unit == "ms" ? 1e3 : unit == "s" ? 1 : 0;
    if (scale == 0) return fields.fail("time_unit", "cannot be '" + clean_text(unit) + "'");
    for (const char* key : {"real_time", "cpu_time"}) {
      double value = 0;
      if (!fields.has(key)) continue;
      fields.required(key, value);
      keep(benchmark, key, value / scale);
    }
    if (!fields.json().is_object()) return;
    for (const auto& [key, value] : fields.json().items()) {
      if (known_keys().contains(key)) continue;
      if (value.is_number()) keep(benchmark, key, value.get<double>());
      if (value.is_null()) benchmark.not_numbers.insert(key);
    }
  }

  static void keep(Benchmark& benchmark, const std::string& key, double value) {
    auto& values = benchmark.values[key];
    if (values.empty()) benchmark.order.push_back(key);
    values.push_back(value);
  }

  Status add(const Benchmark& benchmark) {
    Run& run = add_run(session_, benchmark.name, "cpu");
    keep_name(run);
    run.timing.method = "Google Benchmark";
    if (!benchmark.label.empty()) run.notes.emplace_back("label", clean_text(benchmark.label));
    if (benchmark.iterations > 1) run.timing.launches_per_sample = benchmark.iterations;
    if (benchmark.threads > 1) run.notes.emplace_back(report::kThreadsNote, std::to_string(benchmark.threads));
    for (const auto& key : benchmark.not_numbers) run.notes.emplace_back(clean_text(key), report::kNotANumber);
    if (benchmark.values.empty()) {
      const bool skipped = !benchmark.skipped.empty() && benchmark.error.empty();
      run.outcome = skipped ? Outcome::skipped : Outcome::error;
      if (!skipped) run.fault = ErrorKind::usage;
      run.reason = skipped                   ? clean_text(benchmark.skipped)
                   : benchmark.error.empty() ? "it has no time"
                                             : clean_text(benchmark.error);
      return {};
    }
    if (benchmark.errors > 0) {
      run.outcome = Outcome::unreliable;
      run.reason = fmt::format("{} of {} repetitions reported an error: {}", benchmark.errors, benchmark.repetitions,
                               clean_text(benchmark.error));
    }
    if (!benchmark.aggregate.empty()) run.notes.emplace_back(report::kAggregateNote, benchmark.aggregate);
    for (const std::string& key : benchmark.order) {
      if (key == "cpu_time" && !has_cpu_time_) continue;
      const std::string id = clean_text(key);
      WM_TRY(add_metric(run, google_quantity(id), benchmark.values.at(key), Grouping::round_each));
    }
    return {};
  }

  Session& session_;
  bool has_cpu_time_;
  ResultLimit cases_;  ///< before they are results: with those of failed and of repeated ones
  ResultLimit results_;
  std::set<std::string, std::less<>> aggregated_;
  Benchmarks repetitions_, medians_, means_;
  std::vector<Key> order_;
  std::set<Key> seen_;
  std::int64_t fits_ = 0;
};

void read_caches(JsonFields& context, DeviceInfo& cpu) {
  context.each("caches", [&](JsonFields& fields) {
    CacheLevel cache;
    fields.maybe("type", cache.kind);
    fields.maybe("level", cache.level);
    fields.maybe("size", cache.bytes);
    fields.maybe("num_sharing", cache.shared_by);
    cpu.caches.push_back(std::move(cache));
  });
}

/// Outcomes that our own export keeps beside the benchmarks: of runs without a time, which take their place among the
/// others, and of those whose label repeats them.
void read_outcome(JsonFields& entry, Session& session) {
  std::string name, reason;
  std::int64_t index = 0;
  Outcome outcome = Outcome::error;
  entry.required("index", index);
  entry.required("name", name);
  entry.required_name("outcome", value_named<Outcome>, outcome);
  entry.maybe("reason", reason);
  const auto count = static_cast<std::int64_t>(session.runs.size());
  if (index < 0 || index > count || (is_measured(outcome) && index == count)) {
    return entry.fail("index", "is not that of a run");
  }
  if (!is_measured(outcome)) {
    Run& added = add_run(session, name, "cpu");
    keep_name(added);
    added.timing.method = "Google Benchmark";
    if (outcome == Outcome::error) added.fault = ErrorKind::usage;
    std::rotate(session.runs.begin() + index, session.runs.end() - 1, session.runs.end());
    for (auto at = static_cast<std::size_t>(index); at < session.runs.size(); ++at) {
      session.runs[at].index = static_cast<std::int64_t>(at);
    }
  }
  Run& run = session.runs[static_cast<std::size_t>(index)];
  run.outcome = outcome;
  run.reason = clean_text(reason);
  std::erase(run.notes, std::pair<std::string, std::string>("label", report::outcome_label(run)));
}

void read_context(JsonFields& context, Session& session) {
  std::string date, executable;
  std::int64_t processors = 0;
  double megahertz = 0;
  context.maybe("date", date);
  context.maybe("executable", executable);
  context.maybe("host_name", session.machine.hostname);
  context.maybe("num_cpus", processors);
  context.maybe("mhz_per_cpu", megahertz);
  context.maybe("library_build_type", session.build.type);
  session.started = to_utc(date).value_or("");
  session.machine.hostname = clean_text(session.machine.hostname);
  if (!executable.empty()) session.command += ": " + clean_text(executable);
  set_processor(session, "", processors, megahertz * 1e6);
  read_caches(context, session.machine.devices.front());
}

std::string version_in(const Json& json) {
  const Json& context = json["context"];
  return context.contains("library_version") && context["library_version"].is_string()
             ? context["library_version"].get<std::string>()
             : "";
}

Result<std::vector<Session>> read_google_benchmark(const Document& document) {
  if (!detect_google_benchmark(document)) return data_error("it has no 'context' and 'benchmarks'");
  const Json& json = *document.json;
  Status added;
  auto sessions = read_object(json, foreign_session("Google Benchmark", version_in(json)),
                              [&](JsonFields& fields, Session& session) {
                                fields.object("context", true, [&](JsonFields& c) { read_context(c, session); });
                                // Our own export repeats the time there, and says so.
                                const bool has_cpu_time = !json["context"].contains("warpmark_cpu_time");
                                GoogleBenchmarkReader reader(document, session, has_cpu_time);
                                fields.each("benchmarks", [&](JsonFields& entry) {
                                  if (added.ok()) added = reader.entry(entry);
                                });
                                if (added.ok()) added = reader.finish();
                                fields.object("context", true, [&](JsonFields& c) {
                                  c.each("warpmark_outcomes", [&](JsonFields& one) { read_outcome(one, session); });
                                });
                              });
  if (!added.ok()) return added.error();
  return sessions;
}

Result<Exported> write_google_benchmark(const Session& session) {
  const Json json = report::google_benchmark_json(session);
  const auto is_written = [](const Run& run) { return report::shows_speed(run) && metric_of(run, "time") != nullptr; };
  const auto written = static_cast<std::size_t>(std::count_if(session.runs.begin(), session.runs.end(), is_written));
  // Those that failed are kept in the context.
  const auto kept = static_cast<std::size_t>(std::count_if(session.runs.begin(), session.runs.end(),
                                                           [](const Run& run) { return !is_measured(run.outcome); }));
  return exported_json(json, written, session.runs.size() - written - kept, "a time");
}

}  // namespace

std::string_view google_base_name(std::string_view name) {
  constexpr std::array<std::string_view, 6> kAggregates{"_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"};
  for (const auto ending : kAggregates) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

Quantity google_quantity(const std::string& key) {
  if (key == "real_time") return kTime;
  if (key == "cpu_time") return {"cpu_time", "s", Better::lower};
  if (key == "bytes_per_second") return {"bandwidth", "B/s", Better::higher};
  if (key == "flops_per_second") return {"flop_rate", "FLOP/s", Better::higher};
  if (key == "items_per_second") return {"item_rate", "1/s", Better::higher};
  return {key.c_str(), "", described(key).better};
}

extern const Format kGoogleBenchmark{"google-benchmark",          "JSON of Google Benchmark", detect_google_benchmark,
                                     read_google_benchmark,       write_google_benchmark,     false,
                                     "--benchmark_repetitions=10"};

}  // namespace warpmark::exchange
