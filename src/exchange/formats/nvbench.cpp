// JSON of NVBench: nvbench/json_printer.cu of github.com/NVIDIA/nvbench, file version 1. 64-bit values stand as texts;
// files of older versions have them as numbers, and summaries as one object by their tag. Times are in seconds. A state
// is a run; its single samples lie in a file of float32 values beside (--jsonbin), and are read from there if it is
// there.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "base/files.h"
#include "base/json.h"
#include "base/units.h"
#include "exchange/import.h"
#include "exchange/quantities.h"
#include "model/run_query.h"
#include "report/results/build_parts.h"

namespace warpmark::exchange {
namespace {

constexpr std::size_t kMostSamples = 16 << 20;
constexpr std::string_view kSamplesTag = "nv/json/bin";

bool detect_nvbench(const Document& document) {
  if (!document.json || !document.json->is_object()) return false;
  const Json& json = *document.json;
  if (!json.contains("benchmarks") || !json["benchmarks"].is_array() || !json.contains("devices")) return false;
  for (const auto& benchmark : json["benchmarks"]) {
    if (benchmark.is_object() && benchmark.contains("states")) return true;
  }
  return false;
}

struct NamedValue {
  std::string name, text;
};

std::string plain_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// [{"name": ..., "type": ..., "value": ...}, ...]
std::vector<NamedValue> named_values(const Json& json) {
  std::vector<NamedValue> values;
  if (!json.is_array()) return values;
  for (const auto& item : json) {
    if (!item.is_object() || !item.contains("name") || !item.contains("value") || !item["name"].is_string()) continue;
    values.push_back({item["name"].get<std::string>(), plain_text(item["value"])});
  }
  return values;
}

/// One summary of a state: its values by name. Newer files have them in "data", older ones beside the hint.
std::vector<NamedValue> values_of(const Json& summary) {
  if (!summary.is_object()) return named_values(summary);
  if (summary.contains("data")) return named_values(summary["data"]);
  std::vector<NamedValue> values;
  for (const auto& [key, value] : summary.items()) {
    const bool typed = value.is_object() && value.contains("value");
    values.push_back({key, plain_text(typed ? value["value"] : value)});
  }
  return values;
}

class State {
 public:
  explicit State(const Json& state) {
    if (!state.is_object() || !state.contains("summaries")) return;
    const Json& summaries = state["summaries"];
    if (summaries.is_object()) {
      for (const auto& [tag, summary] : summaries.items()) summaries_.emplace_back(tag, values_of(summary));
    }
    if (!summaries.is_array()) return;
    for (const auto& summary : summaries) {
      if (!summary.is_object() || !summary.contains("tag") || !summary["tag"].is_string()) continue;
      summaries_.emplace_back(summary["tag"].get<std::string>(), values_of(summary));
    }
  }

  [[nodiscard]] std::optional<std::string> text(std::string_view tag, std::string_view name = "value") const {
    for (const auto& [known, values] : summaries_) {
      if (known != tag) continue;
      for (const auto& value : values) {
        if (value.name == name) return value.text;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<double> number(std::string_view tag) const {
    const auto found = text(tag);
    if (!found) return std::nullopt;
    const auto value = parse_number(*found);
    return value.ok() ? std::optional<double>(*value) : std::nullopt;
  }

  [[nodiscard]] const auto& summaries() const { return summaries_; }

  /// The file of the single times.
  [[nodiscard]] std::optional<std::string> samples_file() const {
    for (const auto& [tag, values] : summaries_) {
      if (!tag.starts_with(kSamplesTag)) continue;
      for (const auto& value : values) {
        if (value.name == "filename") return value.text;
      }
    }
    return std::nullopt;
  }

 private:
  std::vector<std::pair<std::string, std::vector<NamedValue>>> summaries_;
};

/// Little-endian float32 values of "<json file>-bin/<number>.bin", found by its last two names, so that the files may
/// have moved together and no other place is looked at. Nothing if it is not there or no such file.
std::vector<double> read_samples(const Document& document, const State& state) {
  const auto named = state.samples_file();
  if (!named || document.folder.empty()) return {};
  const std::filesystem::path path(*named);
  const auto folder = path.parent_path().filename(), file = path.filename();
  if (file.empty() || folder == ".." || file == "..") return {};
  const auto bytes = read_file(document.folder / folder / file, kMostSamples * sizeof(float));
  if (!bytes.ok() || bytes->size() % sizeof(float) != 0) return {};
  std::vector<double> samples(bytes->size() / sizeof(float));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    float value = 0;
    std::memcpy(&value, bytes->data() + i * sizeof(float), sizeof(float));
    samples[i] = static_cast<double>(value);
  }
  return samples;
}

/// Summaries that NVBench makes itself, beside those of the time.
struct KnownSummary {
  const char* tag;
  Quantity quantity;
  const char* name;
  const char* hint;
};
constexpr KnownSummary kSummaries[] = {
    {"nv/cold/time/cpu/mean", {"cpu_time", "s", Better::lower}, "CPU Time", "duration"},
    {"nv/batch/time/gpu/mean", {"batch_time", "s", Better::lower}, "Batch GPU", "duration"},
    {"nv/cold/bw/global/bytes_per_second", {"bandwidth", "B/s", Better::higher}, "GlobalMem BW", "byte_rate"},
    {"nv/cold/bw/item_rate", {"item_rate", "1/s", Better::higher}, "Elem/s", "item_rate"},
    {"nv/cold/bw/global/utilization", {"bandwidth_share", "", Better::higher}, "BWUtil", "percentage"},
    {"nv/cold/sm_clock_rate/mean", {"sm_clock", "Hz", Better::neither}, "Clock Rate", "frequency"}};

/// Those of the program, whatever their tags: `state.add_summary("tag")`. They keep their tags as names.
Status add_own_summaries(Run& run, const State& state) {
  for (const auto& [tag, values] : state.summaries()) {
    if (tag.starts_with("nv/")) continue;
    if (const auto value = state.number(tag)) {
      const std::string id = clean_text(tag);
      WM_TRY(add_metric(run, {id.c_str(), "", described(id).better}, {*value}));
    }
  }
  return {};
}

Status add_times(Run& run, const Document& document, const State& state) {
  auto samples = read_samples(document, state);
  const auto size = state.text("nv/cold/sample_size");
  if (!samples.empty()) WM_TRY(add_metric(run, kTime, std::move(samples)));
  // Without single samples the median of the GPU's time stands for them, or what an older version has.
  for (const char* tag : {"nv/cold/time/gpu/median", "nv/cold/time/gpu/mean", "nv/cpu_only/time/cpu/median",
                          "nv/cpu_only/time/cpu/mean"}) {
    const auto value = run.metrics.empty() ? state.number(tag) : std::nullopt;
    if (value) WM_TRY(add_summary_metric(run, kTime, *value, tag));
  }
  if (size && !note_text(run, "time").empty()) run.notes.emplace_back("samples", clean_text(*size));
  for (const auto& [tag, quantity, name, hint] : kSummaries) {
    if (const auto value = state.number(tag)) WM_TRY(add_summary_metric(run, quantity, *value, ""));
  }
  return add_own_summaries(run, state);
}

Status read_state(const Document& document, JsonFields& fields, const std::string& benchmark, Session& session) {
  std::int64_t device = 0;
  bool skipped = false;
  fields.maybe("device", device);
  fields.maybe("is_skipped", skipped);
  Run& run = add_run(session, benchmark, fmt::format("cuda:{}", device));
  run.mode = Mode::cold;  // NVBench clears the L2 cache before each of these
  run.timing.method = "NVBench";
  if (fields.json().contains("axis_values")) {
    for (const auto& axis : named_values(fields.json()["axis_values"])) {
      WM_TRY(set_param(run, clean_text(axis.name), param_value(axis.text)));
    }
  }
  if (skipped) {
    run.outcome = Outcome::skipped;
    fields.maybe("skip_reason", run.reason);
    run.reason = run.reason.empty() ? "the benchmark skipped it" : clean_text(run.reason);
    return {};
  }
  WM_TRY(add_times(run, document, State(fields.json())));
  if (!run.metrics.empty()) return {};
  run.outcome = Outcome::error;
  run.fault = ErrorKind::data;
  run.reason = "the file has no time for it";
  return {};
}

void read_device(JsonFields& fields, Session& session) {
  DeviceInfo device;
  std::int64_t id = 0, multiprocessors = 0, architecture = 0;
  fields.required("id", id);
  fields.required("name", device.name);
  fields.maybe("sm_version", architecture);
  fields.maybe("number_of_sms", multiprocessors);
  fields.maybe("global_memory_size", device.memory_bytes);
  fields.maybe("l2_cache_size", device.last_level_cache_bytes);
  device.id = fmt::format("cuda:{}", id);
  device.backend = "cuda";
  device.name = clean_text(device.name);
  if (multiprocessors > 0 && multiprocessors < 1'000'000) device.compute_units = static_cast<int>(multiprocessors);
  if (architecture > 0) device.architecture = fmt::format("sm_{}", architecture / 10);
  session.machine.devices.push_back(std::move(device));
}

Result<std::vector<Session>> read_nvbench(const Document& document) {
  if (!detect_nvbench(document)) return data_error("it has no 'devices' and 'benchmarks' with states");
  ResultLimit limit(document.text);
  return read_object(*document.json, foreign_session("NVBench"), [&](JsonFields& fields, Session& session) {
    fields.each("devices", [&](JsonFields& device) { read_device(device, session); });
    fields.each("benchmarks", [&](JsonFields& benchmark) {
      std::string name;
      benchmark.required("name", name);
      benchmark.each("states", [&](JsonFields& state) {
        state.keep(limit.add_after(read_state(document, state, name, session), session));
      });
    });
  });
}

Json named(const char* name, const char* type, const std::string& value) {
  return {{"name", name}, {"type", type}, {"value", value}};
}

Json summary_json(const char* tag, const char* name, const char* hint, double value) {
  Json json{{"tag", tag}, {"name", name}, {"hint", hint}};
  json["data"] = Json::array({named("value", "float64", fmt::format("{}", value))});
  return json;
}

void add_summaries(Json& json, const Run& run, const Metric& time) {
  const Summary& summary = time.summary;
  // Of an import: the one summary that the file had of the time, and of how many samples.
  const std::string note(note_text(run, "time")), only = note.starts_with("nv/") ? note : "";
  const std::string samples(only.empty() ? "" : note_text(run, "samples"));
  Json size{{"tag", "nv/cold/sample_size"}, {"name", "Samples"}, {"hint", "sample_size"}};
  size["data"] = Json::array({named("value", "int64", samples.empty() ? std::to_string(summary.n) : samples)});
  if (only.empty() || !samples.empty()) json["summaries"].push_back(std::move(size));
  const auto add = [&](const char* tag, const char* name, const char* hint, double value) {
    json["summaries"].push_back(summary_json(tag, name, hint, value));
  };
  if (!only.empty()) {
    add(only.c_str(), "GPU Time", "duration", summary.median);
  } else {
    add("nv/cold/time/gpu/min", "Min GPU Time", "duration", summary.min);
    add("nv/cold/time/gpu/max", "Max GPU Time", "duration", summary.max);
    add("nv/cold/time/gpu/mean", "GPU Time", "duration", summary.mean);
    add("nv/cold/time/gpu/median", "Median GPU Time", "duration", summary.median);
  }
  if (summary.n > 1) {
    add("nv/cold/time/gpu/stdev/absolute", "Noise", "duration", summary.stdev);
    add("nv/cold/time/gpu/stdev/relative", "Noise", "percentage", summary.cv);
  }
  for (const Metric& metric : run.metrics) {
    if (metric.id == "time" || metric.summary.n == 0) continue;
    const auto known = std::find_if(std::begin(kSummaries), std::end(kSummaries),
                                    [&](const KnownSummary& one) { return metric.id == one.quantity.id; });
    const bool ours = known != std::end(kSummaries);
    const char* id = metric.id.c_str();
    add(ours ? known->tag : id, ours ? known->name : id, ours ? known->hint : "", metric.summary.median);
  }
}

/// A state without a time is one that was skipped.
Json state_json(const Run& run, const Metric* time, std::int64_t device) {
  Json json{{"name", to_text(run.params)}, {"device", device}, {"type_config_index", 0}};
  json["axis_values"] = Json::array();
  for (const auto& [name, value] : run.params.items()) {
    const char* type = value.index() == 0 ? "int64" : value.index() == 1 ? "float64" : "string";
    json["axis_values"].push_back(named(name.c_str(), type, to_text(value)));
  }
  json["summaries"] = Json::array();
  if (time != nullptr) add_summaries(json, run, *time);
  json["is_skipped"] = time == nullptr;
  if (time == nullptr) json["skip_reason"] = run.reason;
  return json;
}

/// "cuda:1" is 1; what is no GPU of a number comes after them all.
std::int64_t number_of(const Session& session, const std::string& device) {
  const auto number = device.starts_with("cuda:") ? parse_integer(device.substr(5)) : parse_integer("");
  if (number.ok()) return *number;
  for (std::size_t i = 0; i < session.machine.devices.size(); ++i) {
    if (session.machine.devices[i].id == device) return static_cast<std::int64_t>(session.machine.devices.size() + i);
  }
  return static_cast<std::int64_t>(2 * session.machine.devices.size());
}

/// 900 of "sm_90".
std::int64_t sm_version_of(const std::string& architecture) {
  const auto number = parse_integer(architecture.starts_with("sm_") ? architecture.substr(3) : "");
  return number.ok() ? 10 * *number : 0;
}

Result<Exported> write_nvbench(const Session& session) {
  Json json{{"meta", {{"argv", Json::array({session.command})}}}};
  json["meta"]["version"]["json"] = {{"major", 1}, {"minor", 0}, {"patch", 0}, {"string", "1.0.0"}};
  json["meta"]["warpmark_session"] = session.id;
  json["devices"] = Json::array();
  for (const auto& device : session.machine.devices) {
    json["devices"].push_back({{"id", number_of(session, device.id)},
                               {"name", device.name},
                               {"sm_version", sm_version_of(device.architecture)},
                               {"number_of_sms", device.compute_units},
                               {"global_memory_size", device.memory_bytes},
                               {"l2_cache_size", device.last_level_cache_bytes}});
  }
  json["benchmarks"] = Json::array();
  std::unordered_map<std::string, std::size_t> places;  // in the array of benchmarks, by name
  std::size_t written = 0;
  for (const Run& run : session.runs) {
    const Metric* time = report::shows_speed(run) ? metric_of(run, "time") : nullptr;
    if (time == nullptr && run.outcome != Outcome::skipped) continue;
    const auto [place, added] = places.try_emplace(run.workload, places.size());
    if (added) {
      json["benchmarks"].push_back(
          {{"name", run.workload}, {"index", place->second}, {"axes", Json::array()}, {"states", Json::array()}});
    }
    json["benchmarks"][place->second]["states"].push_back(state_json(run, time, number_of(session, run.device)));
    ++written;
  }
  return exported_json(json, written, session.runs.size() - written, "a time");
}

}  // namespace

extern const Format kNvbench{"nvbench", "JSON of NVBench --json, --jsonbin", detect_nvbench, read_nvbench,
                             write_nvbench};

}  // namespace warpmark::exchange
